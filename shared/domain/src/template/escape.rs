//! How a value is written so that it stays one value in the text around it.

use std::fmt::Write as _;

/// A text as a part of a URL's path or query: all but unreserved characters as percent and two digits.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// A text as a part of one line.
pub(super) fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
