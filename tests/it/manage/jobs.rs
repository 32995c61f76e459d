//! Jobs: created, changed, run, listed, deleted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minutehand_app::{AppError, PutOutcome};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::firing::NotFiring;
use minutehand_ports::store::PageRequest;
use minutehand_store_sql::sqlite::{DATABASE, Database, Durability};

use super::world::{HTTP, World, json, named, place, properties, refused, with_action};

const NOW: &str = "2027-01-01T12:00:00Z";

async fn world() -> World {
    let world = World::at(NOW).await;
    world.collection("jc", "{}").await.unwrap();
    world
}

#[tokio::test]
async fn a_job_is_created_replaced_read_and_deleted() {
    let world = world().await;
    let manage = &world.manage;
    let put = |properties: &'static str| async move {
        manage.put_job((&place(), &named("jc"), &named("J")), with_action(properties)).await
    };
    let (created, how) = put(r#"{"recurrence":{"frequency":"day"}}"#).await.unwrap();
    assert_eq!(how, PutOutcome::Created);
    assert_eq!(
        properties(&created).to_string(),
        r#"{"action":{"request":{"uri":"http://example.org","method":"GET","authentication":{"username":"u","type":"Basic"}},"type":"Http"},"recurrence":{"frequency":"day","interval":1},"state":"enabled"}"#,
    );
    assert_eq!(world.next("j").await.as_deref(), Some("2027-01-01T12:00:00Z"));
    let (replaced, how) = put(r#"{"state":"Disabled"}"#).await.unwrap();
    assert_eq!((how, replaced.status), (PutOutcome::Replaced, None));
    assert_eq!(replaced.name.as_str(), "J");
    world.manage.delete_job((&place(), &named("jc"), &named("j"))).await.unwrap();
    let gone = world.manage.get_job((&place(), &named("jc"), &named("j"))).await;
    assert!(matches!(gone, Err(AppError::NoJob { .. })));
}

#[tokio::test]
async fn a_patch_keeps_the_secret_only_for_the_same_target() {
    let world = world().await;
    world.job("j", "{}").await.unwrap();
    world.patch("j", r#"{"properties":{"recurrence":{"frequency":"hour"}}}"#).await.unwrap();
    // A PUT without the password is refused, a PATCH after the PATCH is not: it is still there.
    let without = HTTP.replace(r#","password":"hunter2""#, "");
    let put = world.job("j", &format!(r#"{{"action":{without}}}"#)).await;
    assert_eq!(refused(put), "BadRequest");
    world.patch("j", r#"{"properties":{"action":{"request":{"method":"POST"}}}}"#).await.unwrap();
    let elsewhere = r#"{"properties":{"action":{"request":{"uri":"http://evil.example/"}}}}"#;
    assert_eq!(refused(world.patch("j", elsewhere).await), "BadRequest");
}

#[tokio::test]
async fn secrets_are_not_plain_in_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let (database, threads) = Database::open(dir.path(), Durability::Normal).unwrap();
    let world = World::over(database, NOW).await;
    world.collection("jc", "{}").await.unwrap();
    world.job("j", "{}").await.unwrap();
    assert!(world.kept("j").await.1.to_string().contains("hunter2"));
    world.store.database().close();
    threads.ended().await;
    let file = std::fs::read(dir.path().join(DATABASE)).unwrap();
    let contains = |text: &[u8]| file.windows(text.len()).any(|bytes| bytes == text);
    assert!(contains(b"example.org") && !contains(b"hunter2"));
}

#[tokio::test]
async fn a_certificate_is_opened_and_described() {
    let world = world().await;
    let file = include_bytes!("../../../shared/pfx/tests/fixtures/makecert.p12");
    let action = |password: &str| {
        let pfx = STANDARD.encode(file);
        format!(
            r#"{{"action":{{"type":"Http","request":{{"uri":"http://x","method":"GET","authentication":{{"type":"ClientCertificate","pfx":"{pfx}","password":"{password}"}}}}}}}}"#
        )
    };
    let job = world.job("j", &action("minutehand")).await.unwrap();
    let authentication = &job["action"]["request"]["authentication"];
    assert_eq!(authentication["certificateSubjectName"], "CN=May14SchedulerMgmt");
    assert_eq!(refused(world.job("k", &action("wrong")).await), "BadRequest");
    // A patch of something else does not lose what is known of it.
    let patched = world.patch("j", r#"{"properties":{"state":"disabled"}}"#).await.unwrap();
    assert_eq!(&patched["action"]["request"]["authentication"], authentication);
}

#[tokio::test]
async fn occurrences_within_the_horizon_are_sent_at_once() {
    let world = world().await;
    world.job("soon", r#"{"recurrence":{"frequency":"minute","interval":5}}"#).await.unwrap();
    assert_eq!(
        world.taken().await,
        ["12:00", "12:05", "12:10", "12:15"].map(|at| format!("2027-01-01T{at}:00Z")),
    );
    world.job("later", r#"{"startTime":"2027-01-01T12:15:01Z"}"#).await.unwrap();
    world.job("off", r#"{"state":"disabled"}"#).await.unwrap();
    assert_eq!(world.taken().await, [""; 0]);
    // A change that leaves the timing alone sends nothing.
    world.patch("soon", r#"{"properties":{"action":{"request":{"method":"PUT"}}}}"#).await.unwrap();
    assert_eq!(world.taken().await, [""; 0]);
    world.now_is("2027-01-01T12:02:00Z");
    world.patch("soon", r#"{"properties":{"recurrence":{"interval":10}}}"#).await.unwrap();
    assert_eq!(world.taken().await, ["2027-01-01T12:02:00Z", "2027-01-01T12:12:00Z"]);
}

#[tokio::test]
async fn a_run_is_sent_now_unless_the_collection_is_off() {
    let world = world().await;
    world.job("j", r#"{"startTime":"2028-01-01","state":"disabled"}"#).await.unwrap();
    world.manage.run_job((&place(), &named("jc"), &named("j"))).await.unwrap();
    assert_eq!(world.taken().await, [NOW]);
    let off = CollectionState::Disabled;
    world.manage.switch_collection(&place(), &named("jc"), off).await.unwrap();
    let run = world.manage.run_job((&place(), &named("jc"), &named("j"))).await;
    assert_eq!(refused(run), "JobCollectionDisabled");
}

#[tokio::test]
async fn a_count_continues_after_a_pause() {
    let world = world().await;
    let daily = r#"{"recurrence":{"frequency":"day","count":3}}"#;
    world.job("j", daily).await.unwrap();
    world.now_is("2027-01-02T20:00:00Z");
    world.patch("j", r#"{"properties":{"state":"disabled"}}"#).await.unwrap();
    world.now_is("2027-02-01T00:00:00Z");
    world.patch("j", r#"{"properties":{"state":"enabled"}}"#).await.unwrap();
    assert_eq!(world.next("j").await.as_deref(), Some("2027-02-01T12:00:00Z"));
    world.now_is("2027-02-01T12:00:01Z");
    assert_eq!(world.next("j").await, None);
}

#[tokio::test]
async fn a_one_time_job_shows_its_next_execution_until_it_has_fired() {
    let world = world().await;
    world.job("j", "{}").await.unwrap();
    world.now_is("2027-01-01T12:00:01Z");
    assert_eq!(world.next("j").await.as_deref(), Some("2027-01-01T12:00:00Z"));
}

#[tokio::test]
async fn the_limits_of_the_collection_are_enforced() {
    let world = World::at(NOW).await;
    let quota =
        r#"{"properties":{"quota":{"maxJobCount":1,"maxRecurrence":{"frequency":"hour"}}}}"#;
    world.collection("jc", quota).await.unwrap();
    let often = world.job("j", r#"{"recurrence":{"frequency":"minute","interval":59}}"#).await;
    assert_eq!(refused(often), "RecurrenceQuotaExceeded");
    world.job("j", r#"{"recurrence":{"frequency":"minute","interval":60}}"#).await.unwrap();
    assert_eq!(refused(world.job("k", "{}").await), "JobQuotaExceeded");
    let never = r#"{"startTime":"2027-02-01","recurrence":{"frequency":"month","interval":12,"schedule":{"monthDays":[31]}}}"#;
    assert_eq!(refused(world.job("j", never).await), "RecurrenceNeverOccurs");

    let free = World::at(NOW).await;
    free.collection("jc", r#"{"properties":{"sku":{"name":"Free"}}}"#).await.unwrap();
    assert_eq!(refused(free.job("j", "{}").await), "AuthenticationNotInPlan");
}

#[tokio::test]
async fn a_full_collection_lists_in_order_over_its_pages() {
    let world = World::at(NOW).await;
    world.collection("jc", r#"{"properties":{"sku":{"name":"P20Premium"}}}"#).await.unwrap();
    let body = "x".repeat(8_000);
    let queue = format!(
        r#"{{"type":"StorageQueue","queueMessage":{{"storageAccount":"a","queueName":"q","sasToken":"s","message":"{body}{body}"}}}}"#
    );
    let properties = format!(r#"{{"action":{queue},"startTime":"2028-01-01"}}"#);
    for n in 0..300 {
        world.job(&format!("job-{n:03}"), &properties).await.unwrap();
    }
    let (mut names, mut from) = (Vec::new(), None);
    loop {
        let page = PageRequest { from, items_max: 130 };
        let list = world.manage.list_jobs(&place(), &named("jc"), page).await.unwrap();
        names.extend(list.items.into_iter().map(|view| view.name.to_string()));
        from = list.next;
        if from.is_none() {
            break;
        }
    }
    let expected: Vec<_> = (0..300).map(|n| format!("job-{n:03}")).collect();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn missing_resources_are_not_found() {
    let world = world().await;
    let place = place();
    let nowhere = world.manage.put_job((&place, &named("no"), &named("j")), json("{}")).await;
    assert!(matches!(nowhere, Err(AppError::NoParent { .. })));
    let none = world.manage.delete_job((&place, &named("jc"), &named("no"))).await;
    assert!(matches!(none, Err(AppError::NoJob { .. })));
}

#[tokio::test]
async fn a_description_says_since_when() {
    let world = world().await;
    world.job("j", r#"{"recurrence":{"frequency":"day"}}"#).await.unwrap();
    let world = &world;
    let describe = async |now: &str| {
        world.now_is(now);
        world.manage.describe_job((&place(), &named("jc"), &named("j"))).await.unwrap()
    };
    let text = |at: chrono::DateTime<chrono::Utc>| minutehand_recurrence::format_instant(at);
    let first = describe("2027-01-01T12:00:05Z").await;
    assert_eq!(
        (text(first.since), first.collection_since.map(text)),
        (NOW.to_owned(), Some(NOW.to_owned()))
    );
    assert_eq!(
        (first.anchor.map(text), first.next_at.map(text)),
        (Some(NOW.to_owned()), Some(NOW.to_owned()))
    );
    assert_eq!(first.not_firing, []);

    world.now_is("2027-01-02T00:00:00Z");
    world
        .manage
        .switch_collection(&place(), &named("jc"), CollectionState::Disabled)
        .await
        .unwrap();
    world.now_is("2027-01-03T00:00:00Z");
    world.patch("j", r#"{"properties":{"state":"disabled"}}"#).await.unwrap();
    let off = describe("2027-01-04T00:00:00Z").await;
    assert_eq!(text(off.since), "2027-01-03T00:00:00Z");
    assert_eq!(off.collection_since.map(text).as_deref(), Some("2027-01-02T00:00:00Z"));
    assert_eq!(off.not_firing, [NotFiring::CollectionOff, NotFiring::JobDisabled]);
    // The anchor stays, and a change that does not switch the collection leaves its time.
    assert_eq!(off.anchor.map(text).as_deref(), Some(NOW));
    world
        .collection("jc", r#"{"tags":{"a":"1"},"properties":{"state":"Disabled"}}"#)
        .await
        .unwrap();
    let off = describe("2027-01-04T00:00:00Z").await;
    assert_eq!(off.collection_since.map(text).as_deref(), Some("2027-01-02T00:00:00Z"));
}

#[tokio::test]
async fn a_recurrence_that_ends_before_its_start_is_refused() {
    let world = world().await;
    let put = |end: &str| {
        format!(
            r#"{{"startTime":"2027-06-01","recurrence":{{"frequency":"day","endTime":"{end}"}}}}"#
        )
    };
    let refusal = match world.job("j", &put("2027-05-31T23:59:59Z")).await {
        Err(AppError::Refused(refusal)) => refusal.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refusal,
        "'recurrence.endTime' is 2027-05-31T23:59:59Z; use an instant that is not before 'startTime', 2027-06-01T00:00:00Z.",
    );
    world.job("j", &put("2027-06-01")).await.unwrap();
    assert_eq!(
        refused(world.patch("j", r#"{"properties":{"startTime":"2027-07-01"}}"#).await),
        "BadRequest"
    );
    // Without a startTime, an end in the past is a job that is over.
    world
        .job("over", r#"{"recurrence":{"frequency":"day","endTime":"2020-01-01"}}"#)
        .await
        .unwrap();
}
