//! Collections: created, changed, switched, listed, deleted.

use minutehand_app::AppError;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::name::PathSegment;
use minutehand_ports::store::PageRequest;

use super::world::{World, json, named, place, refused};

const NOW: &str = "2027-01-01T12:00:00Z";

fn page(from: Option<String>, items_max: u32) -> PageRequest {
    PageRequest { from, items_max }
}

#[tokio::test]
async fn a_collection_is_created_read_replaced_and_patched() {
    let world = World::at(NOW).await;
    let created =
        world.collection("Jc", r#"{"location":"westus","tags":{"a":"1"}}"#).await.unwrap();
    let expected = r#"{"location":"West US","tags":{"a":"1"},"properties":{"sku":{"name":"Standard"},"state":"Enabled"}}"#;
    assert_eq!(created.to_string(), expected);
    let read = world.manage.get_collection(&place(), &named("JC")).await.unwrap();
    assert_eq!((read.name.as_str(), read.document.to_string().as_str()), ("Jc", expected));

    let patch = json(r#"{"tags":{"b":"2"},"properties":{"quota":{"maxJobCount":7}}}"#);
    let patched = world.manage.patch_collection(&place(), &named("jc"), patch).await.unwrap();
    assert_eq!(
        patched.document.to_string(),
        r#"{"location":"West US","tags":{"a":"1","b":"2"},"properties":{"sku":{"name":"Standard"},"state":"Enabled","quota":{"maxJobCount":7}}}"#,
    );
    let replaced =
        world.collection("jc", r#"{"properties":{"sku":{"name":"P20Premium"}}}"#).await.unwrap();
    assert_eq!(
        replaced.to_string(),
        r#"{"location":"West US","properties":{"sku":{"name":"P20Premium"},"state":"Enabled"}}"#,
    );
    assert_eq!(
        refused(world.collection("jc", r#"{"location":"East US"}"#).await),
        "LocationChanged"
    );
}

#[tokio::test]
async fn switching_a_collection_does_not_change_its_jobs() {
    let world = World::at(NOW).await;
    world.collection("jc", "{}").await.unwrap();
    world.job("j", r#"{"startTime":"2027-02-01"}"#).await.unwrap();
    let world = &world;
    let switch = |state| async move {
        world.manage.switch_collection(&place(), &named("jc"), state).await.unwrap();
        let job = world.manage.get_job((&place(), &named("jc"), &named("j"))).await.unwrap();
        let next = job.status.unwrap().next_execution_at.map(minutehand_recurrence::format_instant);
        (job.state.name(), next)
    };
    assert_eq!(switch(CollectionState::Disabled).await, ("enabled", None));
}

#[tokio::test]
async fn there_is_one_free_collection_in_a_subscription() {
    let world = World::at(NOW).await;
    let free = r#"{"properties":{"sku":{"name":"Free"}}}"#;
    world.collection("one", free).await.unwrap();
    world.collection("one", free).await.unwrap();
    assert_eq!(refused(world.collection("two", free).await), "FreeCollectionExists");
    assert_eq!(
        refused(world.collection("two", r#"{"properties":{"quota":{"maxJobCount":51}}}"#).await),
        "QuotaAbovePlan",
    );
}

#[tokio::test]
async fn a_plan_or_quota_that_the_existing_jobs_exceed_is_refused() {
    let world = World::at(NOW).await;
    world.collection("jc", "{}").await.unwrap();
    let plain = r#""action":{"type":"Http","request":{"uri":"http://x","method":"GET"}}"#;
    for (name, recurrence) in [("a", "minute"), ("b", "day")] {
        let body = format!(r#"{{{plain},"recurrence":{{"frequency":"{recurrence}"}}}}"#);
        world.job(name, &body).await.unwrap();
    }
    let quota = |quota: &str| format!(r#"{{"properties":{{"quota":{quota}}}}}"#);
    let one = quota(r#"{"maxJobCount":1}"#);
    assert_eq!(refused(world.collection("jc", &one).await), "JobQuotaExceeded");
    let hourly = quota(r#"{"maxRecurrence":{"frequency":"hour","interval":1}}"#);
    assert_eq!(refused(world.collection("jc", &hourly).await), "RecurrenceQuotaExceeded");
    world.manage.delete_job((&place(), &named("jc"), &named("a"))).await.unwrap();
    world
        .collection("jc", &quota(r#"{"maxJobCount":1,"maxRecurrence":{"frequency":"hour"}}"#))
        .await
        .unwrap();
}

#[tokio::test]
async fn lists_are_by_name_and_follow_their_pages() {
    let world = World::at(NOW).await;
    for name in ["b", "A", "d", "C", "e"] {
        world.collection(name, "{}").await.unwrap();
    }
    let subscription = PathSegment::new("SUB").unwrap();
    let (mut names, mut from) = (Vec::new(), None);
    loop {
        let list = world.manage.list_collections(&subscription, None, page(from, 2)).await.unwrap();
        assert!(list.items.len() <= 2);
        names.extend(list.items.into_iter().map(|view| view.name.to_string()));
        from = list.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(names, ["A", "b", "C", "d", "e"]);
    let other = PathSegment::new("other").unwrap();
    let list = world.manage.list_collections(&subscription, Some(&other), page(None, 10)).await;
    assert!(list.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_deleted_collection_is_gone_with_its_jobs_and_its_name_is_free() {
    let world = World::at(NOW).await;
    world.collection("jc", "{}").await.unwrap();
    world.job("j", "{}").await.unwrap();
    world.manage.delete_collection(&place(), &named("jc")).await.unwrap();
    let gone = world.manage.get_job((&place(), &named("jc"), &named("j"))).await;
    assert!(matches!(gone, Err(AppError::NoJob { .. })));
    let listed = world.manage.list_jobs(&place(), &named("jc"), page(None, 10)).await;
    assert!(matches!(listed, Err(AppError::NoParent { .. })));
    let again = world.manage.delete_collection(&place(), &named("jc")).await;
    assert!(matches!(again, Err(AppError::NoCollection { .. })));
    world.collection("jc", "{}").await.unwrap();
    let none = world.manage.get_job((&place(), &named("jc"), &named("j"))).await;
    assert!(matches!(none, Err(AppError::NoJob { .. })), "{none:?}");
}
