//! What is told of an answer.
//!
//! The words are the original's, recorded to the letter, since its clients take the message apart:
//! the first text in quotes is the host, the second the status, and what follows `Body: ` the body.

use domain::message::request_failed;
use http::{HeaderMap, StatusCode};

use crate::redact::SecretForms;
use crate::status;

/// The most characters of a body that are told, as recorded.
pub(crate) const BODY_CHARS_MAX: usize = 1_024;

/// The most characters of headers that are told: twice what is usual, as every attempt is stored.
pub(crate) const HEADER_CHARS_MAX: usize = 2_048;

/// The most bytes that a character takes.
const CHAR_BYTES_MAX: usize = 4;

/// What was read of a body.
pub(crate) struct Body {
    /// Its beginning.
    pub(crate) bytes: Vec<u8>,
    /// Whether there is more.
    pub(crate) is_cut: bool,
}

/// How many bytes of a body decide what is told of it.
///
/// The secrets are taken out before it is cut, so a secret that begins before the cut has to be
/// read whole.
pub(crate) fn body_bytes(secrets: &SecretForms) -> usize {
    BODY_CHARS_MAX * CHAR_BYTES_MAX + secrets.longest()
}

/// The message of an answer.
pub(crate) fn of_response(
    host: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &Body,
    secrets: &SecretForms,
) -> String {
    let name = status::name(status);
    let headers = self::headers(headers, secrets);
    let body = text(body, secrets);
    format!(
        "Http Action - Response from host '{host}': '{name}' Response Headers: {headers} Body: {body}"
    )
}

/// The message of a request that had no answer.
pub(crate) fn of_failure(host: &str, word: &str, text: &str, secrets: &SecretForms) -> String {
    request_failed(host, word, &shown_text(&secrets.redact(text)))
}

/// A text as it can be kept and printed.
pub(crate) fn shown_text(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// One line for each name, in the order of the answer.
fn headers(headers: &HeaderMap, secrets: &SecretForms) -> String {
    let mut told = String::new();
    let mut n_chars = 0;
    for name in headers.keys() {
        let values: Vec<_> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        let line = format!("{}: {}\r\n", familiar(name.as_str()), values.join(", "));
        let line = secrets.redact(&line);
        n_chars += line.chars().count();
        if n_chars > HEADER_CHARS_MAX {
            // A part of a header would look like a whole one; whoever needs it can ask the target.
            told.push_str("...: ...\r\n");
            break;
        }
        told.extend(line.chars().map(shown));
    }
    told
}

/// A header's name as it is usually written. On the way all names are in lower case.
fn familiar(name: &str) -> String {
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
    // Microsoft's own are always written small.
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

/// The text of a body: its beginning, without secrets.
fn text(body: &Body, secrets: &SecretForms) -> String {
    let text = String::from_utf8_lossy(&body.bytes);
    let text = if body.is_cut {
        // The cut may go through a character.
        secrets.redact_beginning(text.trim_end_matches(char::REPLACEMENT_CHARACTER)).into()
    } else {
        secrets.redact(&text)
    };
    text.chars().take(BODY_CHARS_MAX).map(shown).collect()
}

/// A character as it can be kept and printed: lines and tabs stay, other controls do not.
const fn shown(c: char) -> char {
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

    fn told(body: &[u8], is_cut: bool, secrets: &SecretForms) -> String {
        text(&Body { bytes: body.to_vec(), is_cut }, secrets)
    }

    #[test]
    fn an_answer_is_told_as_recorded() {
        let mut answer = HeaderMap::new();
        answer.append("vary", HeaderValue::from_static("Accept-Encoding"));
        answer.append("p3p", HeaderValue::from_static("CP=\"NON\""));
        answer.append("set-cookie", HeaderValue::from_static("a=1; path=/"));
        answer.append("x-ms-request-id", HeaderValue::from_static("7"));
        answer.append("set-cookie", HeaderValue::from_static("b=2"));
        let body = Body { bytes: b"<!DOCTYPE html>".to_vec(), is_cut: false };
        assert_eq!(
            of_response("www.bing.com", StatusCode::OK, &answer, &body, &SecretForms::default()),
            "Http Action - Response from host 'www.bing.com': 'OK' Response Headers: \
             Vary: Accept-Encoding\r\nP3P: CP=\"NON\"\r\nSet-Cookie: a=1; path=/, b=2\r\n\
             x-ms-request-id: 7\r\n Body: <!DOCTYPE html>"
        );
    }

    #[test]
    fn a_body_is_told_up_to_its_bound_in_characters() {
        let none = SecretForms::default();
        for c in ["x", "ä", "€", "🔑"] {
            let body = c.repeat(BODY_CHARS_MAX + 1);
            assert_eq!(told(body.as_bytes(), false, &none), c.repeat(BODY_CHARS_MAX));
        }
        let mut cut = "€".repeat(3).into_bytes();
        cut.truncate(7);
        assert_eq!(told(&cut, true, &none), "€€");
        assert_eq!(told(&cut, false, &none), "€€\u{fffd}");
    }

    #[test]
    fn bytes_and_controls_are_told_as_something_that_can_be_kept() {
        let told = told(b"a\0b\x1b[1m\xff\r\n\tc\x7f\xc2\x85", false, &SecretForms::default());
        assert_eq!(told, "a\u{fffd}b\u{fffd}[1m\u{fffd}\r\n\tc\u{fffd}\u{fffd}");
    }

    #[test]
    fn no_secret_is_told_not_even_at_the_cut() {
        let mut secrets = SecretForms::default();
        secrets.add("sesame-open");
        let body = format!("{}sesame-open", "x".repeat(BODY_CHARS_MAX - 3));
        let message = told(body.as_bytes(), false, &secrets);
        assert_eq!(message, format!("{}[re", "x".repeat(BODY_CHARS_MAX - 3)));
        let told = told("sesame-open ".repeat(9).as_bytes().split_at(100).0, true, &secrets);
        assert_eq!(told, format!("{}[redacted]", "[redacted] ".repeat(8)));
    }

    #[test]
    fn headers_are_told_up_to_their_bound() {
        let mut answer = HeaderMap::new();
        answer.append("a", HeaderValue::from_static("1"));
        answer.append("b", HeaderValue::from_str(&"x".repeat(HEADER_CHARS_MAX)).unwrap());
        answer.append("c", HeaderValue::from_static("2"));
        assert_eq!(headers(&answer, &SecretForms::default()), "A: 1\r\n...: ...\r\n");
    }
}
