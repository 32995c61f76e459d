//! Moving: what an installation has is listed, and what comes from another one is there as it was, once.

use minutehand_domain::attempt::Attempt;
use minutehand_domain::name::PathSegment;
use minutehand_ports::store::{
    Brought, Carried, CloudServiceRecord, CollectionRecord, CollectionStanding, Found, JobRecord,
    LongRetry, PageRequest, Part, Saved,
};

use super::back_end::SpoiledRow;
use super::firing::{retry, scheduled};
use super::records::{
    at, cloud_service, collection, collection_in, job, job_ref, named, now, segment,
};
use super::{Subject, whole_list};

behaviours! { $ installation:
    subscriptions_that_have_had_a_collection_are_listed_by_name,
    what_was_brought_is_listed_as_it_was,
    parts_are_listed_in_pages_of_any_size,
    a_job_that_has_expired_is_not_listed,
    what_cannot_be_read_is_named_and_does_not_hide_the_rest,
    a_cloud_service_that_is_there_stays_as_it_is,
    a_job_that_is_there_stays_as_it_is,
    a_collection_stands_where_its_name_or_its_id_does,
    one_import_is_under_way_until_it_ends,
}

fn service(uid: &str) -> CloudServiceRecord {
    CloudServiceRecord {
        uid: uid.to_owned(),
        label: "bGFiZWw=".to_owned(),
        description: "some text".to_owned(),
        version: 5,
        ..cloud_service("Group")
    }
}

/// A job as another installation has it: changed, and with what it has done.
fn moved(name: &str) -> JobRecord {
    let job = job(name);
    let mut timer = job.timer;
    timer.timing.generation = 4;
    timer.counters.executions = 12;
    JobRecord { version: 3, sealed: Some(vec![0, 255]), timer, ..job }
}

async fn listed(subject: &Subject, part: &Part, items_max: u32) -> Vec<Found> {
    whole_list(items_max, async |page| subject.installation().part(part, now(), page).await).await
}

/// A collection with a job, a retry of the job, and a cloud service, as an import leaves them.
async fn full(subject: &Subject) -> (CollectionRecord, JobRecord, LongRetry) {
    let jc = subject.collection("jc").await;
    let job = moved("j");
    let installation = subject.installation();
    assert_eq!(installation.bring_cloud_service(&service("s")).await.unwrap(), Brought::Kept);
    let uid = &jc.collection.uid;
    assert_eq!(installation.bring_job(uid, &job).await.unwrap(), Brought::Kept);
    let attempt = Attempt { is_long: true, ..retry(1, 5_000, &scheduled(60)) };
    let retry = LongRetry { job: job_ref(&jc, &job), attempt };
    subject.store.keep(&retry).await.unwrap();
    (jc, job, retry)
}

async fn subscriptions_that_have_had_a_collection_are_listed_by_name(subject: &Subject) {
    for subscription in ["b", "a", "C"] {
        subject.with_collection(&collection_in(subscription, "g", "jc")).await;
    }
    for items_max in [1, 2, 100] {
        let page = async |page: PageRequest| subject.installation().subscriptions(page).await;
        let names: Vec<PathSegment> = whole_list(items_max, page).await;
        let names: Vec<_> = names.iter().map(PathSegment::as_str).collect();
        assert_eq!(names, ["a", "b", "C"], "{items_max}");
    }
}

async fn what_was_brought_is_listed_as_it_was(subject: &Subject) {
    let (jc, job, retry) = full(subject).await;
    let sub = segment("Sub");
    let uid = jc.collection.uid.clone();
    for (part, expected) in [
        (Part::CloudServices(sub.clone()), Carried::CloudService(service("s"))),
        (Part::Collections(sub), Carried::Collection(Box::new(jc))),
        (Part::Jobs(uid.clone()), Carried::Job { collection_uid: uid, job: Box::new(job) }),
    ] {
        assert_eq!(listed(subject, &part, 100).await, [Found::Carried(expected)]);
    }
    let mut retries = Vec::new();
    for shard in 0..subject.installation().timer_shards() {
        retries.extend(listed(subject, &Part::Retries(shard), 100).await);
    }
    assert_eq!(retries, [Found::Carried(Carried::Retry(retry))]);
}

async fn parts_are_listed_in_pages_of_any_size(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let uid = &jc.collection.uid;
    for name in ["e", "d", "c", "b", "a"] {
        let brought = subject.installation().bring_job(uid, &moved(name)).await.unwrap();
        assert_eq!(brought, Brought::Kept);
    }
    for items_max in [1, 2, 5, 100] {
        let found = listed(subject, &Part::Jobs(uid.clone()), items_max).await;
        let names = found.iter().map(|found| match found {
            Found::Carried(Carried::Job { job, .. }) => job.name.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c", "d", "e"], "{items_max}");
    }
}

async fn a_job_that_has_expired_is_not_listed(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let uid = &jc.collection.uid;
    let expired = JobRecord { expires_at: Some(at("2027-01-01T11:00:00Z")), ..moved("old") };
    for job in [&expired, &moved("young")] {
        assert_eq!(subject.installation().bring_job(uid, job).await.unwrap(), Brought::Kept);
    }
    assert_eq!(listed(subject, &Part::Jobs(uid.clone()), 100).await.len(), 1);
}

async fn what_cannot_be_read_is_named_and_does_not_hide_the_rest(subject: &Subject) {
    let (jc, other) = (subject.collection("jc").await, subject.collection("other").await);
    let (j, k) = (subject.job(&jc, "j").await, subject.job(&jc, "k").await);
    subject.spoil(SpoiledRow::Definition(&j)).await;
    subject.spoil(SpoiledRow::Collection(&other)).await;
    let uid = jc.collection.uid;
    for part in [Part::Collections(segment("Sub")), Part::Jobs(uid.clone())] {
        let found = listed(subject, &part, 100).await;
        let unreadable = found.iter().filter(|it| matches!(it, Found::Unreadable(_))).count();
        assert_eq!((found.len(), unreadable), (2, 1), "{part:?}: {found:?}");
    }
    let k = Carried::Job { collection_uid: uid.clone(), job: Box::new(k) };
    assert!(listed(subject, &Part::Jobs(uid), 100).await.contains(&Found::Carried(k)));
}

async fn a_cloud_service_that_is_there_stays_as_it_is(subject: &Subject) {
    let installation = subject.installation();
    let first = service("s");
    assert_eq!(installation.bring_cloud_service(&first).await.unwrap(), Brought::Kept);
    let changed = CloudServiceRecord { description: "another text".to_owned(), ..first.clone() };
    assert_eq!(installation.bring_cloud_service(&changed).await.unwrap(), Brought::Already);
    assert_eq!(installation.bring_cloud_service(&service("t")).await.unwrap(), Brought::Taken);
    let found = subject.cloud_services().find(&first.place).await.unwrap();
    assert_eq!(found, Some(first));
}

async fn a_job_that_is_there_stays_as_it_is(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let uid = &jc.collection.uid;
    let installation = subject.installation();
    let first = moved("j");
    assert_eq!(installation.bring_job(uid, &first).await.unwrap(), Brought::Kept);
    let changed = JobRecord { document: r#"{"changed":true}"#.to_owned(), ..first.clone() };
    assert_eq!(installation.bring_job(uid, &changed).await.unwrap(), Brought::Already);
    // Another job of this name, and this job under another name.
    let namesake = JobRecord { uid: "uid-other".to_owned(), ..first.clone() };
    let renamed = JobRecord { name: named("k"), ..first.clone() };
    for taken in [namesake, renamed] {
        assert_eq!(installation.bring_job(uid, &taken).await.unwrap(), Brought::Taken);
    }
    assert_eq!(subject.find_job(&jc, &first.name).await, Some(first));
    assert_eq!(subject.find_job(&jc, &named("k")).await, None);
}

async fn a_collection_stands_where_its_name_or_its_id_does(subject: &Subject) {
    let installation = subject.installation();
    let record = collection("jc");
    assert_eq!(installation.standing(&record).await.unwrap(), CollectionStanding::Free);
    let jc = subject.with_collection(&record).await;
    assert_eq!(installation.standing(&record).await.unwrap(), CollectionStanding::Same);
    let mut namesake = record.clone();
    "uid-other".clone_into(&mut namesake.collection.uid);
    let mut renamed = record.clone();
    renamed.collection.name = named("kc");
    let path = record.place.collection_path(&record.collection.name).to_string();
    for taken in [namesake, renamed] {
        let standing = installation.standing(&taken).await.unwrap();
        assert_eq!(standing, CollectionStanding::Taken(path.clone()));
    }
    assert_eq!(subject.delete_collection(&jc).await, Saved::Kept);
    assert_eq!(installation.standing(&record).await.unwrap(), CollectionStanding::BeingRemoved);
}

async fn one_import_is_under_way_until_it_ends(subject: &Subject) {
    let installation = subject.installation();
    assert_eq!(installation.import_under_way().await.unwrap(), None);
    let mut under_way = Vec::new();
    for (export, in_place, is_begun) in [
        ("a", false, true),
        // The same one goes on.
        ("a", false, true),
        ("b", false, false),
        ("b", true, true),
    ] {
        let begun = installation.begin_import(export, in_place).await.unwrap();
        assert_eq!(begun, is_begun, "{export} {in_place}");
        under_way.push(installation.import_under_way().await.unwrap().unwrap());
    }
    assert_eq!(under_way, ["a", "a", "a", "b"]);
    installation.end_import("a").await.unwrap();
    assert_eq!(installation.import_under_way().await.unwrap(), Some("b".to_owned()));
    for _ in 0..2 {
        installation.end_import("b").await.unwrap();
        assert_eq!(installation.import_under_way().await.unwrap(), None);
    }
}
