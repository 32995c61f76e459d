//! Removes secrets from texts that go into the history.
//!
//! A target may answer with the request that it received, as echo servers do. The answer is stored in
//! the history, which more people may read than the secrets of the job.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{COOKIE, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";

/// The characters that URL encoders percent-encode.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Secrets with fewer characters are only removed if they are whole words: a message in which every
/// `a` is replaced would be useless, and would reveal the secret.
const CHARS_ANYWHERE_MIN: usize = 4;

/// The secrets of one attempt, in all forms in which a target may return them.
#[derive(Default)]
pub(crate) struct SecretForms {
    /// The longest first: otherwise replacing a part of a secret would leave the rest of it.
    forms: Vec<String>,
}

impl SecretForms {
    /// Adds a secret, as plain text and in the encodings of other formats.
    pub(crate) fn add(&mut self, secret: &str) {
        for form in forms(secret) {
            if !form.is_empty() && !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// Adds a header with credentials: its value, and the secrets within the value.
    pub(crate) fn add_header(&mut self, name: &HeaderName, value: &HeaderValue) {
        let value = String::from_utf8_lossy(value.as_bytes());
        self.add(&value);
        if *name == COOKIE {
            let values = value.split(';').filter_map(|cookie| cookie.split_once('='));
            // Shorter values are flags, not keys.
            let keys = values.map(|(_, value)| value.trim().trim_matches('"'));
            keys.filter(|key| key.len() >= CHARS_ANYWHERE_MIN).for_each(|key| self.add(key));
        } else if let Some((scheme, credentials)) = value.split_once(' ') {
            let credentials = credentials.trim();
            self.add(credentials);
            let decoded =
                STANDARD.decode(credentials).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"));
            let decoded = decoded.and_then(|decoded| String::from_utf8(decoded).ok());
            if let Some((_, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
                self.add(password);
            }
        }
    }

    /// Adds the credentials of Basic authentication, and returns them in the form of the header.
    pub(crate) fn add_basic(&mut self, username: &str, password: &str) -> String {
        self.add(password);
        let encoded = STANDARD.encode(format!("{username}:{password}"));
        self.add(&encoded);
        // If a target returns them decoded, the password is replaced.
        encoded
    }

    /// Adds a query that contains a signature: the whole query, and the signature.
    pub(crate) fn add_query(&mut self, query: &str) {
        self.add(query);
        for part in query.split('&') {
            let Some((name, value)) = part.split_once('=') else {
                continue;
            };
            // The other parameters name permissions and an expiry, which help to diagnose failures.
            if name.eq_ignore_ascii_case("sig") {
                self.add(value);
                self.add(&percent_decode_str(value).decode_utf8_lossy());
            }
        }
    }

    /// The length of the longest secret in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.forms.first().map_or(0, String::len)
    }

    /// Replaces the secrets in a text.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for form in &self.forms {
            if text.contains(form.as_str()) {
                text = Cow::Owned(without(&text, form));
            }
        }
        text
    }

    /// Replaces the secrets in the beginning of a text. If it ends with the beginning of a secret, that
    /// is replaced as well.
    pub(crate) fn redact_beginning(&self, text: &str) -> String {
        let mut text = self.redact(text).into_owned();
        let cut = self.forms.iter().filter_map(|form| {
            let ends = form.char_indices().map(|(end, _)| end).skip(1);
            ends.filter(|end| form.get(..*end).is_some_and(|part| text.ends_with(part))).max()
        });
        if let Some(cut) = cut.max() {
            text.truncate(text.len() - cut);
            text.push_str(REDACTED);
        }
        text
    }
}

/// A secret as plain text, in JSON, percent-encoded, and in HTML.
fn forms(secret: &str) -> [String; 9] {
    let json = serde_json::Value::from(secret).to_string();
    let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or(&json);
    let ascii = in_ascii(json);
    let encoded = utf8_percent_encode(secret, RESERVED).to_string();
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    [
        secret.to_owned(),
        json.to_owned(),
        // Some JSON writers escape slashes.
        json.replace('/', "\\/"),
        ascii.replace('/', "\\/"),
        ascii,
        encoded.replace("%20", "+"),
        encoded.to_ascii_lowercase(),
        encoded,
        html.replace('"', "&quot;").replace('\'', "&#39;"),
    ]
}

/// The content of a JSON string as writers produce it that escape all non-ASCII characters.
fn in_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

/// Replaces a secret in a text. Short secrets are only replaced if they are whole words.
fn without(text: &str, secret: &str) -> String {
    if secret.chars().count() >= CHARS_ANYWHERE_MIN {
        return text.replace(secret, REDACTED);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(secret) {
        let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let last = before.chars().next_back().or_else(|| redacted.chars().next_back());
        redacted.push_str(before);
        redacted.push_str(if joins(last) || joins(after.chars().next()) {
            secret
        } else {
            REDACTED
        });
        rest = after;
    }
    redacted.push_str(rest);
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(all: &[&str]) -> SecretForms {
        let mut secrets = SecretForms::default();
        for secret in all {
            secrets.add(secret);
        }
        secrets
    }

    #[test]
    fn secrets_are_replaced_in_every_encoding() {
        let secrets = secrets(&["päss \"wörd\"/-1", "päss"]);
        for (text, expected) in [
            ("nothing", "nothing"),
            ("a päss \"wörd\"/-1 b", "a [redacted] b"),
            (r#"{"p":"päss \"wörd\"/-1"}"#, r#"{"p":"[redacted]"}"#),
            (r#"{"p":"p\u00e4ss \"w\u00f6rd\"/-1"}"#, r#"{"p":"[redacted]"}"#),
            ("p=p%C3%A4ss%20%22w%C3%B6rd%22%2F-1&q", "p=[redacted]&q"),
            ("p=p%C3%A4ss+%22w%C3%B6rd%22%2F-1&q", "p=[redacted]&q"),
            ("p=p%c3%a4ss%20%22w%c3%b6rd%22%2f-1&q", "p=[redacted]&q"),
            (r#"{"p":"päss \"wörd\"\/-1"}"#, r#"{"p":"[redacted]"}"#),
            ("<p>päss &quot;wörd&quot;/-1</p>", "<p>[redacted]</p>"),
            ("pässion", "[redacted]ion"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
    }

    #[test]
    fn short_secrets_are_replaced_as_whole_words() {
        let secrets = secrets(&["pw"]);
        assert_eq!(
            secrets.redact("pw upward pwpw \"pw\":pw1"),
            "[redacted] upward pwpw \"[redacted]\":pw1"
        );
    }

    #[test]
    fn basic_credentials_are_replaced_encoded_and_decoded() {
        let mut secrets = SecretForms::default();
        assert_eq!(secrets.add_basic("Aladdin", "open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(
            secrets.redact("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ== Aladdin:open sesame"),
            "Basic [redacted] Aladdin:[redacted]"
        );
    }

    #[test]
    fn the_secrets_within_a_header_are_replaced() {
        let mut secrets = SecretForms::default();
        for (name, value) in [
            ("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("cookie", "a=1; session=\"abcdef\"; t=tok=en"),
            ("x-api-key", "k-123456"),
        ] {
            let name = HeaderName::from_static(name);
            secrets.add_header(&name, &HeaderValue::from_static(value));
        }
        assert_eq!(
            secrets.redact(
                "Aladdin, open sesame: 1 abcdef tok=en k-123456 QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
            ),
            "Aladdin, [redacted]: 1 [redacted] [redacted] [redacted] [redacted]"
        );
    }

    #[test]
    fn the_beginning_of_a_secret_at_a_cut_is_replaced() {
        let secrets = secrets(&["sésame-sesame"]);
        assert_eq!(secrets.redact_beginning("x sésame-ses"), "x [redacted]");
        assert_eq!(secrets.redact_beginning("x sé"), "x [redacted]");
        assert_eq!(secrets.redact_beginning("x"), "x");
    }

    #[test]
    fn an_empty_secret_replaces_nothing() {
        assert_eq!(secrets(&[""]).redact("abc"), "abc");
    }
}
