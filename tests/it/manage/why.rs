//! What became of an occurrence, asked through HTTP.

use axum::Router;
use chrono::TimeDelta;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::cause::Cause;
use minutehand_domain::firing::{LeftOut, LeftOutReason, Outage, Pulse};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, PulseOf, Recorded};
use minutehand_ports::{Attempts, Collections, Jobs, Pulses};
use serde_json::{Value, json};

use super::api::{COLLECTION, api, ask, group};
use super::world::{World, instant, named};

const NOW: &str = "2027-03-01T12:00:00Z";
pub(super) const JOB: &str =
    "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/jc/jobs/j";

pub(super) async fn world() -> (World, Router) {
    let world = World::at(NOW).await;
    let api = api(&world);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    let job = r#"{"properties":{"startTime":"2027-03-01","recurrence":{"frequency":"day","schedule":{"hours":[9],"minutes":[0]}},"action":{"type":"Http","request":{"uri":"http://x","method":"GET"},"retryPolicy":{"retryType":"fixed","retryInterval":"PT1M","retryCount":1}}}}"#;
    assert_eq!(ask(&api, "PUT", &format!("{COLLECTION}/jobs/j"), job).await.0, 201);
    (world, api)
}

async fn why(api: &Router, at: &str) -> Value {
    let (status, text) = ask(api, "GET", &format!("{JOB}/why?at={at}"), "").await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

async fn job_ref(world: &World) -> JobRef {
    let store = world.store.as_ref();
    let found = Collections::find(store, &group(), &named("jc")).await.unwrap().unwrap();
    let collection_uid = found.collection.uid;
    let job = Jobs::find(store, &collection_uid, &named("j")).await.unwrap().unwrap();
    JobRef { uid: job.uid, collection_uid, key: job.name.key() }
}

/// Claims the first attempt or a retry of an occurrence, and records how it ended.
pub(super) async fn execute(
    world: &World,
    nominal_at: &str,
    number: u32,
    outcome: Option<Outcome>,
) {
    let store = world.store.as_ref();
    let job = job_ref(world).await;
    let first = Attempt::first(0, Occurrence::Scheduled { nominal_at: instant(nominal_at) });
    let started_at = first.due_at + TimeDelta::minutes(number.into());
    let attempt = Attempt { number, due_at: started_at, ..first };
    let ended_at = started_at + TimeDelta::seconds(1);
    let claim = Claim { job, attempt, claim_id: "c".to_owned(), lease_until: ended_at };
    let request = ClaimRequest { claim: claim.clone(), now: started_at };
    assert_eq!(store.claim(&request).await.unwrap(), Claimed::Won);
    if let Some(outcome) = outcome {
        let cause = (outcome == Outcome::Failed).then(|| Cause::http(500));
        let record = Record { cause, ..Record::new([started_at, ended_at], outcome, "m") };
        assert_eq!(store.record(&claim, &record).await.unwrap(), Recorded::Kept);
    }
}

#[tokio::test]
async fn each_occurrence_is_explained_by_what_is_stored() {
    let (world, api) = world().await;
    execute(&world, "2027-03-02T09:00", 0, Some(Outcome::Succeeded)).await;
    execute(&world, "2027-03-03T09:00", 0, Some(Outcome::Failed)).await;
    execute(&world, "2027-03-03T09:00", 1, Some(Outcome::Failed)).await;
    execute(&world, "2027-03-04T09:00", 0, Some(Outcome::Failed)).await;
    execute(&world, "2027-03-05T09:00", 0, None).await;
    let outage = Outage { from: instant("2027-03-06T08:00"), until: instant("2027-03-07T10:00") };
    let nominal_at = instant("2027-03-06T09:00");
    let left_out = LeftOut::one(0, nominal_at, LeftOutReason::Outage(outage), outage.until);
    let uid = job_ref(&world).await.uid;
    world.store.leave_out(&uid, &left_out).await.unwrap();
    for of in [PulseOf::Sweepers, PulseOf::Workers] {
        let beat_at = Some(instant("2027-03-10T11:59"));
        let pulse = Pulse { beat_at, outages: vec![outage], ..Pulse::default() };
        assert!(world.store.beat(of, None, &pulse).await.unwrap());
    }
    world.now_is("2027-03-10T12:00:00Z");
    for (at, verdict, sentence) in [
        ("2027-03-02T09:00", "fired", "It fired on time."),
        (
            "2027-03-03T09:00",
            "failed",
            "It fired and failed 2 times: HTTP 500, after 1.0 s. The last attempt ended at 2027-03-03 09:01:01 UTC.",
        ),
        (
            "2027-03-04T09:00",
            "retrying",
            "It failed: HTTP 500, after 1.0 s. Retry 1 is due at 2027-03-04 09:01:01 UTC.",
        ),
        ("2027-03-05T09:00", "underWay", "Its attempt is under way."),
        (
            "2027-03-06T09:00",
            "overtaken",
            "It was left out: nothing worked from 2027-03-06 08:00:00 UTC to 2027-03-07 10:00:00 UTC, and \
             by then the next occurrence was due.",
        ),
        ("2027-03-08T10:00", "notScheduled", "The recurrence does not yield this instant."),
        ("2027-03-11T09:00", "notYet", "It is not due yet."),
        (
            "2027-02-28T09:00",
            "notCreated",
            "The job did not exist yet: it was created at 2027-03-01 12:00:00 UTC.",
        ),
    ] {
        let found = why(&api, at).await;
        assert_eq!(
            (&found["verdict"], &found["sentence"]),
            (&json!(verdict), &json!(sentence)),
            "{at}"
        );
    }
    let found = why(&api, "2027-03-06T09:00").await;
    assert_eq!(
        found["near"],
        json!({"before": "2027-03-05T09:00:00Z", "after": "2027-03-07T09:00:00Z"})
    );
    let kinds: Vec<&Value> =
        found["evidence"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["timing", "outage"]);
    let (status, text) = ask(&api, "GET", &format!("{JOB}/why"), "").await;
    let newest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &newest["verdict"]), (200, &json!("overtaken")), "{text}");
    let sentence = newest["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("2027-03-06 09:00:00 UTC: It was left out"), "{sentence}");
    assert!(sentence.ends_with(" It fires next at 2027-03-11 09:00:00 UTC."), "{sentence}");
    let failed = why(&api, "2027-03-03T09:00").await;
    assert_eq!(failed["cause"], json!({"kind": "httpStatus", "text": "HTTP 500"}));
    // Switched off, the job has a reason of its own.
    let off = r#"{"properties":{"state":"disabled"}}"#;
    assert_eq!(ask(&api, "PATCH", &format!("{COLLECTION}/jobs/j"), off).await.0, 200);
    assert_eq!(why(&api, "2027-03-11T09:00").await["verdict"], "jobOff");
}

#[tokio::test]
async fn without_an_instant_a_job_that_went_well_says_so_or_why_it_does_not_fire() {
    let (world, api) = world().await;
    execute(&world, "2027-03-02T09:00", 0, Some(Outcome::Succeeded)).await;
    world.now_is("2027-03-02T12:00:00Z");
    let newest = async || {
        let (_, text) = ask(&api, "GET", &format!("{JOB}/why"), "").await;
        let found: Value = serde_json::from_str(&text).unwrap();
        (found["verdict"].clone(), found["sentence"].as_str().unwrap().to_owned())
    };
    let well = "Nothing has gone wrong of late. It fires next at 2027-03-03 09:00:00 UTC.";
    assert_eq!(newest().await, (json!("well"), well.to_owned()));
    let off = r#"{"properties":{"state":"disabled"}}"#;
    assert_eq!(ask(&api, "PATCH", &format!("{COLLECTION}/jobs/j"), off).await.0, 200);
    let (verdict, sentence) = newest().await;
    assert_eq!(verdict, "notFiring");
    assert!(sentence.contains("The job is disabled since 2027-03-02T12:00:00Z."), "{sentence}");
}

#[tokio::test]
async fn what_was_left_out_for_a_forgotten_outage_is_recorded() {
    let (world, api) = world().await;
    for of in [PulseOf::Sweepers, PulseOf::Workers] {
        let pulse = Pulse { beat_at: Some(instant("2027-03-10T11:59")), ..Pulse::default() };
        assert!(world.store.beat(of, None, &pulse).await.unwrap());
    }
    let uid = job_ref(&world).await.uid;
    let outage = Outage { from: instant("2027-03-06T08:00"), until: instant("2027-03-08T10:00") };
    let left_out = LeftOut {
        generation: 0,
        first: instant("2027-03-06T09:00"),
        last: instant("2027-03-07T09:00"),
        occurrences: 2,
        reason: LeftOutReason::Outage(outage),
        at: outage.until,
    };
    Attempts::leave_out(world.store.as_ref(), &uid, &left_out).await.unwrap();
    world.now_is("2027-03-10T12:00:00Z");
    for (at, verdict) in [
        ("2027-03-06T09:00", "overtaken"),
        ("2027-03-07T09:00", "overtaken"),
        ("2027-03-07T10:00", "notScheduled"),
        // Of this one there is no trace.
        ("2027-03-08T09:00", "lost"),
    ] {
        assert_eq!(why(&api, at).await["verdict"], verdict, "{at}");
    }
    let sentence = "It was left out: nothing worked from 2027-03-06 08:00:00 UTC to 2027-03-08 10:00:00 UTC, \
                    and by then the next occurrence was due.";
    assert_eq!(why(&api, "2027-03-07T09:00").await["sentence"], sentence);
}

#[tokio::test]
async fn an_earlier_timing_explains_its_occurrences() {
    let (world, api) = world().await;
    for of in [PulseOf::Sweepers, PulseOf::Workers] {
        let pulse = Pulse { beat_at: Some(instant("2027-03-20T11:59")), ..Pulse::default() };
        assert!(world.store.beat(of, None, &pulse).await.unwrap());
    }
    let changes = [
        ("2027-03-05T09:00:30Z", r#"{"properties":{"state":"disabled"}}"#),
        ("2027-03-10T12:00:00Z", r#"{"properties":{"state":"enabled"}}"#),
        (
            "2027-03-12T12:00:00Z",
            r#"{"properties":{"recurrence":{"frequency":"day","schedule":{"hours":[10],"minutes":[0]}}}}"#,
        ),
    ];
    for (now, change) in changes {
        world.now_is(now);
        assert_eq!(ask(&api, "PATCH", &format!("{COLLECTION}/jobs/j"), change).await.0, 200);
    }
    world.now_is("2027-03-20T12:00:00Z");
    for (at, verdict, sentence) in [
        (
            "2027-03-01T09:00",
            "notCreated",
            "The job did not exist yet: it was created at 2027-03-01 12:00:00 UTC.",
        ),
        (
            "2027-03-04T10:00",
            "otherTiming",
            "Until 2027-03-05 09:00:30 UTC the job had another timing ('every day at 09:00 UTC'), \
             which does not yield this instant.",
        ),
        (
            "2027-03-05T09:00",
            "superseded",
            "It was due, and the job was changed at 2027-03-05 09:00:30 UTC before it ran.",
        ),
        (
            "2027-03-07T09:00",
            "jobOff",
            "The job was disabled from 2027-03-05 09:00:30 UTC to 2027-03-10 12:00:00 UTC.",
        ),
        (
            "2027-03-12T10:00",
            "otherTiming",
            "Until 2027-03-12 12:00:00 UTC the job had another timing ('every day at 09:00 UTC'), \
             which does not yield this instant.",
        ),
        ("2027-03-14T09:00", "notScheduled", "The recurrence does not yield this instant."),
    ] {
        let found = why(&api, at).await;
        assert_eq!(
            (&found["verdict"], &found["sentence"]),
            (&json!(verdict), &json!(sentence)),
            "{at}"
        );
    }
    let found = why(&api, "2027-03-07T09:00").await;
    assert_eq!(found["evidence"][0]["text"], "the job was disabled");
}

#[tokio::test]
async fn an_earlier_timing_with_extra_dates_is_known() {
    let (world, api) = world().await;
    let path = format!("{COLLECTION}/jobs/j");
    let change = async |properties: &str| {
        let body = format!(r#"{{"properties":{{{properties}}}}}"#);
        assert_eq!(ask(&api, "PATCH", &path, &body).await.0, 200);
    };
    change(r#""minutehand":{"extraDates":["2027-03-02T15:00:00Z"]}"#).await;
    world.now_is("2027-03-03T12:00:00Z");
    change(r#""state":"Disabled""#).await;
    change(r#""state":"Enabled""#).await;
    // It has the dates of the timing that it has.
    assert_eq!(why(&api, "2027-03-02T15:00").await["verdict"], "superseded");
    assert_eq!(why(&api, "2027-03-02T16:00").await["verdict"], "otherTiming");
    change(r#""minutehand":{"extraDates":["2027-03-09T15:00:00Z"]}"#).await;
    assert_eq!(why(&api, "2027-03-02T15:00").await["verdict"], "timingChanged");
}
