//! What the log says of jobs: which one, and why.

use minutehand_domain::collection::CollectionState::{Disabled, Enabled};
use minutehand_testkit::log::{KeptLog, logged};
use serde_json::json;
use tracing::Metadata;

use super::target::Behaviour::Fail;
use super::world::World;

/// A world whose lines about jobs are kept, without what differs from run to run.
async fn logged_world() -> World {
    let is_kept = |metadata: &Metadata<'_>| {
        metadata.target().starts_with("minutehand_app")
            && metadata.fields().field("job.uid").is_some()
    };
    let world = World::at("2027-03-01T09:00").await;
    KeptLog { is_kept, left_out: &["job.uid", "attempt", "late_ms", "took_ms"] }.start();
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
        logged(),
        [
            r#"WARN message=failed job.path="s/g/jc/Report" cause="HTTP 500" reason="Failed""#,
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
        logged(),
        [
            r#"WARN message=an occurrence is skipped job.path="s/g/jc/j" occurrences=1 reason=its collection is disabled, or was when it fell due"#
        ]
    );
    world.switch(Enabled).await;
    world.run_until("2027-03-01T10:59:30").await;
    world.disable("j").await;
    world.run_until("2027-03-01T11:30").await;
    assert_eq!(
        logged(),
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
    world.run_until("2027-03-01T10:01").await;
    world.sweeper_running = false;
    world.run_until("2027-03-01T12:05").await;
    drop(logged());
    world.sweeper_running = true;
    world.run_until("2027-03-01T12:06").await;
    let lines = logged();
    assert_eq!(
        lines[0],
        // 10:20 to 11:50; the key of a timer has the name in lower case.
        r#"WARN message=occurrences are skipped job.path="s/g/jc/j" occurrences=10 reason=it fell into an outage, and the job's policy does not make up for it"#
    );
}
