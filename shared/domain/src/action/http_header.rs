//! Headers of HTTP requests: which names and values a job may use.

/// Headers that the connection sets, so a job must not.
const CONNECTION_HEADERS: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a text can be the name of a header.
pub(super) fn is_header_name(text: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(is_token)
}

/// Whether the connection sets this header itself. Many servers take an underscore for a hyphen.
pub(super) fn belongs_to_connection(name: &str) -> bool {
    let name = name.replace('_', "-");
    CONNECTION_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(&name))
}
