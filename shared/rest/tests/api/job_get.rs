//! `Jobs_Get`.

use minutehand_domain::job::JobState;
use minutehand_ports::store::CountersAdd;

use crate::support::{Api, GROUP, JOB, VERSION};

#[test]
fn answers_keep_the_names_as_they_were_first_spelled() {
    Api::with_job().get("/c1/JOBS/j1").is(
        200,
        concat!(
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1","#,
            r#""type":"Microsoft.Scheduler/jobCollections/jobs","name":"C1/J1","properties":{"#,
            r#""action":{"request":{"uri":"http://example.org","method":"GET"},"type":"Http"},"state":"enabled","#,
            r#""status":{"nextExecutionTime":"2016-03-30T20:40:34Z","executionCount":0,"failureCount":0,"faultedCount":0}}}"#,
        ),
    );
}

#[test]
fn the_status_has_the_counters_in_the_recorded_order() {
    let api = Api::with_job();
    api.finish(JobState::Completed);
    let last_execution_at = chrono::DateTime::from_timestamp_millis(1_459_000_000_250);
    api.count(CountersAdd {
        executions: 3,
        failures: 2,
        faulted: 1,
        last_execution_at,
        ..CountersAdd::default()
    });
    let properties = &api.get("/C1/jobs/J1").json()["properties"];
    assert_eq!(
        properties["status"].to_string(),
        r#"{"lastExecutionTime":"2016-03-26T13:46:40.25Z","executionCount":3,"failureCount":2,"faultedCount":1}"#
    );
    assert_eq!(properties["state"], "completed");
}

#[test]
fn the_status_counts_skipped_occurrences_if_there_are_any() {
    let api = Api::with_job();
    api.count(CountersAdd { skipped: 7, ..CountersAdd::default() });
    let status = &api.get("/C1/jobs/J1").json()["properties"]["status"];
    let end = r#""faultedCount":0,"skippedCount":7}"#;
    assert!(status.to_string().ends_with(end), "{status}");
}

#[test]
fn durations_have_the_form_that_the_client_library_reads() {
    let api = Api::with_collection();
    let job = JOB.replace(
        r#""type":"Http""#,
        r#""type":"Http","retryPolicy":{"retryType":"Fixed","retryInterval":"PT1M"}"#,
    );
    api.put("/C1/jobs/J1", &job);
    let sdk_7 = "azsdk-python-mgmt-scheduler/7.0.0 Python/3.12.3";
    let sdk_2 = "python/3.12.3 msrest/0.6.21 azure-mgmt-scheduler/2.0.0";
    for (client, alone, listed) in
        [(sdk_7, "PT1M", "PT1M"), (sdk_2, "00:01:00", "PT1M"), ("curl/8", "00:01:00", "00:01:00")]
    {
        let interval = |path: &str, pointer: &str| {
            let target = format!("{GROUP}/C1/jobs{path}?{VERSION}");
            let answer = api.send("GET", &target, &[("user-agent", client)], "").json();
            let job = answer.pointer(pointer).unwrap();
            job["properties"]["action"]["retryPolicy"]["retryInterval"].clone()
        };
        assert_eq!((interval("/J1", "")).as_str(), Some(alone), "{client}");
        assert_eq!((interval("", "/value/0")).as_str(), Some(listed), "{client}");
    }
}

#[test]
fn a_missing_job_and_a_missing_collection_are_not_found() {
    let api = Api::with_collection();
    api.get("/C1/jobs/nope").fails(404, "NotFound", "Job 'nope' cannot be found.");
    // As the original answered it.
    api.get("/nope/jobs/J1").fails(404, "NotFound", "Job 'J1' cannot be found.");
}
