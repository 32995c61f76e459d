//! What is logged: one line for each request, and what a client is not told.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Api, Trouble};

thread_local! {
    /// What the test on this thread has logged.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps every event as a line. There is one for all threads: one that comes and goes would race
/// with tests on other threads for what is enabled.
struct Lines;

impl Lines {
    fn of<T>(logging: impl FnOnce() -> T) -> (T, Vec<String>) {
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
fn a_request_is_one_line_without_its_query() {
    let api = Api::new();
    let (answer, lines) = Lines::of(|| {
        api.send("GET", "/nowhere?token=secret", &[("authorization", "Bearer secret")], "secret")
    });
    let id = answer.header("x-ms-request-id").unwrap();
    let line = format!(
        r#"INFO message=answered a request method=GET path="/nowhere" status=404 request.id="{id}""#
    );
    assert_eq!(lines, [line]);
}

#[test]
fn a_request_that_trips_over_itself_is_one_failed_request() {
    let api = Api::with_collection();
    api.troubles.set(Trouble::Panic);
    let (answer, lines) = Lines::of(|| api.get("/C1"));
    let id = answer.header("x-ms-request-id").unwrap().to_owned();
    answer.fails(
        500,
        "InternalError",
        "The service failed. The log says why, under the id in 'x-ms-request-id'.",
    );
    let line = format!(
        "ERROR message=a request tripped over itself error_type=RequestPanicked request.id=\"{id}\""
    );
    assert_eq!((lines.len(), &lines[0]), (2, &line));
    api.troubles.set(Trouble::None);
    assert_eq!(api.get("/C1").status, 200);
}

#[test]
fn a_failure_of_ours_is_told_to_the_log() {
    let api = Api::with_collection();
    api.troubles.set(Trouble::Unavailable);
    let (answer, lines) = Lines::of(|| api.get("/C1"));
    let id = answer.header("x-ms-request-id").unwrap();
    let line = format!(
        "ERROR message=a request failed for a reason of ours error_type=RequestFailed \
         code=\"ServiceUnavailable\" error=\"the store is not available: table secret-table\" request.id=\"{id}\""
    );
    assert_eq!((lines.len(), &lines[0]), (2, &line));
}
