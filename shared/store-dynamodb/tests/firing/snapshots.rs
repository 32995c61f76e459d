//! The last look before an attempt starts.

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{JobRecord, SaveJob, Saved};
use minutehand_ports::{Jobs, Snapshots};
use minutehand_store_dynamodb::{DynamoStore, MeteredCall};

use crate::world::{JOB, World, at, collection, job, job_ref};

#[tokio::test]
async fn each_item_of_a_group_is_read_once() {
    let world = World::in_process().await.and_job().await;
    let _ = world.meter.take();
    let seen = world.store.read_all(&vec![job_ref(); 150]).await.unwrap();
    assert_eq!(seen.iter().flatten().count(), 150);
    // A timer, a switch, and for half the price a definition, of less than four kilobytes each.
    let consumed = world.meter.consumed_by(MeteredCall::Snapshot);
    assert_eq!((consumed.requests, consumed.units), (2, 2.5));
    assert_eq!(world.store.read_all(&[]).await.unwrap(), []);
}

#[tokio::test]
async fn snapshots_come_in_the_order_of_the_group() {
    let world = World::new().await;
    let job_of = |n: u32| JobRecord { uid: format!("{JOB}{n}"), ..job(&format!("J{n}")) };
    for n in 0..120 {
        world.put_job(&collection(), &job_of(n)).await;
    }
    let refs: Vec<JobRef> = (0..120)
        .map(|n| JobRef { uid: format!("{JOB}{n}"), key: format!("j{n}"), ..job_ref() })
        .collect();
    let seen = world.store.read_all(&refs).await.unwrap();
    let names: Vec<String> =
        seen.into_iter().map(|snapshot| snapshot.unwrap().name.to_string()).collect();
    let expected: Vec<String> = (0..120).map(|n| format!("J{n}")).collect();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn unprocessed_keys_of_a_batch_are_read_again() {
    let world = World::in_process().await;
    let job_of = |n: u32| JobRecord {
        uid: format!("{JOB}{n}"),
        // Of all of them more than the sixteen megabytes that one answer holds.
        document: "x".repeat(390_000),
        ..job(&format!("J{n}"))
    };
    for n in 0..45 {
        world.put_job(&collection(), &job_of(n)).await;
    }
    let refs: Vec<JobRef> = (0..45)
        .map(|n| JobRef { uid: format!("{JOB}{n}"), key: format!("j{n}"), ..job_ref() })
        .collect();
    let seen = world.store.read_all(&refs).await.unwrap();
    assert_eq!(
        seen.iter().flatten().filter(|snapshot| snapshot.document.len() == 390_000).count(),
        45
    );
    assert!(world.meter.consumed_by(MeteredCall::Snapshot).requests > 1);
}

#[tokio::test]
async fn a_definition_is_read_again_only_if_it_has_changed() {
    let world = World::in_process().await.and_job().await;
    let read = async || world.store.read(&job_ref()).await.unwrap();
    let consumed =
        || world.meter.take().get(&MeteredCall::Snapshot).map(|it| (it.requests, it.units));
    let first = read().await.unwrap();
    let _ = consumed();
    assert_eq!(read().await.unwrap(), first);
    // A timer and a switch.
    assert_eq!(consumed(), Some((1, 2.0)));

    let at_home = collection();
    let mut changed = job("Job");
    for (version, timer_changes) in [(changed.version, false), (changed.version + 1, true)] {
        changed.version = version;
        changed.document = format!("{{\"version\":{version}}}");
        changed.timer.timing.generation += u64::from(timer_changes);
        // By another process, which remembers for itself.
        let other = DynamoStore::new(world.client.clone(), &world.table);
        let save = SaveJob { collection: &at_home, job: &changed, timer_changes, entry: None };
        assert_eq!(Jobs::replace(&other, save).await.unwrap(), Saved::Kept);
        assert_eq!(read().await.unwrap().document, changed.document);
        // As it is now, and once.
        assert_eq!(consumed(), Some((2, 3.0)));
        assert_eq!(read().await.unwrap().document, changed.document);
        assert_eq!(consumed(), Some((1, 2.0)));
    }

    changed.version += 1;
    let mut counted = at_home.clone();
    counted.job_count = 1;
    assert_eq!(Jobs::delete(&world.store, &counted, &changed, None).await.unwrap(), Saved::Kept);
    assert_eq!(read().await, None);
    let other = JobRecord { uid: "other".to_owned(), ..job("Job") };
    world.put_job(&at_home, &other).await;
    assert_eq!(read().await, None);
    let other = JobRef { uid: "other".to_owned(), ..job_ref() };
    assert!(world.store.read(&other).await.unwrap().is_some());
}

#[tokio::test]
async fn a_timer_of_an_earlier_build_can_be_read() {
    let world = World::with_job().await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let ticks = AttributeValue::N(minutehand_domain::tick::ticks(at(-7)).to_string());
    world
        .client
        .update_item()
        .table_name(&world.table)
        .key("pk", text(&format!("T#{JOB}")))
        .key("sk", text("T"))
        .update_expression("REMOVE version, last_at SET last_execution_at = :at")
        .expression_attribute_values(":at", ticks)
        .send()
        .await
        .unwrap();
    for version in [job("Job").version, job("Job").version + 1] {
        let changed = JobRecord { document: format!("{{\"v\":{version}}}"), version, ..job("Job") };
        let seen = world.store.read(&job_ref()).await.unwrap().unwrap();
        assert_eq!(seen.counters.last_execution_at, Some(at(-7)));
        let home = collection();
        let save = SaveJob { collection: &home, job: &changed, timer_changes: false, entry: None };
        assert_eq!(Jobs::replace(&world.store, save).await.unwrap(), Saved::Kept);
        let seen = world.store.read(&job_ref()).await.unwrap().unwrap();
        assert_eq!(seen.document, changed.document);
    }
}
