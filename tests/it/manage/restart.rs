//! Messages that the API sent survive a restart: store and queue in one data directory.

use std::path::Path;
use std::sync::Arc;

use minutehand_app::Manage;
use minutehand_domain::attempt::Occurrence;
use minutehand_domain::work_item::WorkItem;
use minutehand_embedded::{DataDir, Queue, Store, SyncMode};
use minutehand_ports::Deliveries as _;
use minutehand_sealer_aes::AesSealer;
use minutehand_store_dynamodb::ensure_table;

use super::world::{dynamo, json, manage, named, place, standing, with_action};

const NOW: &str = "2027-01-01T12:00:00Z";
/// When everything that was sent can be delivered.
const LATER: &str = "2027-01-01T13:00:00Z";

struct Process {
    manage: Manage,
    store: Store,
    queue: Queue,
}

impl Process {
    async fn start(dir: &Path, now: &str) -> Self {
        let data_dir = DataDir::open(dir).unwrap();
        let clock = standing(now);
        let store = Store::open(&data_dir, SyncMode::Normal).unwrap();
        ensure_table(&store.client(), "minutehand").await.unwrap();
        let queue = Queue::open(&data_dir, SyncMode::Normal, clock.clone()).unwrap();
        let sealer = Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()));
        let manage = manage(
            Arc::new(dynamo(&store)),
            Arc::new(queue.clone()),
            Arc::new(queue.clone()),
            clock,
            sealer,
        );
        Self { manage, store, queue }
    }

    async fn stop(self) {
        self.queue.close().await;
        self.store.close().await;
    }

    /// The job and the instant of what can be delivered, in order; it is not finished.
    async fn received(&self) -> Vec<String> {
        let received = self.queue.receive(100).await.unwrap();
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
}

#[tokio::test]
async fn messages_of_put_patch_and_run_survive_two_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let first = Process::start(dir.path(), NOW).await;
    let (place, jc) = (place(), named("jc"));
    first.manage.put_collection(&place, &jc, json("{}")).await.unwrap();
    let put = async |name: &str, properties: &str| {
        let body = with_action(properties);
        first.manage.put_job(&place, &jc, &named(name), body).await.unwrap();
    };
    put("a", r#"{"startTime":"2027-01-01T12:05:00Z"}"#).await;
    put("b", r#"{"startTime":"2027-01-02T00:00:00Z"}"#).await;
    let patch = json(r#"{"properties":{"startTime":"2027-01-01T12:03:00Z"}}"#);
    first.manage.patch_job(&place, &jc, &named("b"), patch).await.unwrap();
    put("c", r#"{"startTime":"2027-01-02T00:00:00Z"}"#).await;
    first.manage.run_job(&place, &jc, &named("c")).await.unwrap();
    let sent = ["c run 12:00", "b 12:03", "a 12:05"];
    assert_eq!(first.queue.stats().await.unwrap().delayed, 2);
    first.stop().await;

    // The second receives all and finishes nothing, so the third does too.
    for _ in 0..2 {
        let next = Process::start(dir.path(), LATER).await;
        assert_eq!(next.received().await, sent);
        next.stop().await;
    }
}
