//! Messages that the API sent survive a restart.

use std::path::Path;

use minutehand_domain::attempt::Occurrence;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::Deliveries as _;
use minutehand_store_sql::sqlite::{Database, Durability, Threads};

use super::world::{World, named, place};

const NOW: &str = "2027-01-01T12:00:00Z";
/// When everything that was sent can be delivered.
const LATER: &str = "2027-01-01T13:00:00Z";

/// The next process on a data directory.
async fn start(dir: &Path, now: &str) -> (World, Threads) {
    let (database, threads) = Database::open(dir, Durability::Normal).unwrap();
    (World::over(database, now).await, threads)
}

async fn stop(world: World, threads: Threads) {
    world.store.database().close();
    threads.ended().await;
}

/// The job and the instant of what can be delivered, in order; it is not finished.
async fn received(world: &World) -> Vec<String> {
    let received = world.queue.receive(100).await.unwrap();
    let line = |delivery: minutehand_ports::TakenMessage| {
        let work_item = delivery.work_item.unwrap();
        let WorkItem::Attempt { job, attempt } = &work_item else {
            panic!("no attempt: {work_item:?}");
        };
        assert_eq!(attempt.due_at, delivery.due_at);
        let run = match attempt.occurrence {
            Occurrence::Scheduled { .. } => "",
            Occurrence::Run { .. } => " run",
        };
        let (_, job) = job.key.rsplit_once('/').unwrap_or(("", &job.key));
        format!("{job}{run} {}", delivery.due_at.format("%H:%M"))
    };
    received.into_iter().map(line).collect()
}

#[tokio::test]
async fn messages_of_put_patch_and_run_survive_two_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let (first, threads) = start(dir.path(), NOW).await;
    first.collection("jc", "{}").await.unwrap();
    first.job("a", r#"{"startTime":"2027-01-01T12:05:00Z"}"#).await.unwrap();
    first.job("b", r#"{"startTime":"2027-01-02T00:00:00Z"}"#).await.unwrap();
    let patch = r#"{"properties":{"startTime":"2027-01-01T12:03:00Z"}}"#;
    first.patch("b", patch).await.unwrap();
    first.job("c", r#"{"startTime":"2027-01-02T00:00:00Z"}"#).await.unwrap();
    first.manage.run_job((&place(), &named("jc"), &named("c"))).await.unwrap();
    let sent = ["c run 12:00", "b 12:03", "a 12:05"];
    assert_eq!(first.queue.standing().await.unwrap().delayed, 2);
    stop(first, threads).await;

    // The second receives all and finishes nothing, so the third does too.
    for _ in 0..2 {
        let (next, threads) = start(dir.path(), LATER).await;
        assert_eq!(received(&next).await, sent);
        stop(next, threads).await;
    }
}
