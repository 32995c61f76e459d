//! Many changes at once: no quota is exceeded, no field is lost.

use std::sync::Arc;

use minutehand_app::AppError;
use minutehand_ports::store::PageRequest;

use super::world::{World, json, named, place, properties, with_action};

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
                Err(AppError::Refused(refusal)) if refusal.code.name() == "JobQuotaExceeded" => {
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
                .patch_job((&place(), &named("jc"), &named("j")), json(&patch))
                .await
                .unwrap();
        })
    });
    for patch in patches.collect::<Vec<_>>() {
        patch.await.unwrap();
    }
    let job = world.manage.get_job((&place(), &named("jc"), &named("j"))).await.unwrap();
    let headers = properties(&job)["action"]["request"]["headers"].as_object().unwrap().len();
    assert_eq!(headers, 12);
}

/// The document of writer `n`: a name and a password that belong together, and a header.
fn written_by(n: usize) -> String {
    format!(
        r#"{{"properties":{{"action":{{"type":"Http","request":{{"uri":"http://example.org","method":"GET","headers":{{"h{n}":"{n}"}},"authentication":{{"type":"Basic","username":"w{n}","password":"w{n}"}}}}}}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn puts_and_patches_at_once_lose_no_change_and_tear_no_secret() {
    let world = Arc::new(World::at("2027-01-01T12:00:00Z").await);
    world.collection("jc", "{}").await.unwrap();
    world.job("j", r#"{"startTime":"2028-01-01"}"#).await.unwrap();
    let (first, _) = world.kept("j").await;
    let changes = (0..50).map(|n| {
        let world = world.clone();
        tokio::spawn(async move {
            // Others may be first more often than a change begins again; then its caller does.
            loop {
                let (place, jc, j, body) = (place(), named("jc"), named("j"), json(&written_by(n)));
                let changed = if n % 2 == 0 {
                    world.manage.put_job((&place, &jc, &j), body).await.map(|(view, _)| view)
                } else {
                    world.manage.patch_job((&place, &jc, &j), body).await
                };
                match changed {
                    Ok(view) => return properties(&view),
                    Err(AppError::Busy { .. }) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        })
    });
    for (n, change) in changes.collect::<Vec<_>>().into_iter().enumerate() {
        let request = &change.await.unwrap()["action"]["request"];
        assert_eq!(request["headers"][format!("h{n}")], n.to_string(), "its own change is in it");
        let headers = request["headers"].as_object().unwrap();
        assert!(n % 2 == 1 || headers.len() == 1, "a PUT replaces everything: {headers:?}");
        assert_eq!(request["authentication"]["username"], format!("w{n}"));
    }
    let (last, secrets) = world.kept("j").await;
    assert_eq!(last.version, first.version + 50, "each change was made on the one before it");
    let request = &json(&last.document)["action"]["request"];
    let password = &secrets["action"]["request"]["authentication"]["password"];
    assert_eq!(&request["authentication"]["username"], password);
    for (name, value) in request["headers"].as_object().unwrap() {
        assert_eq!(*name, format!("h{}", value.as_str().unwrap()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_of_one_job_make_one() {
    let world = Arc::new(World::at("2027-01-01T12:00:00Z").await);
    world.collection("jc", r#"{"properties":{"quota":{"maxJobCount":2}}}"#).await.unwrap();
    let puts = (0..10).map(|_| {
        let world = world.clone();
        tokio::spawn(async move {
            let body = with_action(r#"{"startTime":"2028-01-01"}"#);
            world.manage.put_job((&place(), &named("jc"), &named("j")), body).await.unwrap();
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    // One place of the quota is left.
    world.job("k", r#"{"startTime":"2028-01-01"}"#).await.unwrap();
}
