//! Redrives: each failure is repeated once at a time, and leaves the list when it is mended.

use minutehand_app::{AppError, Author, Redriven};
use minutehand_domain::idempotency_key::IdempotencyKey;
use minutehand_domain::journal::Operation;
use minutehand_domain::refusal::Code;
use minutehand_ports::store::PageRequest;
use serde_json::json;

use super::target::Behaviour::{Fail, Succeed};
use super::world::{World, instant, named, place, status};

/// A job that fails for good at 10:00, and in so many redrives.
async fn failed(redrives: usize, more: serde_json::Value) -> World {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.next("http://j/", &vec![Fail; 1 + redrives]);
    let mut job = json!({"startTime": "2027-03-01T10:00",
        "action": {"retryPolicy": {"retryType": "none"}}});
    if let (Some(job), Some(more)) = (job.as_object_mut(), more.as_object()) {
        job.extend(more.clone());
    }
    world.put("j", job).await;
    world.run_until("2027-03-01T10:05").await;
    world
}

async fn redrive(world: &World) -> Result<Redriven, AppError> {
    let at = instant("2027-03-01T10:00");
    world.manage.redrive_occurrence((&place(), &named("jc"), &named("j")), at).await
}

fn refused(result: Result<Redriven, AppError>) -> String {
    match result {
        Err(AppError::Refused(refusal)) => {
            assert_eq!(refusal.code, Code::OccurrenceMended);
            refusal.message
        }
        other => panic!("{other:?}"),
    }
}

/// The occurrences in the list of failures.
async fn listed(world: &World) -> Vec<String> {
    let failures = world.failures(instant("2027-03-01T00:00")).await;
    failures.iter().map(|failed| super::world::short(failed.nominal_at)).collect()
}

#[tokio::test]
async fn a_failure_is_repeated_once_and_leaves_the_list_when_it_is_mended() {
    let daily = json!({"recurrence": {"frequency": "day"}});
    let mut world = failed(0, daily).await;
    assert_eq!(listed(&world).await, ["01 10:00"]);
    let first = redrive(&world).await.unwrap();
    for _ in 0..5 {
        assert_eq!(redrive(&world).await.unwrap(), first);
    }
    world.run_until("2027-03-01T10:06").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:05"]);
    assert_eq!(listed(&world).await, [""; 0]);
    let message = refused(redrive(&world).await);
    assert!(message.contains("was mended by the redrive of 2027-03-01T10:05:00Z"), "{message}");
}

/// The callers of attempts at runs, with the numbers of retries, the newest first.
async fn callers(world: &World) -> Vec<(u32, Option<String>)> {
    let page = PageRequest { from: None, items_max: 50 };
    let (place, jc, j) = (place(), named("jc"), named("j"));
    let found = world.manage.list_history((&place, &jc, &j), page).await.unwrap();
    let attempts = found.items.into_iter().map(|view| view.attempt);
    attempts.map(|attempt| (attempt.number, attempt.asked_by)).collect()
}

#[tokio::test]
async fn history_and_journal_say_who_asked_for_a_run() {
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT20M", "retryCount": 1});
    let job = json!({"recurrence": {"frequency": "day"}, "action": {"retryPolicy": retry}});
    let mut world = failed(1, job).await;
    world.run_until("2027-03-01T10:30").await;
    let as_caller = |who: &str| {
        let author = Author { who: who.to_owned(), request_id: format!("r-{who}") };
        world.manage.on_behalf_of(author)
    };
    let (place, jc, j, at) = (place(), named("jc"), named("j"), instant("2027-03-01T10:00"));
    world.targets.next("http://j/", &[Fail, Succeed]);
    let (ops, shop) = (as_caller("ops"), as_caller("shop"));
    ops.redrive_occurrence((&place, &jc, &j), at).await.unwrap();
    // The redrive is the first caller's.
    shop.redrive_occurrence((&place, &jc, &j), at).await.unwrap();
    // Its retry is so late that it waits in a timer.
    world.run_until("2027-03-01T11:00").await;
    shop.run_job((&place, &jc, &j)).await.unwrap();
    world.run_until("2027-03-01T11:05").await;
    let by = |who: &str| Some(who.to_owned());
    assert_eq!(
        callers(&world).await,
        [(0, by("shop")), (1, by("ops")), (0, by("ops")), (1, None), (0, None)]
    );
    let page = PageRequest { from: None, items_max: 50 };
    let journal = world.manage.list_journal(&place, &jc, page).await.unwrap().items;
    let runs = journal.iter().filter_map(|entry| Some((entry, entry.run?)));
    let runs: Vec<_> =
        runs.map(|(entry, run)| (entry.who.as_str(), entry.operation, run.redrive_of)).collect();
    assert_eq!(
        runs,
        [
            ("shop", Operation::Ran, None),
            ("shop", Operation::Redriven, Some(at)),
            ("ops", Operation::Redriven, Some(at)),
        ]
    );
}

#[tokio::test]
async fn a_redrive_that_failed_is_followed_by_another_one() {
    let daily = json!({"recurrence": {"frequency": "day"}});
    let mut world = failed(1, daily).await;
    let first = redrive(&world).await.unwrap();
    world.run_until("2027-03-01T10:06").await;
    // The redrive is not listed beside what it repeats.
    assert_eq!(listed(&world).await, ["01 10:00"]);
    let second = redrive(&world).await.unwrap();
    assert_ne!(second, first);
    assert_eq!(redrive(&world).await.unwrap(), second);
    world.run_until("2027-03-01T10:07").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:05", "01 10:06"]);
    assert_eq!(listed(&world).await, [""; 0]);
}

#[tokio::test]
async fn a_redrive_whose_message_is_lost_is_sent_again() {
    let daily = json!({"recurrence": {"frequency": "day"}});
    let mut world = failed(0, daily).await;
    let first = redrive(&world).await.unwrap();
    world.lose_all();
    assert_eq!(redrive(&world).await.unwrap(), first);
    world.run_until("2027-03-01T10:06").await;
    assert_eq!(world.calls("http://j/"), ["01 10:00", "01 10:05"]);
}

#[tokio::test]
async fn a_finished_job_is_repeated_and_stays_as_it_is() {
    let mut world = failed(0, json!({})).await;
    assert_eq!(world.status("j").await, status("faulted").executions(1).failures(1).faulted(1));
    let expires_at = world.record("j").await.expires_at;
    redrive(&world).await.unwrap();
    world.call_run("j").await;
    world.run_until("2027-03-01T10:10").await;
    assert_eq!(world.calls("http://j/").len(), 3);
    assert_eq!(world.status("j").await, status("faulted").executions(3).failures(1).faulted(1));
    assert_eq!(world.record("j").await.expires_at, expires_at);
    assert_eq!(listed(&world).await, [""; 0]);
}

#[tokio::test]
async fn a_run_with_a_key_runs_once_however_its_job_changes_meanwhile() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", json!({"startTime": "2027-03-05T10:00"})).await;
    let key = IdempotencyKey::read("once").unwrap();
    for _ in 0..3 {
        world.manage.run_job_once((&place(), &named("jc"), &named("j")), &key).await.unwrap();
        world.patch("j", json!({"startTime": "2027-03-06T10:00"})).await;
        world.run_for(chrono::TimeDelta::minutes(5)).await;
    }
    assert_eq!(world.calls("http://j/"), ["01 09:00"]);
    assert_eq!(world.status("j").await, status("enabled").executions(1));
    // A day later the key stands for nothing.
    world.run_until("2027-03-02T09:20").await;
    world.manage.run_job_once((&place(), &named("jc"), &named("j")), &key).await.unwrap();
    world.run_until("2027-03-02T09:30").await;
    assert_eq!(world.calls("http://j/").len(), 2);
}
