//! How a value is written so that it stays one value in the text around it.

use crate::ids::encode_path;

/// A text as a part of a URL's path or query: all but unreserved characters as percent and two digits.
pub(super) fn percent_encoded(text: &str) -> String {
    encode_path(text).replace('/', "%2F")
}

/// A text as a part of one line.
pub(super) fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
