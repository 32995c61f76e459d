//! Turns any bytes into occurrences: nothing panics, and all answers agree.
//!
//! ```text
//! cargo fuzz run -s none --fuzz-dir shared/recurrence/fuzz recurrence -- -dict=shared/recurrence/fuzz/words.dict
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/corpus/body.rs"]
mod body;

fuzz_target!(|input: &[u8]| body::check(input));
