//! Messages in the history about answers of HTTP targets.
//!
//! They are identical to recorded messages of Azure Scheduler, since its clients parse them: the
//! first text in quotes is the host, the second is the status, and the body follows `Body: `.

use http::{HeaderMap, StatusCode};
use minutehand_domain::message::request_failed;

use super::SERVICE_TEXT_CHARS_MAX;
use super::redact::{Secrets, TEXT_BYTES_MAX};
use super::status::status_name;

/// The maximum number of characters of a body in the message, as in the recordings.
const BODY_CHARS_MAX: usize = 1_024;

/// The maximum number of bytes of a character.
const CHAR_BYTES_MAX: usize = 4;

/// The number of bytes of a body that the message depends on.
///
/// A secret that begins before the end of them, and ends after it, is replaced all the same.
pub(crate) const BODY_BYTES_MAX: usize = BODY_CHARS_MAX * CHAR_BYTES_MAX;

/// The maximum number of characters of headers in the message. Every attempt is stored, and usual
/// headers have half of this.
const HEADER_CHARS_MAX: usize = 2_048;

/// The part of a body that was read.
pub(crate) struct ReadBody {
    /// The beginning of the body.
    pub(crate) bytes: Vec<u8>,
    /// Whether the body is longer.
    pub(crate) is_cut: bool,
}

/// The message about an answer.
pub(crate) fn response_message(
    host: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &ReadBody,
    secrets: &Secrets,
) -> String {
    let (host, name) = (secrets.redact(host), status_name(status));
    let headers = self::headers(headers, secrets);
    let body = text(body, secrets);
    format!(
        "Http Action - Response from host '{host}': '{name}' Response Headers: {headers} Body: {body}"
    )
}

/// The message about a request that failed.
pub(crate) fn failure_message(host: &str, word: &str, text: &str, secrets: &Secrets) -> String {
    let (word, text) = (printable(&secrets.redact(word)), printable(&secrets.redact(text)));
    let text: String = text.chars().take(SERVICE_TEXT_CHARS_MAX).collect();
    request_failed(&secrets.redact(host), &word, &text)
}

/// Replaces control characters, so that a text can be stored and printed.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(printable_char).collect()
}

/// One line for each header name, in the order of the answer.
fn headers(headers: &HeaderMap, secrets: &Secrets) -> String {
    let mut all = String::new();
    for name in headers.keys() {
        if all.len() > TEXT_BYTES_MAX {
            break;
        }
        all.push_str(&usual_spelling(name.as_str()));
        for (n, value) in headers.get_all(name).iter().enumerate() {
            all.push_str(if n == 0 { ": " } else { ", " });
            all.push_str(&String::from_utf8_lossy(value.as_bytes()));
        }
        all.push_str("\r\n");
    }
    let all = secrets.redact_answer(all.as_bytes(), false);
    let mut lines = String::new();
    let mut n_chars = 0;
    for line in all.split_inclusive("\r\n") {
        n_chars += line.chars().count();
        if n_chars > HEADER_CHARS_MAX || !line.ends_with("\r\n") {
            // Cutting a header in the middle would make it look complete.
            lines.push_str("...: ...\r\n");
            break;
        }
        lines.extend(line.chars().map(printable_char));
    }
    lines
}

/// A header name in its usual spelling. The HTTP client returns all names in lower case.
fn usual_spelling(name: &str) -> String {
    let known = [
        "DNT",
        "ETag",
        "NEL",
        "P3P",
        "SourceMap",
        "TE",
        "WWW-Authenticate",
        "X-AspNet-Version",
        "X-AspNetMvc-Version",
        "X-DNS-Prefetch-Control",
        "X-MSEdge-Ref",
        "X-UA-Compatible",
        "X-XSS-Protection",
        "Content-MD5",
        "Content-ID",
        "X-WebKit-CSP",
    ];
    if let Some(known) = known.into_iter().find(|known| known.eq_ignore_ascii_case(name)) {
        return known.to_owned();
    }
    // Microsoft writes its own headers in lower case.
    if name.starts_with("x-ms-") {
        return name.to_owned();
    }
    let mut is_first = true;
    name.chars()
        .map(|c| {
            let written = if is_first { c.to_ascii_uppercase() } else { c };
            is_first = c == '-';
            written
        })
        .collect()
}

/// The beginning of a body as text, without secrets.
fn text(body: &ReadBody, secrets: &Secrets) -> String {
    // More of it may have been read, to be kept.
    let (bytes, rest) = body.bytes.split_at(body.bytes.len().min(BODY_BYTES_MAX));
    let text = secrets.redact_answer(bytes, body.is_cut || !rest.is_empty());
    text.chars().take(BODY_CHARS_MAX).map(printable_char).collect()
}

/// Replaces a control character, except line breaks and tabs.
const fn printable_char(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => c,
        '\0'..' ' | '\u{7f}'..'\u{a0}' => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn shown(body: &[u8], is_cut: bool, secrets: &Secrets) -> String {
        text(&ReadBody { bytes: body.to_vec(), is_cut }, secrets)
    }

    #[test]
    fn messages_about_answers_are_identical_to_the_recordings() {
        let mut answer = HeaderMap::new();
        answer.append("vary", HeaderValue::from_static("Accept-Encoding"));
        answer.append("p3p", HeaderValue::from_static("CP=\"NON\""));
        answer.append("set-cookie", HeaderValue::from_static("a=1; path=/"));
        answer.append("x-ms-request-id", HeaderValue::from_static("7"));
        answer.append("set-cookie", HeaderValue::from_static("b=2"));
        let body = ReadBody { bytes: b"<!DOCTYPE html>".to_vec(), is_cut: false };
        assert_eq!(
            response_message("www.bing.com", StatusCode::OK, &answer, &body, &Secrets::default()),
            "Http Action - Response from host 'www.bing.com': 'OK' Response Headers: \
             Vary: Accept-Encoding\r\nP3P: CP=\"NON\"\r\nSet-Cookie: a=1; path=/, b=2\r\n\
             x-ms-request-id: 7\r\n Body: <!DOCTYPE html>"
        );
    }

    #[test]
    fn bodies_are_cut_after_a_number_of_characters() {
        let none = Secrets::default();
        for c in ["x", "ä", "€", "🔑"] {
            let body = c.repeat(BODY_CHARS_MAX + 1);
            assert_eq!(shown(body.as_bytes(), false, &none), c.repeat(BODY_CHARS_MAX));
        }
        let mut cut = "€".repeat(3).into_bytes();
        cut.truncate(7);
        assert_eq!(shown(&cut, true, &none), "€€");
        assert_eq!(shown(&cut, false, &none), "€€\u{fffd}");
    }

    #[test]
    fn invalid_bytes_and_control_characters_are_replaced() {
        let shown = shown(b"a\0b\x1b[1m\xff\r\n\tc\x7f\xc2\x85", false, &Secrets::default());
        assert_eq!(shown, "a\u{fffd}b\u{fffd}[1m\u{fffd}\r\n\tc\u{fffd}\u{fffd}");
    }

    #[test]
    fn secrets_are_replaced_even_at_the_cut() {
        let mut secrets = Secrets::default();
        secrets.add("sesame-open");
        let body = format!("{}sesame-open", "x".repeat(BODY_CHARS_MAX - 3));
        let message = shown(body.as_bytes(), false, &secrets);
        assert_eq!(message, format!("{}[re", "x".repeat(BODY_CHARS_MAX - 3)));
        let shown = shown("sesame-open ".repeat(9).as_bytes().split_at(100).0, true, &secrets);
        assert_eq!(shown, format!("{}[redacted]", "[redacted] ".repeat(8)));
    }

    #[test]
    fn headers_are_cut_after_a_number_of_characters() {
        let mut answer = HeaderMap::new();
        answer.append("a", HeaderValue::from_static("1"));
        answer.append("b", HeaderValue::from_str(&"x".repeat(HEADER_CHARS_MAX)).unwrap());
        answer.append("c", HeaderValue::from_static("2"));
        assert_eq!(headers(&answer, &Secrets::default()), "A: 1\r\n...: ...\r\n");
    }
}
