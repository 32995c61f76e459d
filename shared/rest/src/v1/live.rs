//! `GET /minutehand/v1/live`: what happens, as server-sent events.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use futures_util::stream::{StreamExt as _, iter, unfold};
use minutehand_domain::collection_place::CollectionPlace;
use serde_json::json;

use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};
use crate::live::{Happened, Live, LiveCollection, LiveEvent, StreamPlace};
use crate::request::caller;

/// How often a stream looks for what has happened.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// After so many looks without an event a stream says that it is there: 15 seconds.
const SILENT_LOOKS: u32 = 30;
/// The most events that are sent at once. Beyond that, one for each collection says what happened in it.
const EVENTS_MAX: usize = 100;
/// The most collections of which a stream remembers the path.
const PATHS_MAX: usize = 10_000;
/// The header with which a browser's own reader of events resumes.
const LAST_EVENT_ID: &str = "last-event-id";

/// Opens a stream.
pub(crate) async fn live(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["after"])?;
    let Some(live) = call.rest.live.clone() else {
        return Err(Failure::new(
            ErrorCode::UnknownRoute,
            "This installation has no stream of events, as none on AWS has; read again, with \
             'If-None-Match'.",
        ));
    };
    let principal = &call.caller.principal;
    let token = principal.known().map(|label| format!("{} {label}", principal.kind()));
    let place = live.admit(token.as_deref()).map_err(|why| {
        let why = format!("{why}; close one, or read again without it.");
        Failure::new(ErrorCode::ServiceUnavailable, why)
    })?;
    let header = call.head.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let after = parameters.text("after").or(header);
    // An id of another process is one of which everything is missed.
    let from = after.map(|id| live.read_id(id).unwrap_or(u64::MAX));
    let next = from.unwrap_or_else(|| live.next());
    if call.head.method == Method::HEAD {
        return Ok(Answer::events(Body::empty()));
    }
    let first = format!("retry: 5000\nid: {}\nevent: ready\ndata: {{}}\n\n", live.id(live.next()));
    let first = after.is_none().then_some(Ok(first));
    let stream = Stream {
        live,
        call,
        next,
        paths: HashMap::new(),
        silent: 0,
        is_over: false,
        _place: place,
    };
    let texts = unfold(stream, |mut stream| async move {
        let text = stream.text().await?;
        Some((Ok::<_, Infallible>(text), stream))
    });
    Ok(Answer::events(Body::from_stream(iter(first).chain(texts))))
}

/// A stream that is open.
struct Stream {
    live: Arc<Live>,
    call: Call,
    /// The number of the first event that it has not sent.
    next: u64,
    paths: HashMap<String, CollectionPlace>,
    /// How often it has looked in vain.
    silent: u32,
    is_over: bool,
    _place: StreamPlace,
}

/// An event as it is sent: what happened, the path of the collection, and the job.
type Sent = (Happened, String, Option<String>);

impl Stream {
    /// What to send next; `None` at the end.
    async fn text(&mut self) -> Option<String> {
        loop {
            if self.is_over || !self.is_allowed() {
                return None;
            }
            let unsent = self.live.since(self.next);
            (self.next, self.is_over) = (unsent.next, unsent.is_closed);
            let id = self.live.id(self.next);
            if unsent.has_missed {
                return Some(format!("id: {id}\nevent: missed\ndata: {{}}\n\n"));
            }
            let mut sent = Vec::new();
            for event in unsent.events {
                sent.extend(self.shown(event).await);
            }
            if !sent.is_empty() {
                self.silent = 0;
                return Some(written(sent, &id));
            }
            if self.is_over {
                return None;
            }
            self.call.rest.clock.wait(LOOK_EVERY).await;
            self.silent += 1;
            if self.silent >= SILENT_LOOKS {
                self.silent = 0;
                return Some(":\n\n".to_owned());
            }
        }
    }

    /// Whether the token that opened it is still one, and reaches the same.
    fn is_allowed(&self) -> bool {
        caller(&self.call.rest, &self.call.head).is_ok_and(|now| now == self.call.caller)
    }

    /// An event, if the caller may know of it.
    async fn shown(&mut self, event: LiveEvent) -> Option<Sent> {
        let path = match event.collection {
            LiveCollection::Path(path) => path,
            LiveCollection::Uid(uid) => self.path_of(uid).await?,
        };
        self.call.manage.reaches(&path).then(|| (event.what, path.as_str().to_owned(), event.job))
    }

    /// The path of a collection. What cannot be looked up is read again by whoever shows it.
    async fn path_of(&mut self, uid: String) -> Option<CollectionPlace> {
        if let Some(path) = self.paths.get(&uid) {
            return Some(path.clone());
        }
        let path = self.call.manage.collection_path(&uid).await.ok().flatten()?;
        if self.paths.len() >= PATHS_MAX {
            self.paths.clear();
        }
        self.paths.insert(uid, path.clone());
        Some(path)
    }
}

/// Events as text, each once, with the id of all on the last.
fn written(mut sent: Vec<Sent>, id: &str) -> String {
    let once = |sent: &mut Vec<Sent>| {
        let mut seen = HashSet::new();
        sent.retain(|event| seen.insert(event.clone()));
    };
    once(&mut sent);
    if sent.len() > EVENTS_MAX {
        for (.., job) in &mut sent {
            *job = None;
        }
        once(&mut sent);
    }
    let (mut text, last) = (String::new(), sent.len().saturating_sub(1));
    for (n, (what, path, job)) in sent.iter().enumerate() {
        let mut parts = path.split('/');
        let mut part = || parts.next().unwrap_or_default();
        let data = json!({"subscription": part(), "resourceGroup": part(), "collection": part(),
            "job": job});
        if n == last {
            // Not before: what is cut off on the way would never be sent again.
            let _ = writeln!(text, "id: {id}");
        }
        // A string takes every text.
        let _ = write!(text, "event: {}\ndata: {data}\n\n", what.name());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(collection: &str, job: usize) -> Sent {
        (Happened::Ended, format!("s/g/{collection}"), Some(job.to_string()))
    }

    #[test]
    fn each_event_is_sent_once_and_many_become_one_a_collection() {
        let text = written(vec![sent("a", 1), sent("b", 2), sent("a", 1)], "e-3");
        assert_eq!(
            text,
            "event: ended\ndata: {\"subscription\":\"s\",\"resourceGroup\":\"g\",\"collection\":\"a\",\
             \"job\":\"1\"}\n\nid: e-3\nevent: ended\ndata: {\"subscription\":\"s\",\
             \"resourceGroup\":\"g\",\"collection\":\"b\",\"job\":\"2\"}\n\n"
        );
        let many = (0..=EVENTS_MAX).map(|n| sent(if n % 2 == 0 { "a" } else { "b" }, n)).collect();
        let text = written(many, "e-9");
        assert_eq!(text.matches("\"job\":null").count(), 2, "{text}");
        assert_eq!(text.matches("id: ").count(), 1);
    }
}
