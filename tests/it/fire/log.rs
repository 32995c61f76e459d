//! What the log says of jobs: which one, and why.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use domain::collection::CollectionState::{Disabled, Enabled};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::target::Behaviour::Fail;
use super::world::World;

thread_local! {
    /// The lines about jobs that the test on this thread has logged.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps every line of the services that names a job. The subscriber is global, because `tracing`
/// caches which lines are wanted.
struct Lines;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // What differs from run to run.
        if !["job.uid", "attempt", "late_ms", "took_ms"].contains(&field.name()) {
            write!(self.0, " {field}={value:?}").unwrap();
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("minutehand_app")
            && metadata.fields().field("job.uid").is_some()
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

/// A world whose lines are kept.
async fn logged_world() -> World {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing::subscriber::set_global_default(Lines).unwrap());
    let world = World::at("2027-03-01T09:00").await;
    LINES.take();
    world
}

#[tokio::test]
async fn a_failed_attempt_is_a_warning_with_its_job_and_the_reason() {
    let mut world = logged_world().await;
    world.targets.next("http://Report/", &[Fail]);
    let none = json!({"retryType": "none"});
    world
        .put("Report", json!({"startTime": "2027-03-01T10:00", "action": {"retryPolicy": none}}))
        .await;
    world.run_until("2027-03-01T10:01").await;
    assert_eq!(
        LINES.take(),
        [
            r#"WARN message=failed job.path="s/g/jc/Report" reason="Failed""#,
            r#"INFO message=a job has finished job.path="s/g/jc/Report" state="faulted""#,
        ]
    );
}

#[tokio::test]
async fn a_skip_that_costs_an_occurrence_is_a_warning_and_a_cancelled_attempt_is_not() {
    let mut world = logged_world().await;
    let hourly = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "hour"}});
    world.put("j", hourly.clone()).await;
    world.switch(Disabled).await;
    world.run_until("2027-03-01T10:30").await;
    assert_eq!(
        LINES.take(),
        [
            r#"WARN message=an occurrence is skipped job.path="s/g/jc/j" reason=its collection is disabled, or was when it fell due"#
        ]
    );
    world.switch(Enabled).await;
    world.run_until("2027-03-01T10:59:30").await;
    world.disable("j").await;
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(
        LINES.take(),
        [
            r#"INFO message=an attempt does not start job.path="s/g/jc/j" reason=the job's start, recurrence or state has changed"#
        ]
    );
}

#[tokio::test]
async fn an_outage_that_costs_occurrences_is_a_warning_with_their_number() {
    let mut world = logged_world().await;
    let often = json!({"startTime": "2027-03-01T10:00", "recurrence": {"frequency": "minute", "interval": 10}});
    world.put("J", often).await;
    world.sweeper_running = false;
    world.run_until("2027-03-01T12:05").await;
    LINES.take();
    world.sweeper_running = true;
    world.run_until("2027-03-01T12:06").await;
    let lines = LINES.take();
    assert_eq!(
        lines[0],
        // 10:00 to 11:40; the key of a timer has the name in lower case.
        r#"WARN message=occurrences are skipped job.path="s/g/jc/j" occurrences=11 reason=a later occurrence was due before this one could start"#
    );
}
