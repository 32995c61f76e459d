//! What targets are told: values in templates, what was missed, and how deep a chain of jobs is.

use minutehand_app::{AppError, Manage};
use minutehand_domain::chain::Depth;
use minutehand_domain::missed::Missed;
use minutehand_domain::refusal::Code;
use serde_json::{Value, json};

use super::target::Behaviour::{Fail, Succeed};
use super::target::Call;
use super::world::{World, instant, named, place};

/// An hourly job that tries once, with a body and without templates.
fn hourly() -> Value {
    json!({
        "startTime": "2027-03-01T10:00",
        "recurrence": {"frequency": "hour", "timeZone": "Europe/Berlin"},
        "action": {
            "type": "Http",
            "request": {"uri": "http://j/", "method": "GET"},
            "retryPolicy": {"retryType": "none"},
        },
    })
}

/// The same with templates in its body, and in that of its error action.
fn templated() -> Value {
    let mut job = hourly();
    job["minutehand"] = json!({"template": true});
    job["action"]["request"] = json!({"uri": "http://j/", "method": "POST", "body": json!({
        "job": "{{collection}}/{{job}}", "at": "{{occurrence}}", "local": "{{occurrence:local}}",
        "before": "{{previousOccurrence}}", "due": "{{scheduledTime}}", "attempt": "{{attempt}}",
        "id": "{{executionId}}", "missed": "{{missed}}", "since": "{{missedSince}}",
        "success": "{{lastSuccess}}",
    }).to_string()});
    job["action"]["errorAction"] = json!({"type": "Http", "request": {
        "uri": "http://err/", "method": "POST", "body": "{{cause}} at {{occurrence:date}}"}});
    job
}

async fn put(world: &World, job: Value) {
    let body = json!({"properties": job});
    world.manage.put_job((&place(), &named("jc"), &named("j")), body).await.unwrap();
}

fn calls_of(world: &World, uri: &str) -> Vec<Call> {
    world.targets.calls().into_iter().filter(|call| call.uri == uri).collect()
}

/// The bodies of the calls of a job, as JSON.
fn bodies(world: &World) -> Vec<Value> {
    let calls = calls_of(world, "http://j/");
    calls
        .iter()
        .map(|it| serde_json::from_str(it.request.body.as_ref().unwrap()).unwrap())
        .collect()
}

#[tokio::test]
async fn names_in_templates_become_values() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.next("http://j/", &[Succeed, Fail, Succeed]);
    put(&world, templated()).await;
    world.run_until("2027-03-01T12:30").await;
    let bodies = bodies(&world);
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0]["job"], "jc/j");
    assert_eq!(bodies[0]["before"], "");
    assert_eq!(bodies[0]["success"], "");
    let last = &bodies[2];
    let id = calls_of(&world, "http://j/")[2].context.execution_id.clone();
    let expected = json!({
        "job": "jc/j", "at": "2027-03-01T12:00:00Z", "local": "2027-03-01T13:00:00+01:00",
        "before": "2027-03-01T11:00:00Z", "due": "2027-03-01T12:00:00Z", "attempt": "1", "id": id,
        "missed": "1", "since": "2027-03-01T11:00:00Z", "success": "2027-03-01T10:00:00Z",
    });
    assert_eq!(*last, expected);
    let errors = calls_of(&world, "http://err/");
    assert_eq!(errors.len(), 1);
    let body = errors[0].request.body.as_deref().unwrap();
    assert!(body.ends_with(" at 2027-03-01") && !body.starts_with(' '), "{body}");
}

#[tokio::test]
async fn a_redrive_is_told_the_occurrence_that_it_repeats() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.next("http://j/", &[Fail]);
    put(&world, templated()).await;
    world.run_until("2027-03-01T10:30").await;
    let at = instant("2027-03-01T10:00");
    world.manage.redrive_occurrence((&place(), &named("jc"), &named("j")), at).await.unwrap();
    world.run_until("2027-03-01T10:40").await;
    let bodies = bodies(&world);
    assert_eq!(bodies[1]["at"], "2027-03-01T10:00:00Z");
    assert_eq!(
        (&bodies[1]["missed"], &bodies[1]["since"]),
        (&json!("1"), &json!("2027-03-01T10:00:00Z"))
    );
    assert_eq!(bodies[1]["due"], "2027-03-01T10:30:00Z");
}

#[tokio::test]
async fn every_target_is_told_what_was_missed() {
    let mut world = World::at("2027-03-01T09:59").await;
    world.targets.next("http://j/", &[Succeed, Fail, Fail, Succeed, Succeed]);
    put(&world, hourly()).await;
    world.run_until("2027-03-01T14:30").await;
    let told: Vec<Missed> =
        calls_of(&world, "http://j/").iter().map(|call| call.context.missed).collect();
    let missed = |occurrences, since: Option<&str>, last_success: Option<&str>| Missed {
        occurrences,
        since: since.map(instant),
        last_success: last_success.map(instant),
    };
    let (ten, eleven, one) = ("2027-03-01T10:00", "2027-03-01T11:00", "2027-03-01T13:00");
    assert_eq!(
        told,
        [
            missed(0, None, None),
            missed(0, None, Some(ten)),
            missed(1, Some(eleven), Some(ten)),
            missed(2, Some(eleven), Some(ten)),
            missed(0, None, Some(one)),
        ]
    );
}

#[tokio::test]
async fn occurrences_of_an_outage_are_missed() {
    let mut world = World::at("2027-03-01T09:59").await;
    let mut job = hourly();
    job["minutehand"] = json!({"catchUp": {"policy": "none"}});
    put(&world, job).await;
    world.run_until("2027-03-01T10:30").await;
    (world.sweeper_running, world.worker_running) = (false, false);
    world.run_until("2027-03-01T13:30").await;
    (world.sweeper_running, world.worker_running) = (true, true);
    world.run_until("2027-03-01T14:30").await;
    let calls = calls_of(&world, "http://j/");
    let Missed { occurrences, since, last_success } = calls.last().unwrap().context.missed;
    assert_eq!(occurrences, world.counters("j").await.skipped);
    assert_eq!(
        (since, last_success),
        (Some(instant("2027-03-01T11:00")), Some(instant("2027-03-01T10:00")))
    );
}

#[tokio::test]
async fn a_chain_of_jobs_that_ask_for_each_other_ends() {
    let mut world = World::at("2027-03-01T09:00").await;
    world.put("j", json!({"state": "Disabled", "recurrence": {"frequency": "day"}})).await;
    let mut depth = Depth::default();
    let mut runs = 0;
    // As the job would, whose action runs the job itself.
    let refusal = loop {
        let manage = world.manage.clone().at_depth(depth);
        match manage.run_job((&place(), &named("jc"), &named("j"))).await {
            Ok(()) => runs += 1,
            Err(AppError::Refused(refusal)) => break refusal,
            Err(error) => panic!("{error}"),
        }
        world.run_for(chrono::TimeDelta::minutes(1)).await;
        let calls = calls_of(&world, "http://j/");
        assert_eq!(calls.len(), runs);
        depth = calls.last().unwrap().context.depth;
    };
    assert_eq!((refusal.code, runs), (Code::ChainTooDeep, 9), "a user's, and eight more");
}

#[tokio::test]
async fn a_job_that_a_job_has_put_is_as_deep_as_the_request() {
    let mut world = World::at("2027-03-01T09:00").await;
    let job = |minute| {
        let request = json!({"uri": "http://j/", "method": "GET"});
        json!({"properties": {"startTime": format!("2027-03-01T10:{minute:02}"),
            "action": {"type": "Http", "request": request}}})
    };
    let put_by = |manage: Manage, minute: u32| async move {
        manage.put_job((&place(), &named("jc"), &named("j")), job(minute)).await
    };
    put_by(world.manage.clone().at_depth(Depth::new(3)), 0).await.unwrap();
    world.run_until("2027-03-01T10:00:30").await;
    assert_eq!(calls_of(&world, "http://j/")[0].context.depth, Depth::new(4));
    let too_deep = put_by(world.manage.clone().at_depth(Depth::new(9)), 5).await;
    assert!(matches!(too_deep, Err(AppError::Refused(it)) if it.code == Code::ChainTooDeep));
    world.delete("j").await;
    // One that a user puts begins anew.
    put_by(world.manage.clone(), 10).await.unwrap();
    world.run_until("2027-03-01T10:10:30").await;
    assert_eq!(calls_of(&world, "http://j/")[1].context.depth, Depth::new(1));
}
