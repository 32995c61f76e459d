//! `Jobs_Patch`.

use crate::support::{Api, NO_PARENT};

#[test]
fn a_patch_changes_the_properties_that_it_contains() {
    let api = Api::with_job();
    let patch = r#"{"properties":{"startTime":"2016-07-14T00:00:00Z","recurrence":{"frequency":"Day","interval":2}}}"#;
    api.ask("PATCH", "/C1/jobs/J1", patch).is(
        200,
        concat!(
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/J1","#,
            r#""type":"Microsoft.Scheduler/jobCollections/jobs","name":"C1/J1","properties":{"#,
            r#""startTime":"2016-07-14T00:00:00Z","#,
            r#""action":{"request":{"uri":"http://example.org","method":"GET"},"type":"Http"},"#,
            r#""recurrence":{"frequency":"day","interval":2},"state":"enabled","#,
            r#""status":{"nextExecutionTime":"2016-07-14T00:00:00Z","executionCount":0,"failureCount":0,"faultedCount":0}}}"#,
        ),
    );
}

#[test]
fn a_missing_job_is_not_created() {
    let api = Api::with_collection();
    api.ask("PATCH", "/C1/jobs/nope", "{}").fails(404, "NotFound", "Job 'nope' cannot be found.");
    api.ask("PATCH", "/nope/jobs/J1", "{}").fails(404, "ResourceNotFound", NO_PARENT);
}

#[test]
fn invalid_json_changes_nothing() {
    let api = Api::with_job();
    let before = api.get("/C1/jobs/J1").body;
    let message = "The body is not valid JSON: EOF while parsing an object at line 1 column 1.";
    api.ask("PATCH", "/C1/jobs/J1", "{").fails(400, "InvalidRequestContent", message);
    api.get("/C1/jobs/J1").is(200, &before);
}
