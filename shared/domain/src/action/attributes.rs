//! Message attributes and groups, which SQS and SNS share.

use crate::json::Fields;
use crate::refusal::Refusal;

/// The services allow ten attributes, and the scheduler adds one.
const ATTRIBUTES_MAX: usize = 9;
const ATTRIBUTE_NAME_CHARS_MAX: usize = 256;
const GROUP_CHARS_MAX: usize = 128;
/// The scheduler sets attributes with this prefix itself.
const OUR_ATTRIBUTES: &str = "x-ms-scheduler-";
/// The suffix of the names of queues and topics that keep the order of their messages.
pub(super) const FIFO: &str = ".fifo";

/// Checks the message itself, which the services do not accept empty.
pub(super) fn check_message(message: &Fields<'_>, text: &str) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(message.missing("message", "it must be a string that is not empty"));
    }
    Ok(())
}

pub(super) fn check_attributes(
    message: &Fields<'_>,
    attributes: Option<&[(String, String)]>,
) -> Result<(), Refusal> {
    let attributes = attributes.unwrap_or_default();
    let (path, n) = (message.path("messageAttributes"), attributes.len());
    if n > ATTRIBUTES_MAX {
        let problem = format!("has {n} entries; at most {ATTRIBUTES_MAX} are allowed.");
        return Err(Refusal::about(&path, problem));
    }
    for (name, value) in attributes {
        let shown = name.escape_debug();
        if !is_attribute_name(name) {
            let problem = format!(
                "is not an allowed attribute name; use letters, digits, '-', '_' \
                 and '.', and a prefix other than 'aws.', 'amazon.' and '{OUR_ATTRIBUTES}'."
            );
            return Err(Refusal::about(format!("{path}.{shown}"), problem));
        }
        if value.is_empty() {
            return Err(Refusal::about(format!("{path}.{shown}"), "is empty; remove it."));
        }
    }
    Ok(())
}

fn is_attribute_name(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let lower = name.to_ascii_lowercase();
    let is_reserved =
        ["aws.", "amazon.", OUR_ATTRIBUTES].iter().any(|prefix| lower.starts_with(prefix));
    let has_stray_dot = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    (1..=ATTRIBUTE_NAME_CHARS_MAX).contains(&name.len())
        && name.chars().all(known)
        && !is_reserved
        && !has_stray_dot
}

pub(super) fn check_group(message: &Fields<'_>, group: Option<&str>) -> Result<(), Refusal> {
    let is_group = |text: &str| {
        (1..=GROUP_CHARS_MAX).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic())
    };
    if group.is_none_or(is_group) {
        return Ok(());
    }
    let allowed = "use 1 to 128 printable ASCII characters without spaces";
    Err(message.wrong("messageGroupId", allowed))
}
