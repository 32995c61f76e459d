//! Scale: the largest collection and a large subscription are listed whole, by queries alone, in
//! about as many requests as there are megabytes and hundreds of timers.

use std::collections::BTreeMap;

use minutehand_ports::store::Saved;

use minutehand_testkit::conformance::records::{
    collection_in, job, long_document, numbered, segment,
};
use minutehand_testkit::conformance::{at_once, whole_list};

use crate::world::World;

/// How many changes are under way at once while a test is prepared.
const WORKERS: u32 = 8;

/// The size of one answer of the API: 4 MB of jobs of the greatest length.
const PAGE_OF_LONG_JOBS: u32 = 244;

fn share(names: &[String], worker: u32) -> Vec<String> {
    let every = usize::try_from(WORKERS).unwrap();
    names.iter().skip(usize::try_from(worker).unwrap()).step_by(every).cloned().collect()
}

/// Asserts what kinds of requests were made, and at most how many of each.
#[track_caller]
fn assert_requests(made: &BTreeMap<String, u32>, allowed: &[(&str, u32)]) {
    for (operation, count) in made {
        let most = allowed.iter().find(|(name, _)| name == operation);
        let most = most.map_or(0, |(_, most)| *most);
        assert!(*count <= most, "{count} of {operation}, where {most} are enough: {made:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_jobs_of_16_kilobytes_are_listed_by_queries() {
    let subject = World::new().await;
    let (jc, names) = (subject.collection("jc").await, numbered("j", 1_000));
    at_once(WORKERS, (subject.to_owned(), jc.clone()), |(subject, jc), worker| {
        let names = share(&names, worker);
        async move {
            for name in names {
                let mut long = job(&name);
                long.document = long_document('x');
                assert_eq!(subject.create_job(&jc, &long, Some(1_000)).await, Saved::Kept);
            }
        }
    })
    .await;
    assert_eq!(subject.create_job(&jc, &job("one-more"), Some(1_000)).await, Saved::Full);
    subject.requests.taken();
    let page = async |page| subject.jobs_page(&jc, page).await;
    let jobs = whole_list(PAGE_OF_LONG_JOBS, page).await;
    assert!(jobs.iter().map(|job| job.name.as_str()).eq(names.iter().map(String::as_str)));
    assert!(jobs.iter().all(|job| job.document == long_document('x')));
    // A query reads a megabyte, and the last one of each page less; a batch reads a hundred timers.
    assert_requests(
        &subject.requests.taken(),
        &[("Query", 4 * 5 + 1), ("BatchGetItem", 4 * 3 + 1)],
    );
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_collections_are_listed_by_queries() {
    let subject = World::new().await;
    let names = numbered("jc", 1_000);
    at_once(WORKERS, subject.clone(), |subject, worker| {
        let names = share(&names, worker);
        async move {
            for name in names {
                // Every hundredth is in a group of its own.
                let group = if name.ends_with("00") { "Few" } else { "Many" };
                let jc = collection_in("Sub", group, &name);
                assert_eq!(subject.create_collection(&jc).await, Saved::Kept);
            }
        }
    })
    .await;
    subject.requests.taken();
    let sub = segment("Sub");
    assert_eq!(subject.collection_names(&sub, None, 500).await, names);
    assert_requests(&subject.requests.taken(), &[("Query", 3)]);
    // A group is a part of its subscription, which is read whole.
    let few = subject.collection_names(&sub, Some(&segment("Few")), 500).await;
    assert_eq!(few.len(), 10);
    assert_requests(&subject.requests.taken(), &[("Query", 3)]);
    // However little of it is wanted, its neighbours do not cost a request each.
    let few = subject.collection_names(&sub, Some(&segment("Few")), 1).await;
    assert_eq!(few.len(), 10);
    assert_requests(&subject.requests.taken(), &[("Query", 20)]);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_costs_one_transaction_however_many_jobs_there_are() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    for name in numbered("j", 100) {
        subject.job(&jc, &name).await;
    }
    subject.requests.taken();
    let counted = subject.find_collection(&jc).await.unwrap();
    let j = subject.job(&counted, "new").await;
    assert_eq!(subject.replace_definition(&counted, &j).await, Saved::Kept);
    let replaced = subject.find_job(&counted, &j.name).await.unwrap();
    assert_eq!(subject.delete_job(&counted, &replaced).await, Saved::Kept);
    assert_eq!(subject.replace_collection(&counted).await, Saved::Kept);
    let last = subject.find_collection(&jc).await.unwrap();
    assert_eq!(subject.delete_collection(&last).await, Saved::Kept);
    // A collection is one read, a job two: definition and timer. One that goes may have a key for pings.
    assert_requests(
        &subject.requests.taken(),
        &[("TransactWriteItems", 5), ("GetItem", 2 + 2 * 2 + 1)],
    );
    subject.close().await;
}
