//! The headers and ids by which a target identifies the execution that it serves.

use http::{HeaderName, HeaderValue};
use minutehand_domain::chain::DEPTH_HEADER;
use minutehand_domain::completion::COMPLETION_HEADER;
use minutehand_domain::ids::{encode_path, guid};
use minutehand_ports::AttemptContext;
use minutehand_recurrence::format_instant;
use sha2::{Digest as _, Sha256};

/// The headers that the scheduler adds to a stored request.
///
/// `x-ms-execution-tag` and `x-ms-client-request-id` are derived from the id of the execution. If an
/// attempt is made twice, both requests have the same values.
pub(crate) fn headers(context: &AttemptContext) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let last_success = context.missed.last_success.map(format_instant);
    let last_success = last_success.map(|at| ("x-minutehand-last-success", at));
    let known = [
        ("x-ms-execution-tag", execution_tag(context)),
        ("x-ms-client-request-id", client_request_id(context)),
        ("x-ms-scheduler-expected-execution-time", format_instant(context.expected_at)),
        ("x-ms-scheduler-execution-region", context.region.clone()),
        ("x-ms-scheduler-jobid", context.job_uid.clone()),
        ("x-ms-scheduler-jobcollectionid", context.collection_uid.clone()),
        ("x-ms-scheduler-execution-id", context.execution_id.clone()),
        ("x-minutehand-job", encode_path(&context.job_path)),
        (DEPTH_HEADER, context.depth.to_string()),
        ("x-minutehand-missed", context.missed.occurrences.to_string()),
    ];
    let completion = context.completion_url.clone().map(|url| (COMPLETION_HEADER, url));
    let all = known.into_iter().chain(last_success).chain(completion);
    all.map(|(name, value)| (HeaderName::from_static(name), header_value(&value)))
}

/// The execution's tag: 32 hexadecimal digits.
pub(crate) fn execution_tag(context: &AttemptContext) -> String {
    format!("{:032x}", digest("tag", &context.execution_id))
}

/// The execution's GUID.
pub(crate) fn client_request_id(context: &AttemptContext) -> String {
    guid(digest("request", &context.execution_id))
}

/// A text as the value of a header. Characters that are not valid in a header are left out: the name
/// of a region, for example, is a free text.
pub(crate) fn header_value(text: &str) -> HeaderValue {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    HeaderValue::from_bytes(text.as_bytes()).unwrap_or(HeaderValue::from_static(""))
}

fn digest(purpose: &str, id: &str) -> u128 {
    let digest = Sha256::new().chain_update(purpose).chain_update(":").chain_update(id).finalize();
    digest.iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_have_version_8_and_the_standard_variant() {
        assert_eq!(guid(0), "00000000-0000-8000-8000-000000000000");
        assert_eq!(guid(u128::MAX), "ffffffff-ffff-8fff-bfff-ffffffffffff");
    }

    #[test]
    fn invalid_characters_are_left_out_of_headers() {
        assert_eq!(header_value("West Europe"), "West Europe");
        assert_eq!(header_value("Zürich\r\n\0!").as_bytes(), "Zürich!".as_bytes());
    }
}
