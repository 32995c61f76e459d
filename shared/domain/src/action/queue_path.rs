//! The parts of an Azure queue's address that the user gives, and the message for it.
//!
//! A label becomes a part of a host name, and a path is appended to it. So the characters are
//! checked for stored documents too: no stored job may ever address another host.

use crate::json::Fields;
use crate::refusal::Refusal;

const LABEL_CHARS_MAX: usize = 63;
const PATH_CHARS_MAX: usize = 260;

/// Reads the part of a host name that the user gives.
pub(super) fn read_host_label(fields: &Fields<'_>, name: &str) -> Result<String, Refusal> {
    let text = fields.required_text(name)?;
    let is_label = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_label && text.len() <= LABEL_CHARS_MAX {
        Ok(text.to_owned())
    } else {
        Err(fields.wrong(name, "use up to 63 letters, digits and '-', without the domain"))
    }
}

/// Reads the part of a path that the user gives.
pub(super) fn read_path(fields: &Fields<'_>, name: &str) -> Result<String, Refusal> {
    let text = fields.required_text(name)?;
    if text.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(fields.wrong(name, "the path must not contain '.' or '..' segments"));
    }
    let is_path = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./~".contains(c));
    if is_path && text.len() <= PATH_CHARS_MAX {
        Ok(text.to_owned())
    } else {
        Err(fields.wrong(name, "use up to 260 letters, digits, '-', '_', '.', '~' and '/'"))
    }
}

/// Reads the text of a message, which may be empty.
pub(super) fn read_message(message: &Fields<'_>) -> Result<String, Refusal> {
    message.owned("message")?.ok_or_else(|| message.missing("message", "it must be a string"))
}
