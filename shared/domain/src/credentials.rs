//! The headers and query parameters of a request that are credentials.
//!
//! This is the one list: their values are sealed in the store, answered as [`WITHHELD`], sent to the
//! job's origin only, and removed from the answers of targets.

use std::borrow::Cow;
use std::iter;

use url::form_urlencoded;

use crate::completion::COMPLETION_HEADER;

/// What an answer contains instead of a credential. A client that sends it keeps the stored one.
pub const WITHHELD: &str = "(withheld)";

/// Names of headers that are credentials, in lower case.
const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", COMPLETION_HEADER];

/// Ends of the names of such headers, like `X-Api-Key`, `X-Functions-Key` and
/// `Ocp-Apim-Subscription-Key`.
const HEADER_ENDS: [&str; 3] = ["-token", "-secret", "-key"];

/// Names of query parameters that are credentials, in lower case.
const PARAMETERS: [&str; 9] =
    ["code", "sig", "key", "token", "api_key", "apikey", "access_token", "password", "secret"];

/// Whether a header is a credential.
#[must_use]
pub fn is_credential_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HEADERS.contains(&name.as_str()) || HEADER_ENDS.iter().any(|end| name.ends_with(end))
}

/// The credentials in the query of a URL, as they are written there.
pub fn query_credentials(uri: &str) -> impl Iterator<Item = &str> {
    let (_, query, _) = split(uri);
    parameters(query).filter_map(|parameter| Some(parameter.credential?.1))
}

/// A URL with [`WITHHELD`] instead of the credentials in its query.
#[must_use]
pub fn withhold_query(uri: &str) -> String {
    replace(uri, |_, _| Some(WITHHELD))
}

/// Whether a credential in the query of a URL is [`WITHHELD`].
pub(crate) fn is_query_withheld(uri: &str) -> bool {
    query_credentials(uri).any(is_withheld)
}

/// A URL in which each credential that is [`WITHHELD`] is the one of another URL; the name of the
/// parameter if the other URL has none.
pub(crate) fn fill_query(uri: &str, stored: &str) -> Result<String, String> {
    let (_, query, _) = split(stored);
    let mut unused: Vec<(String, &str)> =
        parameters(query).filter_map(|parameter| parameter.credential).collect();
    let mut missing = None;
    let filled = replace(uri, |name, value| {
        if !is_withheld(value) {
            return None;
        }
        let Some(at) = unused.iter().position(|(known, _)| known == name) else {
            missing = Some(name.to_owned());
            return None;
        };
        Some(unused.remove(at).1)
    });
    missing.map_or(Ok(filled), Err)
}

/// A client may write the value anew.
fn is_withheld(value: &str) -> bool {
    form_urlencoded::parse(value.as_bytes()).next().is_some_and(|(text, _)| text == WITHHELD)
}

/// The parts of a URL before its query, the query, and what follows it.
fn split(uri: &str) -> (&str, &str, &str) {
    let end = uri.find('#').unwrap_or(uri.len());
    let start = uri.find('?').map_or(end, |at| at + 1).min(end);
    let part = |range| uri.get(range).unwrap_or_default();
    (part(0..start), part(start..end), part(end..uri.len()))
}

/// One part of a query.
struct Parameter<'a> {
    text: &'a str,
    /// The name in lower case and the value, if it is a credential.
    credential: Option<(String, &'a str)>,
}

fn parameters(query: &str) -> impl Iterator<Item = Parameter<'_>> {
    query.split('&').map(|text| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        // URLs are sent without tabs and line breaks.
        let name = name.replace(['\t', '\r', '\n'], "");
        let name = form_urlencoded::parse(name.as_bytes()).next();
        let name = name.map(|(name, _)| name.to_ascii_lowercase()).unwrap_or_default();
        let is_credential = !value.is_empty() && PARAMETERS.contains(&name.as_str());
        Parameter { text, credential: is_credential.then_some((name, value)) }
    })
}

/// A URL with other values of the credentials in its query: those that are found by name and value.
fn replace<'a>(uri: &str, mut find: impl FnMut(&str, &str) -> Option<&'a str>) -> String {
    let (before, query, after) = split(uri);
    let parts = parameters(query).map(|Parameter { text, credential }| {
        let found = credential.and_then(|(name, value)| Some((find(&name, value)?, value)));
        match found.and_then(|(found, value)| Some((found, text.strip_suffix(value)?))) {
            Some((found, name)) => Cow::Owned(format!("{name}{found}")),
            None => Cow::Borrowed(text),
        }
    });
    let query = parts.collect::<Vec<_>>().join("&");
    iter::once(before).chain([query.as_str(), after]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_credentials_are_known_by_their_names() {
        for name in [
            "Authorization",
            "PROXY-AUTHORIZATION",
            "cookie",
            "X-Api-Key",
            "X-Functions-Key",
            "Ocp-Apim-Subscription-Key",
            "x-auth-token",
            "Client-Secret",
        ] {
            assert!(is_credential_header(name), "{name}");
        }
        for name in ["Accept", "X-Authorization-Kind", "Token-Kind", "Key", "Monkey", "Set-Cookie2"]
        {
            assert!(!is_credential_header(name), "{name}");
        }
    }

    #[test]
    fn credentials_in_a_query_are_withheld() {
        for (uri, expected) in [
            ("https://h/p", "https://h/p"),
            ("https://h/p?", "https://h/p?"),
            ("https://h/p?code", "https://h/p?code"),
            ("https://h/p?code=&x=1", "https://h/p?code=&x=1"),
            ("https://h/p?code=a=b&x=1#code=c", "https://h/p?code=(withheld)&x=1#code=c"),
            ("https://h/p?x=1&SIG=a%2Fb&&Key=k", "https://h/p?x=1&SIG=(withheld)&&Key=(withheld)"),
            ("https://h/p?c%6Fde=a&co\nde=b", "https://h/p?c%6Fde=(withheld)&co\nde=(withheld)"),
            ("https://h/p?a=1?code=2", "https://h/p?a=1?code=2"),
            ("https://h/p#x?code=a", "https://h/p#x?code=a"),
            ("https://h/code=a", "https://h/code=a"),
            (
                "https://h/p?apikey=1&api_key=2&access_token=3&password=4&secret=5&token=6",
                "https://h/p?apikey=(withheld)&api_key=(withheld)&access_token=(withheld)&password=(withheld)&secret=(withheld)&token=(withheld)",
            ),
        ] {
            assert_eq!(withhold_query(uri), expected);
        }
    }

    #[test]
    fn credentials_that_are_withheld_are_filled_from_another_url() {
        let stored = "https://h/p?code=one&x=1&code=two&sig=a%2Bb";
        for (uri, expected) in [
            ("https://h/q?code=new", Ok("https://h/q?code=new")),
            ("https://h/q?y=2&Code=(withheld)", Ok("https://h/q?y=2&Code=one")),
            ("https://h/?code=(withheld)&code=(withheld)", Ok("https://h/?code=one&code=two")),
            ("https://h/?sig=%28withheld%29#f", Ok("https://h/?sig=a%2Bb#f")),
            ("https://h/?x=(withheld)", Ok("https://h/?x=(withheld)")),
            ("https://h/?key=(withheld)", Err("key")),
        ] {
            let filled = fill_query(uri, stored);
            assert_eq!(filled.as_deref().map_err(String::as_str), expected, "{uri}");
        }
        assert!(is_query_withheld("https://h/?code=%28withheld%29"));
        assert!(!is_query_withheld("https://h/?x=(withheld)&code=c"));
    }
}
