//! Lists: a window of a list, or all of it in pages.
//!
//! With `$top`, the answer is that window and has no `nextLink`. Without it, the answer holds as
//! many items as fit, and `nextLink` leads to the next page.
//!
//! The number of items that fit has to be known before they are read, since the store reports a
//! position after each page and not after each item. Each read therefore asks for only as many items
//! as would fit if all of them had the maximum size.

use axum::http::StatusCode;
use axum::http::header::{HOST, HeaderName};
use axum::http::uri::Authority;
use minutehand_ports::store::{Page, PageRequest};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::query::{Query, Wanted, write_position};

/// The maximum number of items in an answer.
const ITEMS_MAX: usize = 500;
/// The maximum size of an answer. AWS Lambda rejects answers above 6 MB, which includes headers and
/// encoding.
const BYTES_MAX: usize = 4_000_000;
/// With room for fewer items than this, an answer counts as full: otherwise the last items would
/// cost one read each.
const READ_ITEMS_MIN: usize = 8;
/// The number of items in the first read for a window with a filter, which drops an unknown part of
/// them. Each further read doubles the number, up to [`ITEMS_MAX`].
const FILTERED_READ_ITEMS: usize = 100;
/// The number of items, give or take one read, after which a page ends even if it is not full.
///
/// Otherwise a filter that matches little would keep the request waiting. The `nextLink` continues
/// from there.
const SCANNED_ITEMS_MAX: usize = 5_000;

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
/// The characters that are percent-encoded in a query.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'\'');

/// The scheme under which clients reach the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP without TLS.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A list that is being built.
pub(crate) struct Listing {
    top: Option<usize>,
    skip: usize,
    /// Whether items are left out of what is read.
    pub(crate) filtered: bool,
    item_bytes_max: usize,
    /// The position of the next read; `None` at the beginning and at the end.
    from: Option<String>,
    /// Whether the store has no more items.
    ended: bool,
    /// The number of items in the answer.
    n_items: usize,
    /// The number of items that were requested from the store, including those that were left out.
    n_scanned: usize,
    reads: u32,
    /// The items as JSON, separated by commas.
    items: String,
}

impl Listing {
    /// An empty list, for items up to a maximum size.
    pub(crate) fn new<F>(wanted: &Wanted<F>, item_bytes_max: usize) -> Self {
        Self {
            top: wanted.top,
            skip: wanted.skip,
            filtered: wanted.only.is_some(),
            item_bytes_max,
            from: wanted.from.clone(),
            ended: false,
            n_items: 0,
            n_scanned: 0,
            reads: 0,
            items: String::new(),
        }
    }

    /// The next page to read from the store; `None` if the answer is complete.
    pub(crate) fn next_page(&mut self) -> Option<PageRequest> {
        if self.ended {
            return None;
        }
        let items_max = match self.top {
            // Items that are read beyond the window are dropped.
            Some(top) if self.n_items < top => {
                let grown = FILTERED_READ_ITEMS.saturating_mul(2_usize.saturating_pow(self.reads));
                let at_least = if self.filtered { grown } else { 1 };
                self.skip.saturating_add(top - self.n_items).max(at_least)
            }
            Some(_) => return None,
            None => {
                let bytes_left = BYTES_MAX.saturating_sub(self.items.len());
                let room = (ITEMS_MAX - self.n_items).min(bytes_left / self.item_bytes_max);
                if room < READ_ITEMS_MIN || self.n_scanned >= SCANNED_ITEMS_MAX {
                    return None;
                }
                room
            }
        };
        let items_max = items_max.min(ITEMS_MAX);
        self.n_scanned += items_max;
        self.reads += 1;
        let items_max = u32::try_from(items_max).ok()?;
        Some(PageRequest { from: self.from.clone(), items_max })
    }

    /// Adds what is wanted of a page of the store, as it is written.
    pub(crate) fn add_page<T>(
        &mut self,
        page: Page<T>,
        is_wanted: impl Fn(&T) -> bool,
        write: impl Fn(T) -> Value,
    ) {
        for item in page.items.into_iter().filter(|item| is_wanted(item)) {
            self.add(|| write(item));
        }
        self.ended = page.next.is_none();
        self.from = page.next;
    }

    /// Adds an item, unless it is outside the window.
    fn add(&mut self, item: impl FnOnce() -> Value) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.top.is_none_or(|top| self.n_items < top) {
            if self.n_items > 0 {
                self.items.push(',');
            }
            self.items.push_str(&item().to_string());
            self.n_items += 1;
        }
    }

    /// The items as a JSON array without a link to more; `None` if there are more than it has, and the
    /// request did not ask for a window.
    pub(crate) fn array(self) -> Option<String> {
        let is_all = self.top.is_some() || self.from.is_none();
        is_all.then(|| format!("[{}]", self.items))
    }

    /// As [`answer`](Self::answer); the last page of all leads on to the archive.
    pub(crate) fn answer_before_archive(self, link: &Link) -> Answer {
        let is_last = self.top.is_none() && self.from.is_none();
        if is_last { self.answered(Some(link.to_archive())) } else { self.answer(link) }
    }

    /// The answer: the items, and the link to the next page.
    pub(crate) fn answer(self, link: &Link) -> Answer {
        let next = if self.top.is_some() { None } else { self.from.as_deref() };
        let next = next.map(|position| link.to(position));
        self.answered(next)
    }

    fn answered(self, next: Option<String>) -> Answer {
        let (items, next) = (self.items, Value::from(next));
        Answer::text(StatusCode::OK, format!(r#"{{"value":[{items}],"nextLink":{next}}}"#))
    }
}

/// The link from a request to the next page of its list.
pub(crate) struct Link {
    /// The scheme, the host and the path of the request.
    base: String,
    /// The parameters of the request that the link repeats.
    query: String,
}

/// The scheme, the host and the path under which the sender of a request reaches this server; empty if the request
/// does not tell.
pub(crate) fn root_of(call: &Call) -> String {
    let base = Link::from_call(call).base;
    base.strip_suffix(call.head.uri.path()).unwrap_or_default().to_owned()
}

impl Link {
    /// Builds the link of a request.
    pub(crate) fn from_call(call: &Call) -> Self {
        let headers = &call.head.headers;
        let sent = headers.get(HOST).and_then(|host| host.to_str().ok());
        // HTTP/2 has no Host header; the host is part of the target.
        let host = sent.or_else(|| call.head.uri.authority().map(Authority::as_str));
        let forwarded = headers.get(FORWARDED_PROTO).and_then(|proto| proto.to_str().ok());
        let scheme = forwarded.map_or(call.rest.scheme, |proto| {
            // Of several proxies, the client called the first.
            let first = proto.split(',').next().unwrap_or_default().trim();
            if first.eq_ignore_ascii_case("https") { Scheme::Https } else { Scheme::Http }
        });
        let prefix = headers.get(FORWARDED_PREFIX).and_then(|prefix| prefix.to_str().ok());
        let prefix = prefix.filter(|prefix| prefix.starts_with('/')).unwrap_or_default();
        let path = format!("{}{}", prefix.trim_end_matches('/'), call.head.uri.path());
        let base = match host.filter(|host| host.parse::<Authority>().is_ok()) {
            Some(host) => format!("{}://{host}{path}", scheme.as_str()),
            None => path,
        };
        Self { base, query: repeated_parameters(&call.query) }
    }

    /// The link to what the archive has of the same list.
    fn to_archive(&self) -> String {
        format!("{}?{}archive=true", self.base, self.query)
    }

    fn to(&self, position: &str) -> String {
        format!("{}?{}$skiptoken={}", self.base, self.query, write_position(position))
    }
}

/// The parameters that every page of a list is requested with.
fn repeated_parameters(query: &Query) -> String {
    let mut repeated = String::new();
    for name in ["api-version", "$filter", "archive"] {
        if let Some(value) = query.get(name) {
            let value = utf8_percent_encode(value, ESCAPED).to_string();
            repeated.extend([name, "=", &value, "&"]);
        }
    }
    repeated
}
