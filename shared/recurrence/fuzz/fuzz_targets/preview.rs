//! Passes any text to the job reader of `minutehand preview`.
//!
//! ```text
//! cargo fuzz run -s none --fuzz-dir shared/recurrence/fuzz preview -- -dict=shared/recurrence/fuzz/words.dict
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../../functions/local/tests/corpus/body.rs"]
mod body;

fuzz_target!(|input: &[u8]| body::check(input));
