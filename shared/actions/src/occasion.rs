//! What a request tells its target of the execution.

use http::{HeaderName, HeaderValue};
use ports::AttemptContext;
use sha2::{Digest as _, Sha256};

/// The headers that are added to a stored request.
///
/// `x-ms-execution-tag` and `x-ms-client-request-id` are made of the execution's identity, so that
/// an attempt that is made twice has the same.
pub(crate) fn headers(occasion: &AttemptContext) -> [(HeaderName, HeaderValue); 7] {
    let expected_at = recurrence::format_instant(occasion.expected_at);
    [
        ("x-ms-execution-tag", execution_tag(occasion)),
        ("x-ms-client-request-id", client_request_id(occasion)),
        ("x-ms-scheduler-expected-execution-time", expected_at),
        ("x-ms-scheduler-execution-region", occasion.region.clone()),
        ("x-ms-scheduler-jobid", occasion.job_uid.clone()),
        ("x-ms-scheduler-jobcollectionid", occasion.collection_uid.clone()),
        ("x-ms-scheduler-execution-id", occasion.execution_id.clone()),
    ]
    .map(|(name, value)| (HeaderName::from_static(name), header_value(&value)))
}

/// 32 hexadecimal digits of this execution.
pub(crate) fn execution_tag(occasion: &AttemptContext) -> String {
    hex(digest("tag", &occasion.execution_id), None)
}

/// A GUID of this execution.
pub(crate) fn client_request_id(occasion: &AttemptContext) -> String {
    guid(digest("request", &occasion.execution_id))
}

/// A text as the value of a header. A region is named freely; what cannot stand there is left out.
pub(crate) fn header_value(text: &str) -> HeaderValue {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    HeaderValue::from_bytes(text.as_bytes()).unwrap_or(HeaderValue::from_static(""))
}

fn digest(purpose: &str, id: &str) -> u128 {
    let digest = Sha256::new().chain_update(purpose).chain_update(":").chain_update(id).finalize();
    digest.iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

/// 32 hexadecimal digits; with dashes where a GUID has them.
fn hex(number: u128, dash: Option<char>) -> String {
    let digits = format!("{number:032x}");
    let Some(dash) = dash else {
        return digits;
    };
    let mut text = String::with_capacity(digits.len() + 4);
    for (at, digit) in digits.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            text.push(dash);
        }
        text.push(digit);
    }
    text
}

/// A GUID of version 8: one whose bits have a meaning of ours.
fn guid(number: u128) -> String {
    let number = number & !(0xf << 76) | (8 << 76);
    let number = number & !(0b11 << 62) | (0b10 << 62);
    hex(number, Some('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_has_its_version_and_variant() {
        assert_eq!(guid(0), "00000000-0000-8000-8000-000000000000");
        assert_eq!(guid(u128::MAX), "ffffffff-ffff-8fff-bfff-ffffffffffff");
    }

    #[test]
    fn every_text_can_stand_in_a_header() {
        assert_eq!(header_value("West Europe"), "West Europe");
        assert_eq!(header_value("Zürich\r\n\0!").as_bytes(), "Zürich!".as_bytes());
    }
}
