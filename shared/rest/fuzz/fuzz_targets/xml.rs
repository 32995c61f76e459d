//! Passes any bytes to the reader of XML: nothing panics, and what it reads can be written and read again.
//!
//! ```text
//! cargo fuzz run -s none --fuzz-dir shared/rest/fuzz xml -- -dict=shared/rest/fuzz/xml.dict
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;

mod classic;

fuzz_target!(|input: &[u8]| classic::xml_check::check(input));
