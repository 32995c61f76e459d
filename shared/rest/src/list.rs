//! Lists: a window of a list, or all of it in pages that a client follows.
//!
//! With `$top` a list is that window, and there is nothing to follow. Without, an answer holds as
//! much as fits, and `nextLink` leads to the rest. How much fits is known before it is read, as the
//! store tells where a page ends and not where an item does: no more items are asked for than would
//! fit if each were as long as can be.

use axum::http::StatusCode;
use axum::http::header::{HOST, HeaderName};
use axum::http::uri::Authority;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ports::store::PageRequest;
use serde_json::Value;

use crate::answer::Answer;
use crate::query::{Query, Wanted, write_position};
use crate::serve::Call;

/// The most items of an answer.
const ITEMS_MAX: usize = 500;
/// The most bytes of an answer: what runs us may cut answers off at 6 MB, headers and encoding
/// included.
const BYTES_MAX: usize = 4_000_000;
/// With room for fewer items than this, an answer is full: the last ones would cost a read each.
const WORTH_READING: usize = 8;
/// What is read at first of a window of which a filter drops an unknown part; each further read is
/// twice as long, up to [`ITEMS_MAX`].
const FILTERED_READ: usize = 100;
/// The most items, give or take one read, that are looked at for an answer that can be followed: a
/// filter that matches little does not hold a request up, as its link goes on from there.
const LOOKED_AT_MAX: usize = 5_000;

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
/// What stands for itself in a query.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'\'');

/// How clients reach us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Through TLS.
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

/// A list that is being put together.
pub(crate) struct Listing {
    top: Option<usize>,
    skip: usize,
    filtered: bool,
    item_bytes_max: usize,
    /// Where to read on; `None` at the beginning and at the end.
    from: Option<String>,
    /// Whether the store has no more.
    ended: bool,
    taken: usize,
    /// What was asked for so far, wanted or not.
    asked_for: usize,
    reads: u32,
    /// The items so far, with commas between them.
    items: String,
}

impl Listing {
    /// An empty list of what is wanted, of items that are not longer than this.
    pub(crate) fn of<F>(wanted: &Wanted<F>, item_bytes_max: usize) -> Self {
        Self {
            top: wanted.top,
            skip: wanted.skip,
            filtered: wanted.only.is_some(),
            item_bytes_max,
            from: wanted.from.clone(),
            ended: false,
            taken: 0,
            asked_for: 0,
            reads: 0,
            items: String::new(),
        }
    }

    /// What to read next; `None` if nothing is.
    pub(crate) fn next_page(&mut self) -> Option<PageRequest> {
        if self.ended {
            return None;
        }
        let items_max = match self.top {
            // What is read beyond the window is dropped.
            Some(top) if self.taken < top => {
                let grown = FILTERED_READ.saturating_mul(2_usize.saturating_pow(self.reads));
                let at_least = if self.filtered { grown } else { 1 };
                self.skip.saturating_add(top - self.taken).max(at_least)
            }
            Some(_) => return None,
            None => {
                let bytes_left = BYTES_MAX.saturating_sub(self.items.len());
                let room = (ITEMS_MAX - self.taken).min(bytes_left / self.item_bytes_max);
                if room < WORTH_READING || self.asked_for >= LOOKED_AT_MAX {
                    return None;
                }
                room
            }
        };
        let items_max = items_max.min(ITEMS_MAX);
        self.asked_for += items_max;
        self.reads += 1;
        let items_max = u32::try_from(items_max).ok()?;
        Some(PageRequest { from: self.from.clone(), items_max })
    }

    /// Takes an item that is wanted, unless it is outside the window.
    pub(crate) fn take(&mut self, item: impl FnOnce() -> Value) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.top.is_none_or(|top| self.taken < top) {
            if self.taken > 0 {
                self.items.push(',');
            }
            self.items.push_str(&item().to_string());
            self.taken += 1;
        }
    }

    /// Goes on where the store says, or ends.
    pub(crate) fn go_on(&mut self, next: Option<String>) {
        self.ended = next.is_none();
        self.from = next;
    }

    /// The list, and where it goes on.
    pub(crate) fn answer(self, link: &Link) -> Answer {
        let next = if self.top.is_some() { None } else { self.from };
        let next = next.map_or(Value::Null, |position| link.to(&position).into());
        let items = self.items;
        Answer::text(StatusCode::OK, format!(r#"{{"value":[{items}],"nextLink":{next}}}"#))
    }
}

/// The link from a request to the rest of its list.
pub(crate) struct Link {
    /// The scheme and the host that were called, and the path.
    base: String,
    /// The parameters that go on with it.
    query: String,
}

impl Link {
    /// The link of a request.
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let headers = &call.head.headers;
        let sent = headers.get(HOST).and_then(|host| host.to_str().ok());
        // HTTP/2 has the host in the target instead.
        let host = sent.or_else(|| call.head.uri.authority().map(Authority::as_str));
        let forwarded = headers.get(FORWARDED_PROTO).and_then(|proto| proto.to_str().ok());
        let scheme = forwarded.map_or(call.rest.scheme, |proto| {
            // Of several proxies, the first is the one that the client called.
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
        Self { base, query: carried(&call.query) }
    }

    fn to(&self, position: &str) -> String {
        format!("{}?{}$skiptoken={}", self.base, self.query, write_position(position))
    }
}

/// What every page of a list is asked with.
fn carried(query: &Query) -> String {
    let mut carried = String::new();
    for name in ["api-version", "$filter"] {
        if let Some(value) = query.get(name) {
            let value = utf8_percent_encode(value, ESCAPED).to_string();
            carried.extend([name, "=", &value, "&"]);
        }
    }
    carried
}
