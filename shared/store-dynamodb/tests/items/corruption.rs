//! Corruption: an item that is not what was written is an error that names it, and never read as
//! something else.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::JobCounters;
use minutehand_ports::StoreError;
use minutehand_ports::store::{JobRecord, PageRequest};

use minutehand_testkit::conformance::records::{collection, job, named, now, segment};

use crate::world::{Item, World, text};

/// The ways in which an attribute may be corrupt: absent, or of another type.
type Wrong = Option<AttributeValue>;

fn number(value: &str) -> AttributeValue {
    AttributeValue::N(value.to_owned())
}

fn bytes() -> AttributeValue {
    AttributeValue::B(Blob::new([1]))
}

/// Spoils one attribute of an item, asks, and puts the item back.
async fn spoil<T>(
    subject: &World,
    whole: &Item,
    attribute: &str,
    wrong: Wrong,
    ask: impl AsyncFn() -> Vec<Result<T, StoreError>>,
) {
    let mut item = whole.clone();
    match wrong.clone() {
        Some(wrong) => item.insert(attribute.to_owned(), wrong),
        None => item.remove(attribute),
    };
    subject.put(item).await;
    let part = |name: &str| whole.get(name).unwrap().as_s().unwrap().clone();
    let (pk, sk) = (part("pk"), part("sk"));
    for answer in ask().await {
        let case = format!("{pk} / {sk}: {attribute} is {wrong:?}");
        match answer {
            Err(error @ StoreError::Corrupt { .. }) => {
                assert!(!error.is_retryable(), "{case}");
                let message = error.to_string();
                for named in [pk.as_str(), sk.as_str(), attribute] {
                    assert!(message.contains(named), "{case}: {message}");
                }
            }
            Err(other) => panic!("{case}: {other:?}"),
            Ok(_) => panic!("{case}: it was read"),
        }
    }
    subject.put(whole.clone()).await;
}

fn whole_list() -> PageRequest {
    PageRequest { from: None, items_max: 100 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupt_collection_names_itself() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    let whole = subject.item("uid", text(&jc.collection.uid)).await;
    let listed = async || {
        let sub = segment("Sub");
        vec![subject.collections_page(&sub, None, whole_list()).await.map(|_| ())]
    };
    for (attribute, wrong) in [
        ("uid", None),
        ("uid", Some(number("1"))),
        ("subscription", None),
        ("subscription", Some(text("a#b"))),
        ("group", Some(text(""))),
        ("name", None),
        ("name", Some(text("not a name"))),
        ("document", None),
        ("document", Some(text("{"))),
        ("document", Some(text("[]"))),
        ("document", Some(bytes())),
        ("job_count", None),
        ("job_count", Some(text("1"))),
        ("job_count", Some(number("-1"))),
        ("job_count", Some(number("4294967296"))),
        ("on_since", None),
        ("on_since", Some(text("today"))),
        ("on_since", Some(number("0"))),
        ("state_since", Some(text("today"))),
        ("version", None),
        ("version", Some(number("0.5"))),
    ] {
        spoil(&subject, &whole, attribute, wrong, listed).await;
    }
    assert_eq!(subject.find_collection(&collection("jc")).await, Some(jc));
    subject.close().await;
}

/// A job that has everything a job can have.
fn full() -> JobRecord {
    let mut full = job("j");
    full.sealed = Some(vec![1]);
    full.earlier = vec![EarlierTiming::ending(&full.timer.timing, Some("a rule".to_owned()))];
    full.timer.counters = JobCounters { last_execution_at: Some(now()), ..JobCounters::default() };
    full
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupt_definition_of_a_job_names_itself() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    let j = subject.with_job(&jc, &full()).await;
    let whole = subject.item("uid", text(&j.uid)).await;
    let ask = async || {
        vec![
            subject.try_find_job(&jc, &j.name).await.map(|_| ()),
            subject.jobs_page(&jc, whole_list()).await.map(|_| ()),
        ]
    };
    for (attribute, wrong) in [
        ("uid", None),
        ("uid", Some(number("1"))),
        ("name", None),
        ("name", Some(text("/"))),
        ("document", None),
        ("document", Some(bytes())),
        // A secret that is not there is not the same as one that cannot be read.
        ("sealed", Some(text("AQ=="))),
        ("timings", Some(text("0 1 off"))),
        ("timings", Some(AttributeValue::L(vec![text("0 1")]))),
        ("version", None),
        ("version", Some(text("1"))),
        ("version", Some(number("-1"))),
    ] {
        spoil(&subject, &whole, attribute, wrong, ask).await;
    }
    assert_eq!(subject.find_job(&jc, &j.name).await, Some(j));
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupt_timer_names_itself() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    let j = subject.with_job(&jc, &full()).await;
    let whole = subject.timer(&j).await;
    let ask = async || {
        vec![
            subject.try_find_job(&jc, &j.name).await.map(|_| ()),
            subject.jobs_page(&jc, whole_list()).await.map(|_| ()),
        ]
    };
    for (attribute, wrong) in [
        ("state", None),
        ("state", Some(text("resting"))),
        ("generation", None),
        ("generation", Some(number("-1"))),
        ("anchor", Some(text("2027-01-01"))),
        ("anchor", Some(number("0.5"))),
        ("since", None),
        ("since", Some(number("1e30"))),
        ("used", None),
        ("used", Some(number("4294967296"))),
        ("timetable", Some(number("1"))),
        ("executions", None),
        ("executions", Some(number("1.5"))),
        ("failures", None),
        ("faulted", Some(text("0"))),
        ("last_at", Some(text("never"))),
        ("last_at", Some(bytes())),
        ("spent", Some(number("1"))),
        ("due_at", Some(number("0.5"))),
        ("due_at", Some(number("1e30"))),
    ] {
        spoil(&subject, &whole, attribute, wrong, ask).await;
    }
    assert_eq!(subject.find_job(&jc, &j.name).await, Some(j));
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_beside_something_corrupt_is_found() {
    let subject = World::new().await;
    let jc = subject.collection("jc").await;
    let (j, k) = (subject.job(&jc, "j").await, subject.job(&jc, "k").await);
    let mut definition = subject.item("uid", text(&j.uid)).await;
    definition.remove("document");
    subject.put(definition).await;
    assert_eq!(subject.find_job(&jc, &k.name).await, Some(k));
    assert_eq!(subject.find_collection(&jc).await.unwrap().job_count, 2);
    subject.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_without_a_timer_is_a_job_that_was_deleted() {
    let subject = World::new().await;
    // Both go at once, but they are read one after the other.
    let jc = subject.collection("jc").await;
    let (j, k) = (subject.job(&jc, "j").await, subject.job(&jc, "k").await);
    subject.delete(&subject.timer(&j).await).await;
    assert_eq!(subject.find_job(&jc, &named("j")).await, None);
    let listed = subject.jobs_page(&jc, whole_list()).await.unwrap().items;
    assert_eq!(listed, [k]);
    subject.close().await;
}
