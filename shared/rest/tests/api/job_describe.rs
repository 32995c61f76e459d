//! `GET /minutehand/v1/…/jobs/{jobName}`.

use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::JobState;
use minutehand_domain::recent::LastSkip;
use minutehand_ports::store::CountersAdd;
use serde_json::{Value, json};

use crate::support::{Answer, Api, JOB, NO_PARENT};

const PATH: &str = "/minutehand/v1/subscriptions/s1/resourceGroups/rg/jobCollections";

fn describe(api: &Api, path: &str) -> Answer {
    api.send("GET", &format!("{PATH}{path}"), &[], "")
}

fn reasons(described: &Value) -> Vec<(&str, &str)> {
    let reasons = described["notFiring"].as_array().unwrap().iter();
    reasons.map(|it| (it["reason"].as_str().unwrap(), it["message"].as_str().unwrap())).collect()
}

#[test]
fn a_job_is_described_with_its_document() {
    let api = Api::with_collection();
    let job = JOB.replace(
        r#""action""#,
        r#""recurrence":{"frequency":"day","schedule":{"hours":[9]}},"action""#,
    );
    assert_eq!(api.put("/C1/jobs/J1", &job).status, 201);
    let mut described = describe(&api, "/c1/JOBS/j1").json();
    let uid = described["uid"].take();
    assert!(uid.as_str().unwrap().starts_with("id"), "{uid}");
    assert_eq!(
        described,
        json!({
            "path": "S1/RG/C1/J1",
            "id": "/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1",
            "uid": null,
            "state": "enabled",
            "since": "2016-03-30T20:40:34Z",
            "collection": {"name": "C1", "state": "Enabled", "since": "2016-03-30T20:40:34Z"},
            "sentence": "every day at 09:40:34 UTC (minute 40 and second 34 are taken from the start); without a startTime, the first run is at 2016-03-30 20:40:34 UTC",
            "anchor": "2016-03-30T20:40:34Z",
            "next": "2016-03-30T20:40:34Z",
            "notFiring": [],
            "last": null,
            "executions": 0,
            "failures": 0,
            "faulted": 0,
            "skipped": 0,
            "recent": "",
            "lastSkip": null,
            "tookMs": null,
            "present": [],
            "properties": {
                "action": {"request": {"uri": "http://example.org", "method": "GET"}, "type": "Http"},
                "recurrence": {"frequency": "day", "interval": 1, "schedule": {"hours": [9]}},
                "state": "enabled",
            },
        })
    );
}

#[test]
fn every_reason_says_what_to_do() {
    let api = Api::with_job();
    assert_eq!(reasons(&describe(&api, "/C1/jobs/J1").json()), []);
    api.ask("POST", "/C1/disable", "");
    api.ask("PATCH", "/C1/jobs/J1", r#"{"properties":{"state":"disabled"}}"#);
    let described = describe(&api, "/C1/jobs/J1").json();
    let expected = [
        (
            "collectionOff",
            "The job collection 'C1' is disabled since 2016-03-30T20:40:34Z. Enable it.",
        ),
        (
            "jobDisabled",
            "The job is disabled since 2016-03-30T20:40:34Z. Set its 'state' to 'enabled'.",
        ),
    ];
    assert_eq!(reasons(&described), expected);
    assert_eq!(
        (&described["next"], &described["collection"]["state"]),
        (&Value::Null, &json!("Disabled"))
    );

    let api = Api::with_job();
    api.count(CountersAdd {
        executions: 1,
        last_execution_at: Some(crate::support::now()),
        ..CountersAdd::default()
    });
    let described = describe(&api, "/C1/jobs/J1").json();
    // Within the same instant the occurrence is still the next one.
    assert_eq!(
        (described["executions"].as_u64(), &described["last"]),
        (Some(1), &json!("2016-03-30T20:40:34Z"))
    );
    api.finish(JobState::Faulted);
    let described = describe(&api, "/C1/jobs/J1").json();
    let [("jobFinished", message)] = reasons(&described)[..] else { panic!("{described}") };
    assert!(
        message.starts_with("The job is faulted since ")
            && message.ends_with(". Delete it and create it again."),
        "{message}"
    );
}

#[test]
fn the_last_results_and_the_last_skip_are_described() {
    let api = Api::with_job();
    let at = |day: u32| format!("2016-03-{day}T09:00:00Z").parse().unwrap();
    let skip =
        LastSkip { first: at(10), last: at(12), occurrences: 3, reason: SkipReason::Overtaken };
    api.count(CountersAdd { skipped: 3, ..CountersAdd::skipped(skip) });
    let described = describe(&api, "/C1/jobs/J1").json();
    assert_eq!(described["recent"], "sss");
    assert_eq!(
        described["lastSkip"],
        json!({"from": "2016-03-10T09:00:00Z", "to": "2016-03-12T09:00:00Z", "occurrences": 3,
               "reason": "overtaken"})
    );
}

#[test]
fn an_answer_that_the_client_has_is_not_sent_again() {
    let api = Api::with_job();
    let first = describe(&api, "/C1/jobs/J1");
    let tag = first.header("etag").unwrap();
    assert!(tag.len() == 34 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    let ask = |known: &str| {
        api.send("GET", &format!("{PATH}/C1/jobs/J1"), &[("if-none-match", known)], "")
    };
    for known in [tag, &format!("W/{tag}"), &format!("\"other\", {tag}")] {
        let again = ask(known);
        again.is(304, "");
        assert_eq!(again.header("etag"), Some(tag));
    }
    assert_eq!(ask("\"other\"").body, first.body);
    api.ask("PATCH", "/C1/jobs/J1", r#"{"properties":{"state":"disabled"}}"#);
    assert_eq!(ask(tag).status, 200);
}

#[test]
fn a_missing_job_and_a_missing_collection_are_told_apart() {
    let api = Api::with_collection();
    describe(&api, "/C1/jobs/nope").fails(404, "NotFound", "Job 'nope' cannot be found.");
    let no_parent = NO_PARENT.replace("'RG'", "'rg'");
    describe(&api, "/nope/jobs/J1").fails(404, "ResourceNotFound", &no_parent);
}

#[test]
fn secrets_are_not_described() {
    let api = Api::with_collection();
    let job = JOB.replace(
        r#""method":"GET""#,
        r#""method":"GET","authentication":{"type":"Basic","username":"u","password":"hunter2"}"#,
    );
    assert_eq!(api.put("/C1/jobs/J1", &job).status, 201);
    let described = describe(&api, "/C1/jobs/J1");
    assert!(described.body.contains(r#""username":"u""#) && !described.body.contains("hunter2"));
}
