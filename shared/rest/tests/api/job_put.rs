//! `Jobs_CreateOrUpdate`.

use crate::support::{Api, JOB, NO_COLLECTION};

/// As recorded.
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
fn creating_and_replacing_are_told_apart() {
    let api = Api::with_collection();
    api.put("/C1/jobs/j17571", SENT).is(201, ANSWERED);
    api.put("/C1/jobs/J17571", SENT).is(200, ANSWERED);
}

#[test]
fn what_is_not_sent_again_is_gone_and_a_disabled_job_has_no_status() {
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
fn an_occurrence_is_spelt_in_both_ways() {
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
fn what_was_answered_can_be_sent_back() {
    let api = Api::with_collection();
    let body = JOB.replace(
        r#""properties":{"#,
        r#""properties":{"recurrence":{"frequency":"Month","schedule":{"monthlyOccurrences":[{"day":"Friday","Occurrence":-1}]}},"#,
    );
    let answer = api.put("/C1/jobs/J1", &body);
    api.put("/C1/jobs/J1", &answer.body).is(200, &answer.body);
}

#[test]
fn a_refusal_says_which_rule() {
    let api = Api::with_collection();
    let fails = |body: &str, status: u16, code: &str| {
        let answer = api.put("/C1/jobs/J1", body);
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert_eq!(answer.json()["error"]["code"], code);
    };
    let with = |properties: &str| {
        JOB.replace(r#""properties":{"#, &format!(r#""properties":{{{properties},"#))
    };
    fails("{}", 400, "BadRequest");
    fails(&with(r#""state":"Completed""#), 400, "BadRequest");
    fails(
        &with(r#""recurrence":{"frequency":"month","schedule":{"monthDays":[30],"months":[2]}}"#),
        400,
        "RecurrenceNeverOccurs",
    );
    let body = format!(r#""method":"POST","body":"{}""#, "x".repeat(9_000));
    fails(&JOB.replace(r#""method":"GET""#, &body), 400, "BadRequest");
    assert_eq!(api.put("/C1", r#"{"properties":{"sku":{"name":"Free"}}}"#).status.as_u16(), 201);
    fails(&with(r#""recurrence":{"frequency":"minute"}"#), 409, "RecurrenceQuotaExceeded");
}

#[test]
fn no_collection_is_created_for_a_job() {
    Api::new().put("/nope/jobs/J1", JOB).fails(404, "ResourceNotFound", NO_COLLECTION);
}

#[test]
fn a_name_that_is_not_allowed_is_refused() {
    Api::with_collection().put("/C1/jobs/-x", JOB).fails(
        400,
        "BadRequest",
        "The name '-x' is not allowed; use 1 to 100 letters, digits, '-', '_' and '.', and start \
         with a letter or a digit.",
    );
}
