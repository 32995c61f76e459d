//! Many changes at once: no quota is exceeded, no field is lost.

use std::sync::Arc;

use app::AppError;
use ports::store::PageRequest;

use super::world::{World, json, named, place, with_action};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_creates_against_a_quota_of_ten_leave_exactly_ten() {
    let world = Arc::new(World::at("2027-01-01T12:00:00Z").await);
    world.collection("jc", r#"{"properties":{"quota":{"maxJobCount":10}}}"#).await.unwrap();
    let creates = (0..50).map(|n| {
        let world = world.clone();
        tokio::spawn(async move {
            let job = world.job(&format!("j{n}"), r#"{"startTime":"2028-01-01"}"#).await;
            match job {
                Ok(_) => true,
                Err(AppError::Refused(refusal)) if refusal.code.as_str() == "JobQuotaExceeded" => {
                    false
                }
                Err(other) => panic!("{other:?}"),
            }
        })
    });
    let mut kept = 0;
    for create in creates.collect::<Vec<_>>() {
        kept += u32::from(create.await.unwrap());
    }
    assert_eq!(kept, 10);
    let page = PageRequest { from: None, items_max: 100 };
    let list = world.manage.list_jobs(&place(), &named("jc"), page).await.unwrap();
    assert_eq!(list.items.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_patches_lose_no_field() {
    let world = Arc::new(World::at("2027-01-01T12:00:00Z").await);
    world.collection("jc", "{}").await.unwrap();
    world.job("j", r#"{"startTime":"2028-01-01"}"#).await.unwrap();
    let patches = (0..12).map(|n| {
        let world = world.clone();
        tokio::spawn(async move {
            let patch = format!(
                r#"{{"properties":{{"action":{{"request":{{"headers":{{"h{n}":"{n}"}}}}}}}}}}"#
            );
            world
                .manage
                .patch_job(&place(), &named("jc"), &named("j"), json(&patch))
                .await
                .unwrap();
        })
    });
    for patch in patches.collect::<Vec<_>>() {
        patch.await.unwrap();
    }
    let job = world.manage.get_job(&place(), &named("jc"), &named("j")).await.unwrap();
    let headers = job.properties["action"]["request"]["headers"].as_object().unwrap().len();
    assert_eq!(headers, 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_of_one_job_make_one() {
    let world = Arc::new(World::at("2027-01-01T12:00:00Z").await);
    world.collection("jc", r#"{"properties":{"quota":{"maxJobCount":2}}}"#).await.unwrap();
    let puts = (0..10).map(|_| {
        let world = world.clone();
        tokio::spawn(async move {
            let body = with_action(r#"{"startTime":"2028-01-01"}"#);
            world.manage.put_job(&place(), &named("jc"), &named("j"), body).await.unwrap();
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    // One place of the quota is left.
    world.job("k", r#"{"startTime":"2028-01-01"}"#).await.unwrap();
}
