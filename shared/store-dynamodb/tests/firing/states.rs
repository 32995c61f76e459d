//! Counting collections and jobs by state.

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::collection::{Collection, CollectionDefinition, CollectionState};
use minutehand_domain::document::load_collection;
use minutehand_domain::job::JobState;
use minutehand_domain::name::Name;
use minutehand_ports::Collections;
use minutehand_ports::store::{CollectionRecord, JobRecord, Saved, TimerRecord};
use minutehand_store_dynamodb::{Groups, StateCounts, StatePosition};
use serde_json::json;

use crate::world::{World, at, collection, job, record, scheduled};

/// The counts, and the pages that they took.
async fn count(world: &World) -> (StateCounts, usize) {
    let (mut counts, mut pages) = (StateCounts::default(), 0);
    let mut from = Some(StatePosition::default());
    while let Some(position) = from {
        from = world.store.count_states(&mut counts, position, at(0)).await.unwrap();
        pages += 1;
    }
    (counts, pages)
}

fn job_in(n: usize, state: JobState) -> JobRecord {
    let one = job(&format!("Job{n}"));
    // A job that is disabled has no due time, so it is not in the index of timers.
    let due_at = one.timer.due_at.filter(|_| state != JobState::Disabled);
    JobRecord { uid: format!("job-{n}"), timer: TimerRecord { state, due_at, ..one.timer }, ..one }
}

fn collection_in(n: usize, state: CollectionState) -> CollectionRecord {
    let one = collection();
    let Collection { definition, .. } = one.collection;
    CollectionRecord {
        collection: Collection {
            uid: format!("collection-{n}"),
            name: Name::new(&format!("Jc{n}")).unwrap(),
            definition: CollectionDefinition { state, ..definition },
        },
        ..one
    }
}

#[tokio::test]
async fn collections_and_jobs_are_counted_by_state() {
    let world = World::embedded(Groups::Transactions).await;
    let (counts, pages) = count(&world).await;
    assert_eq!((counts, pages), (StateCounts::default(), 1));
    let states = [(JobState::Enabled, 70), (JobState::Disabled, 30), (JobState::Faulted, 2)];
    let states = states.into_iter().flat_map(|(state, n)| std::iter::repeat_n(state, n));
    for (n, state) in states.enumerate() {
        world.put_job(&collection(), &job_in(n, state)).await;
    }
    // One that has expired, and is not removed yet.
    let expired = JobRecord { expires_at: Some(at(0)), ..job_in(1_000, JobState::Completed) };
    world.put_job(&collection(), &expired).await;
    for (n, state) in [(1, CollectionState::Suspended), (2, CollectionState::Disabled)] {
        let created = Collections::create(&world.store, &collection_in(n, state), None).await;
        assert_eq!(created.unwrap(), Saved::Kept);
    }
    let (counts, _) = count(&world).await;
    let jobs = [("completed", 0), ("disabled", 30), ("enabled", 70), ("faulted", 2)];
    assert_eq!(counts.jobs, jobs.into_iter().chain([("unreadable", 0)]).collect());
    let collections = [("disabled", 1), ("enabled", 1), ("suspended", 1), ("unreadable", 0)];
    assert_eq!(counts.collections, collections.into_iter().collect());
}

#[tokio::test]
async fn a_collection_whose_failure_action_has_a_secret_is_counted_by_its_state() {
    let world = World::embedded(Groups::Transactions).await;
    let queue = json!({
        "storageAccount": "account", "queueName": "failures", "sasToken": "sig=hunter2"
    });
    let action = json!({"type": "StorageQueue", "queueMessage": queue});
    let document = json!({
        "properties": {"state": "Suspended", "minutehand": {"onFailure": action}}
    });
    let definition = load_collection(&document).unwrap();
    let one = collection();
    let one = CollectionRecord { collection: Collection { definition, ..one.collection }, ..one };
    assert_eq!(Collections::create(&world.store, &one, None).await.unwrap(), Saved::Kept);
    let (counts, _) = count(&world).await;
    assert_eq!((counts.collections["suspended"], counts.collections["unreadable"]), (1, 0));
}

#[tokio::test]
async fn history_is_not_read_and_what_cannot_be_read_is_counted() {
    let world = World::embedded(Groups::Transactions).await.and_job().await;
    for n in 0..150 {
        world.execute(&scheduled(60 * n), record(60 * n)).await;
    }
    let (counts, pages) = count(&world).await;
    assert_eq!((counts.jobs["enabled"], counts.collections["enabled"], pages), (1, 1, 1));
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for (pk, sk) in [("T#broken", "T"), ("S#sub", "C#broken#group")] {
        let put = world.client.put_item().table_name(&world.table);
        put.item("pk", text(pk)).item("sk", text(sk)).send().await.unwrap();
    }
    let (counts, _) = count(&world).await;
    assert_eq!((counts.jobs["unreadable"], counts.collections["unreadable"]), (1, 1));
}
