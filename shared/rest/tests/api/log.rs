//! The log: one line for each request, and the internal errors that clients do not see.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Api, Trouble};

thread_local! {
    /// The lines that the test on this thread has logged.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A subscriber that keeps every event as a line.
///
/// All threads share one global subscriber. `tracing` caches which events are enabled, and
/// subscribers that tests install and remove would race for this cache.
struct Lines;

impl Lines {
    fn logged_by<T>(logging: impl FnOnce() -> T) -> (T, Vec<String>) {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Self).unwrap());
        LINES.take();
        (logging(), LINES.take())
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("minutehand_rest")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn the_line_of_a_request_does_not_contain_its_query() {
    let api = Api::new();
    let (answer, lines) = Lines::logged_by(|| {
        api.send("GET", "/nowhere?token=secret", &[("authorization", "Bearer secret")], "secret")
    });
    let id = answer.header("x-ms-request-id").unwrap();
    let line = format!(
        r#"INFO message=answered a request method=GET path="/nowhere" status=404 request.id="{id}""#
    );
    assert_eq!(lines, [line]);
}

#[test]
fn a_panic_fails_one_request_only() {
    let api = Api::with_collection();
    api.troubles.set(Trouble::Panic);
    let (answer, lines) = Lines::logged_by(|| api.get("/C1"));
    let id = answer.header("x-ms-request-id").unwrap().to_owned();
    answer.fails(
        500,
        "InternalError",
        "The service failed. Its log gives the reason under the id in 'x-ms-request-id'.",
    );
    let line = format!(
        "ERROR message=request handler panicked error_type=RequestPanicked request.id=\"{id}\""
    );
    assert_eq!((lines.len(), &lines[0]), (2, &line));
    api.troubles.set(Trouble::None);
    assert_eq!(api.get("/C1").status, 200);
}

#[test]
fn the_cause_of_an_internal_failure_is_logged() {
    let api = Api::with_collection();
    api.troubles.set(Trouble::Unavailable);
    let (answer, lines) = Lines::logged_by(|| api.get("/C1"));
    let id = answer.header("x-ms-request-id").unwrap();
    let line = format!(
        "ERROR message=request failed error_type=RequestFailed \
         code=\"ServiceUnavailable\" error=\"the store is not available: table secret-table\" request.id=\"{id}\""
    );
    assert_eq!((lines.len(), &lines[0]), (2, &line));
}
