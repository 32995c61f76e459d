//! `Jobs_CreateOrUpdate`.

use serde_json::{Value, json};

use crate::support::{Api, JOB, NO_PARENT};

/// From a recording of Azure.
const SENT: &str = r#"{"properties":{"startTime":"2015-07-13T00:00:00Z","action":{"type":"Http","request":{"authentication":{"username":"username","password":"pasworrd","type":"Basic"},"uri":"http://www.bing.com/","method":"GET","body":"some body message!","headers":{"content-type":"application/xml"}},"retryPolicy":{"retryType":"Fixed","retryInterval":"00:01:00","retryCount":2},"errorAction":{"type":"StorageQueue","queueMessage":{"storageAccount":"schedulersdktest","queueName":"queue1","sasToken":"ThIsiSmYtOke","message":"some message!"}}},"recurrence":{"frequency":"Week","interval":1,"count":10000,"endTime":"2020-10-10T10:10:10Z"},"state":"Enabled"}}"#;
const ANSWERED: &str = concat!(
    r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/j17571","#,
    r#""type":"Microsoft.Scheduler/jobCollections/jobs","name":"C1/j17571","properties":{"startTime":"2015-07-13T00:00:00Z","#,
    r#""action":{"request":{"uri":"http://www.bing.com/","method":"GET","headers":{"content-type":"application/xml"},"#,
    r#""body":"some body message!","authentication":{"username":"username","type":"Basic"}},"type":"Http","#,
    r#""retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":2},"errorAction":{"queueMessage":"#,
    r#"{"storageAccount":"schedulersdktest","queueName":"queue1","message":"some message!"},"type":"StorageQueue"}},"#,
    r#""recurrence":{"frequency":"week","count":10000,"endTime":"2020-10-10T10:10:10Z","interval":1},"state":"enabled","#,
    r#""status":{"nextExecutionTime":"2016-04-04T00:00:00Z","executionCount":0,"failureCount":0,"faultedCount":0}}}"#,
);

#[test]
fn creating_and_replacing_have_different_statuses() {
    let api = Api::with_collection();
    api.put("/C1/jobs/j17571", SENT).is(201, ANSWERED);
    api.put("/C1/jobs/J17571", SENT).is(200, ANSWERED);
}

#[test]
fn replacing_removes_missing_properties_and_a_disabled_job_has_no_status() {
    let api = Api::with_collection();
    api.put("/C1/jobs/j17571", SENT);
    let body = r#"{"properties":{"startTime":"2015-07-13T00:00:00Z","action":{"type":"Http","request":{"uri":"http://www.bing.com/","method":"GET"}},"state":"Disabled"}}"#;
    api.put("/C1/jobs/j17571", body).is(
        200,
        concat!(
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1/jobs/j17571","#,
            r#""type":"Microsoft.Scheduler/jobCollections/jobs","name":"C1/j17571","properties":{"startTime":"2015-07-13T00:00:00Z","#,
            r#""action":{"request":{"uri":"http://www.bing.com/","method":"GET"},"type":"Http"},"state":"disabled"}}"#,
        ),
    );
}

#[test]
fn occurrences_of_a_month_are_written_in_both_spellings() {
    let api = Api::with_collection();
    let body = JOB.replace(
        r#""properties":{"#,
        r#""properties":{"recurrence":{"frequency":"Month","schedule":{"monthlyOccurrences":[{"day":"Friday","Occurrence":-1},{"day":"Monday"}]}},"#,
    );
    let answer = api.put("/C1/jobs/J1", &body).json();
    assert_eq!(
        answer["properties"]["recurrence"].to_string(),
        r#"{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1,"Occurrence":-1},{"day":"monday"}]}}"#
    );
}

#[test]
fn an_answer_can_be_sent_back_unchanged() {
    let api = Api::with_collection();
    let body = JOB.replace(
        r#""properties":{"#,
        r#""properties":{"recurrence":{"frequency":"Month","schedule":{"monthlyOccurrences":[{"day":"Friday","Occurrence":-1}]}},"#,
    );
    let answer = api.put("/C1/jobs/J1", &body);
    api.put("/C1/jobs/J1", &answer.body).is(200, &answer.body);
}

#[test]
fn refusals_have_the_code_of_the_violated_rule() {
    let api = Api::with_collection();
    let fails = |body: &Value, status: u16, code: &str| {
        let answer = api.put("/C1/jobs/J1", &body.to_string());
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert_eq!(answer.json()["error"]["code"], code);
    };
    let job: Value = serde_json::from_str(JOB).unwrap();
    let with = |name: &str, value: Value| {
        let mut job = job.clone();
        job["properties"][name] = value;
        job
    };
    fails(&json!({}), 400, "BadRequest");
    fails(&with("state", json!("Completed")), 400, "BadRequest");
    let thirtieth_of_february =
        json!({"frequency": "month", "schedule": {"monthDays": [30], "months": [2]}});
    fails(&with("recurrence", thirtieth_of_february), 400, "RecurrenceNeverOccurs");
    let mut long = job.clone();
    let request = &mut long["properties"]["action"]["request"];
    (request["method"], request["body"]) = (json!("POST"), json!("x".repeat(9_000)));
    fails(&long, 400, "BadRequest");
    let free = json!({"properties": {"sku": {"name": "Free"}}}).to_string();
    assert_eq!(api.put("/C1", &free).status.as_u16(), 201);
    let every_minute = with("recurrence", json!({"frequency": "minute"}));
    fails(&every_minute, 409, "RecurrenceQuotaExceeded");
}

#[test]
fn a_missing_collection_is_not_created() {
    Api::new().put("/nope/jobs/J1", JOB).fails(404, "ResourceNotFound", NO_PARENT);
}

#[test]
fn an_invalid_name_is_refused() {
    Api::with_collection().put("/C1/jobs/-x", JOB).fails(
        400,
        "BadRequest",
        "The name '-x' is not allowed; use 1 to 100 letters, digits, '-', '_' and '.', and start \
         with a letter or a digit.",
    );
}
