//! Removes secrets from texts that go into the history.
//!
//! A target may answer with the request that it received, as echo servers do. The answer is stored in
//! the history, which more people may read than the secrets of the job.

mod escapes;
mod runs;
mod search;
mod view;

#[cfg(test)]
mod tests;

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};
use minutehand_domain::credentials::{is_credential_header, query_credentials};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use search::{CHARS_ANYWHERE_MIN, Needle, find};

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";

/// The minimum number of characters of a part of a URL that gives the URL away.
const URL_PART_CHARS_MIN: usize = 8;

/// The maximum number of bytes of a text in which secrets are searched. The history keeps less.
pub(crate) const TEXT_BYTES_MAX: usize = 8 * 1024;

/// The secrets of one attempt.
#[derive(Default)]
pub(crate) struct Secrets {
    needles: Vec<Needle>,
    /// The secrets as the hosts of URLs, which are in lower case. Only the messages of this crate
    /// contain such hosts: an answer that says `password` need not mean the secret `Password`.
    as_hosts: Vec<Needle>,
}

impl Secrets {
    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.is_empty() || self.contains(secret) {
            return;
        }
        let is_word = secret.chars().count() < CHARS_ANYWHERE_MIN;
        self.needles.push(Needle::new(secret.as_bytes(), is_word));
        if is_word {
            return;
        }
        let units: Vec<u16> = secret.encode_utf16().collect();
        let (little, big) = (|unit: &u16| unit.to_le_bytes(), |unit: &u16| unit.to_be_bytes());
        self.needles.push(Needle::new(&units.iter().flat_map(little).collect::<Vec<_>>(), false));
        self.needles.push(Needle::new(&units.iter().flat_map(big).collect::<Vec<_>>(), false));
        let latin: Result<Vec<u8>, _> = secret.chars().map(u8::try_from).collect();
        if let Some(latin) = latin.ok().filter(|_| !secret.is_ascii()) {
            self.needles.push(Needle::new(&latin, false));
        }
        if let Ok(Host::Domain(host)) = Host::parse(secret)
            && host != secret
        {
            self.as_hosts.push(Needle::new(host.as_bytes(), false));
        }
    }

    fn contains(&self, secret: &str) -> bool {
        self.needles.iter().any(|needle| needle.bytes() == secret.as_bytes())
    }

    /// Adds the credentials in the headers and in the query of a request.
    pub(crate) fn add_request(&mut self, headers: &HeaderMap, uri: &str) {
        for (name, value) in headers {
            if is_credential_header(name.as_str()) {
                self.add_header(name, value);
            }
        }
        for value in query_credentials(uri) {
            // A target may read a `+` as a space.
            for value in [value.to_owned(), value.replace('+', " ")] {
                self.add_key(&percent_decode_str(&value).decode_utf8_lossy());
                self.add_key(&value);
            }
        }
    }

    /// Adds a URL that is a secret as a whole, except for its host: as it is, and the parts that give it
    /// away. Short parts are words like `services`.
    pub(crate) fn add_url(&mut self, uri: &str) {
        self.add(uri);
        let Ok(url) = Url::parse(uri) else { return };
        let query = url.query().unwrap_or_default();
        let of_query = query.split('&').filter_map(|part| Some(part.split_once('=')?.1));
        let of_path: Vec<&str> = url.path().split('/').collect();
        let parts = of_path.iter().copied().chain(of_query);
        for part in parts.filter(|part| part.chars().count() >= URL_PART_CHARS_MIN) {
            self.add(part);
            self.add(&percent_decode_str(part).decode_utf8_lossy());
        }
        if let Some(last) = of_path.last() {
            self.add_key(last);
        }
        self.add_key(url.path());
    }

    /// Adds a value that is a key if it is long enough. Shorter values are flags.
    fn add_key(&mut self, value: &str) {
        if value.chars().count() >= CHARS_ANYWHERE_MIN {
            self.add(value);
        }
    }

    /// Adds a header with credentials: its value, and the secrets within the value.
    fn add_header(&mut self, name: &HeaderName, value: &HeaderValue) {
        let value = String::from_utf8_lossy(value.as_bytes());
        self.add_key(&value);
        if *name == COOKIE {
            let values = value.split(';').filter_map(|cookie| cookie.split_once('='));
            values.for_each(|(_, value)| self.add_key(value.trim().trim_matches('"')));
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

    /// Replaces the secrets in a message of this crate. The end of a very long text is left out.
    pub(crate) fn redact(&self, text: &str) -> String {
        let needles: Vec<&Needle> = self.needles.iter().chain(&self.as_hosts).collect();
        let kept = text.as_bytes().get(..TEXT_BYTES_MAX);
        without(kept.unwrap_or(text.as_bytes()), kept.is_some(), &needles)
    }

    /// Replaces secrets in a body of any length and kind, where they are as they were sent. In another
    /// encoding they are not found.
    pub(crate) fn redact_plain(&self, body: &[u8]) -> Vec<u8> {
        let mut found: Vec<Range<usize>> =
            self.needles.iter().flat_map(|needle| needle.plain_in(body)).collect();
        found.sort_unstable_by_key(|part| part.start);
        let mut kept = Vec::with_capacity(body.len());
        let mut from = 0;
        for Range { start, end } in found {
            // Parts that overlap belong to secrets within each other.
            if let Some(before) = body.get(from..start) {
                kept.extend_from_slice(before);
                kept.extend_from_slice(REDACTED.as_bytes());
            }
            from = from.max(end);
        }
        kept.extend_from_slice(body.get(from..).unwrap_or_default());
        kept
    }

    /// Replaces the secrets in the answer of a target. If the answer is cut and ends with the
    /// beginning of a secret, that is replaced as well.
    pub(crate) fn redact_answer(&self, text: &[u8], is_cut: bool) -> String {
        let kept = text.get(..TEXT_BYTES_MAX);
        let needles: Vec<&Needle> = self.needles.iter().collect();
        without(kept.unwrap_or(text), is_cut || kept.is_some(), &needles)
    }
}

/// Replaces secrets in a text. A text in which they cannot be found with reasonable work is replaced
/// as a whole.
fn without(text: &[u8], is_cut: bool, needles: &[&Needle]) -> String {
    if needles.is_empty() {
        return in_utf8(text, is_cut);
    }
    let Some(mut found) = find(text, is_cut, needles) else {
        return REDACTED.to_owned();
    };
    found.sort_by_key(|part| part.start);
    let mut redacted = String::with_capacity(text.len());
    let mut shown_from = 0;
    let mut parts = found.into_iter().peekable();
    while let Some(Range { start, mut end }) = parts.next() {
        // Parts that overlap belong to secrets within each other.
        while let Some(part) = parts.next_if(|part| part.start < end) {
            end = end.max(part.end);
        }
        redacted.push_str(&in_utf8(text.get(shown_from..start).unwrap_or_default(), false));
        redacted.push_str(REDACTED);
        shown_from = end;
    }
    redacted.push_str(&in_utf8(text.get(shown_from..).unwrap_or_default(), is_cut));
    redacted
}

/// Bytes as text. The cut may be within a character.
fn in_utf8(bytes: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    if is_cut { text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned() } else { text.into() }
}
