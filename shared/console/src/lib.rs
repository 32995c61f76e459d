//! The console: a page for browsers that calls the API of the server it comes from.
//!
//! The API's function, the program for one machine and `minutehand console` serve it. It never decides
//! about time or jobs.
//!
//! `web/` holds its sources, `dist/` what `make console` builds of them, and `files.rs` the table of
//! what was built. All three are committed, so that a build of the server needs no Node. The files
//! hold no data and no secret: a browser gets them without a token, and calls the API with one.

mod files;
mod sign_in;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG,
    HeaderName, IF_NONE_MATCH, LOCATION, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use crate::files::FILES;

pub use sign_in::SignIn;

/// The path of the first page. All other files lie below it.
const HOME: &str = "/console/";
/// What the page asks before it signs in.
const CONFIG: &str = "/console/config.json";
/// How long a browser keeps a file whose name contains a hash of its content: a year.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// What a browser may do with the files: run and show only what comes from the same origin, and put
/// no text into the page as HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every file.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
    ("x-frame-options", "DENY"),
];

/// A built file.
struct File {
    /// Its name below `/console/`.
    name: &'static str,
    bytes: &'static [u8],
    /// Whether the bytes are compressed with gzip. Every browser takes that, so there is no other copy.
    is_gzip: bool,
    content_type: &'static str,
    etag: &'static str,
    /// Whether the name contains a hash of the content.
    is_hashed: bool,
}

/// Answers a request for the console; `None` if the request is for something else.
///
/// A browser that asks for `/` is sent to the console. A client that does not say that it accepts
/// HTML gets there what the API answers.
#[must_use]
pub fn answer(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<&'static [u8]>> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    match path {
        "/" if names(headers, &ACCEPT, "text/html") => Some(redirect()),
        "/console" => Some(redirect()),
        CONFIG => Some(config()),
        _ => {
            let name = path.strip_prefix(HOME)?;
            let name = if name.is_empty() { "index.html" } else { name };
            Some(FILES.iter().find(|file| file.name == name).map_or_else(absent, |file| {
                let mut response = file_answer(file, headers);
                if method == Method::HEAD {
                    let length = response.body().len();
                    response.headers_mut().insert(CONTENT_LENGTH, length.into());
                    *response.body_mut() = b"";
                }
                response
            }))
        }
    }
}

/// That a browser signs in with a token, unless a [`SignIn`] says otherwise.
fn config() -> Response<&'static [u8]> {
    let mut response = with_status(StatusCode::OK);
    set(&mut response, CONTENT_TYPE, "application/json");
    set(&mut response, CACHE_CONTROL, "no-cache");
    *response.body_mut() = br#"{"auth":"token"}"#;
    response
}

fn redirect() -> Response<&'static [u8]> {
    let mut response = with_status(StatusCode::FOUND);
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(HOME));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

fn absent() -> Response<&'static [u8]> {
    in_words(StatusCode::NOT_FOUND, b"The console has no such file. Open /console/ instead.\n")
}

fn not_acceptable() -> Response<&'static [u8]> {
    let why = b"This file is compressed with gzip, which the header Accept-Encoding refuses. \
                Add gzip to it.\n";
    in_words(StatusCode::NOT_ACCEPTABLE, why)
}

fn in_words(status: StatusCode, words: &'static [u8]) -> Response<&'static [u8]> {
    let mut response = with_status(status);
    set(&mut response, CONTENT_TYPE, "text/plain; charset=utf-8");
    *response.body_mut() = words;
    response
}

/// A request without the header `Accept-Encoding` takes every encoding.
fn takes_gzip(headers: &HeaderMap) -> bool {
    !headers.contains_key(ACCEPT_ENCODING)
        || names(headers, &ACCEPT_ENCODING, "gzip")
        || names(headers, &ACCEPT_ENCODING, "*")
}

fn file_answer(file: &File, headers: &HeaderMap) -> Response<&'static [u8]> {
    if file.is_gzip && !takes_gzip(headers) {
        return not_acceptable();
    }
    let is_known = names(headers, &IF_NONE_MATCH, file.etag);
    let mut response =
        with_status(if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK });
    set(&mut response, ETAG, file.etag);
    set(&mut response, CACHE_CONTROL, if file.is_hashed { IMMUTABLE } else { "no-cache" });
    set(&mut response, VARY, "accept-encoding");
    if is_known {
        return response;
    }
    set(&mut response, CONTENT_TYPE, file.content_type);
    if file.is_gzip {
        set(&mut response, CONTENT_ENCODING, "gzip");
    }
    *response.body_mut() = file.bytes;
    response
}

fn with_status(status: StatusCode) -> Response<&'static [u8]> {
    let empty: &'static [u8] = b"";
    let mut response = Response::new(empty);
    *response.status_mut() = status;
    for (name, value) in HEADERS {
        set(&mut response, HeaderName::from_static(name), value);
    }
    response
}

fn set(response: &mut Response<&'static [u8]>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// Whether a header of a request lists a value, and does not refuse it with `q=0`.
fn names(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix("W/").unwrap_or(value);
        let is_refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        value.eq_ignore_ascii_case(wanted) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde_json::Value;
    use sha2::{Digest, Sha256};

    use super::*;

    fn get(path: &str, sent: &[(HeaderName, &'static str)]) -> Option<Response<&'static [u8]>> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.insert(name.clone(), HeaderValue::from_static(value));
        }
        answer(&Method::GET, path, &headers)
    }

    #[test]
    fn only_a_browser_is_sent_from_the_root_to_the_console() {
        assert!(get("/", &[]).is_none());
        assert!(get("/", &[(ACCEPT, "application/json")]).is_none());
        assert!(get("/", &[(ACCEPT, "text/html;q=0, */*")]).is_none());
        let sent =
            get("/", &[(ACCEPT, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")]).unwrap();
        assert_eq!(sent.status(), StatusCode::FOUND);
        assert_eq!(sent.headers()[LOCATION], HOME);
        assert_eq!(get("/console", &[]).unwrap().headers()[LOCATION], HOME);
    }

    #[test]
    fn other_paths_and_methods_are_left_to_the_api() {
        for path in ["/healthz", "/subscriptions/s", "/consoles", "/minutehand/v1/me"] {
            assert!(get(path, &[]).is_none(), "{path}");
        }
        assert!(answer(&Method::POST, HOME, &HeaderMap::new()).is_none());
    }

    #[test]
    fn every_file_has_the_headers_and_names_what_it_is() {
        for file in &FILES {
            let response = get(&format!("{HOME}{}", file.name), &[]).unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(*response.body(), file.bytes, "{}", file.name);
            for (name, value) in HEADERS {
                assert_eq!(response.headers()[name], value, "{}", file.name);
            }
            let kept = if file.is_hashed { IMMUTABLE } else { "no-cache" };
            assert_eq!(response.headers()[CACHE_CONTROL], kept, "{}", file.name);
        }
    }

    #[test]
    fn a_compressed_file_says_so_and_a_client_that_refuses_gzip_gets_406_in_words() {
        let file = FILES.iter().find(|file| file.is_gzip).unwrap();
        let path = format!("{HOME}{}", file.name);
        for accepted in [&[][..], &["br, gzip;q=0.5"], &["*"]] {
            let sent: Vec<_> = accepted.iter().map(|value| (ACCEPT_ENCODING, *value)).collect();
            let response = get(&path, &sent).unwrap();
            assert_eq!(*response.body(), file.bytes, "{accepted:?}");
            assert_eq!(response.headers()[CONTENT_ENCODING], "gzip", "{accepted:?}");
        }
        for refused in ["gzip;q=0", "identity", ""] {
            let response = get(&path, &[(ACCEPT_ENCODING, refused)]).unwrap();
            assert_eq!(response.status(), StatusCode::NOT_ACCEPTABLE, "{refused}");
            assert_eq!(response.headers().get(CONTENT_ENCODING), None, "{refused}");
            assert!(response.body().ends_with(b"Add gzip to it.\n"), "{refused}");
        }
        let page = get(HOME, &[(ACCEPT_ENCODING, "identity")]).unwrap();
        assert_eq!((page.status(), page.headers().get(CONTENT_ENCODING)), (StatusCode::OK, None));
    }

    #[test]
    fn a_client_that_has_a_file_gets_304_and_a_head_gets_no_body() {
        let tag = FILES.iter().find(|file| file.name == "index.html").unwrap().etag;
        let known = get(HOME, &[(IF_NONE_MATCH, tag)]).unwrap();
        assert_eq!((known.status(), known.body().len()), (StatusCode::NOT_MODIFIED, 0));
        let head = answer(&Method::HEAD, HOME, &HeaderMap::new()).unwrap();
        assert_eq!((head.status(), head.body().len()), (StatusCode::OK, 0));
        assert_ne!(head.headers()[CONTENT_LENGTH], "0");
    }

    #[test]
    fn an_unknown_file_is_404_in_words() {
        let response = get("/console/../Cargo.toml", &[]).unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert!(response.body().starts_with(b"The console has no such file."));
    }

    /// The sources, as `web/build.mjs` lists them.
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name == "node_modules") {
                continue;
            }
            if path.is_dir() { sources(&path, found) } else { found.push(path) }
        }
    }

    fn hash(bytes: &[u8]) -> String {
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        hash.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    }

    #[test]
    fn what_was_built_is_of_the_sources_that_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = fs::read(root.join("dist/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let mut found = Vec::new();
        sources(&root.join("web"), &mut found);
        let found: serde_json::Map<String, Value> = found
            .iter()
            .map(|path| {
                let name = path.strip_prefix(root.join("web")).unwrap().to_str().unwrap();
                (name.replace('\\', "/"), hash(&fs::read(path).unwrap()).into())
            })
            .collect();
        assert_eq!(manifest["sources"], Value::Object(found), "run `make console`");
        let built: serde_json::Map<String, Value> =
            FILES.iter().map(|file| (file.name.to_owned(), hash(file.bytes).into())).collect();
        assert_eq!(manifest["files"], Value::Object(built), "run `make console`");
    }

    #[test]
    fn the_console_stays_within_its_budgets() {
        let size = |end: &str| -> usize {
            let ends = |file: &&File| Path::new(file.name).extension().is_some_and(|is| is == end);
            FILES.iter().filter(ends).map(|file| file.bytes.len()).sum()
        };
        for (end, bytes_max) in [("js", 75_000), ("css", 9_000), ("woff2", 40_000), ("html", 2_000)]
        {
            assert!((1..=bytes_max).contains(&size(end)), "{end}: {} bytes", size(end));
        }
    }
}
