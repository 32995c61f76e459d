//! `POST /minutehand/v1/convert`.

use serde_json::{Value, json};

use crate::support::{Answer, Api};

fn convert(api: &Api, body: &Value) -> Answer {
    api.send("POST", "/minutehand/v1/convert", &[], &body.to_string())
}

#[test]
fn a_crontab_becomes_jobs_that_the_api_accepts() {
    let api = Api::with_collection();
    let body = json!({
        "format": "crontab", "timeZone": "Europe/Berlin",
        "text": "*/15 8-17 * * 1-5 /usr/bin/sync\n@reboot /bin/x\n0 0 13 * 5 root /bin/y\n",
        "template": "https://runner.example.com/run?cmd={command}",
    });
    let answer = convert(&api, &body).json();
    assert_eq!(answer["found"], 3);
    assert_eq!(
        answer["jobs"][0],
        json!({
            "name": "sync", "line": 1, "state": "enabled",
            "sentence": "every week on Monday, Tuesday, Wednesday, Thursday and Friday at minutes 0, 15, 30 and 45 of hours 8 to 17 Europe/Berlin time",
            "next": "2016-03-31T06:00:00Z",
            "document": {"properties": {
                "startTime": "2016-03-30T20:40:00Z",
                "recurrence": {"frequency": "week", "interval": 1, "schedule": {
                    "minutes": [0, 15, 30, 45], "hours": [8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
                    "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"],
                }, "timeZone": "Europe/Berlin"},
                "action": {"type": "Https", "request": {
                    "uri": "https://runner.example.com/run?cmd=%2Fusr%2Fbin%2Fsync", "method": "POST",
                }},
                "state": "enabled",
            }},
            "secrets": [],
        })
    );
    assert_eq!(
        answer["problems"][0],
        json!({
            "kind": "refused", "line": 2, "job": null,
            "why": "'@reboot' means the start of a machine, which is not a time.",
            "remedy": "Let the machine call at its start, for example from a systemd unit.",
        })
    );
    for job in answer["jobs"].as_array().unwrap() {
        let (name, document) = (job["name"].as_str().unwrap(), job["document"].to_string());
        let put = api.put(&format!("/C1/jobs/{name}"), &document);
        assert_eq!(put.status, 201, "{name}");
        assert_eq!(put.json()["properties"]["status"]["nextExecutionTime"], job["next"], "{name}");
    }
}

#[test]
fn what_is_over_is_accepted_disabled() {
    let api = Api::with_collection();
    let action =
        json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
    let jobs = json!([
        {"name": "c/once", "properties": {"startTime": "2015-01-01T00:00:00Z", "action": action}},
        {"name": "c/ended", "properties": {"startTime": "2015-01-01T00:00:00Z", "action": action,
            "recurrence": {"frequency": "day", "endTime": "2015-10-10T10:10:10Z"}}},
        {"name": "c/done", "properties": {"startTime": "2015-01-01T00:00:00Z", "action": action,
            "recurrence": {"frequency": "day"}, "state": "completed"}},
    ]);
    let answer = convert(&api, &json!({"format": "azure", "text": jobs.to_string()})).json();
    for job in answer["jobs"].as_array().unwrap() {
        assert_eq!((&job["state"], &job["next"]), (&json!("disabled"), &Value::Null));
        let name = job["name"].as_str().unwrap();
        let put = api.put(&format!("/C1/jobs/{name}"), &job["document"].to_string());
        assert_eq!(put.status, 201, "{name}");
        assert_eq!(put.json()["properties"]["state"], "disabled", "{name}");
    }
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 3);
}

#[test]
fn no_answer_contains_a_secret() {
    let action = json!({
        "type": "Https",
        "request": {"uri": "https://example.org/?code=s3cret-1", "method": "GET",
            "headers": {"Authorization": "s3cret-2"},
            "authentication": {"type": "Basic", "username": "u", "password": "s3cret-3"}},
        "errorAction": {"type": "StorageQueue", "queueMessage": {"storageAccount": "a",
            "queueName": "q12", "message": "m", "sasToken": "s3cret-4"}},
    });
    let job = json!({"name": "c/j", "properties": {"startTime": "2027-05-05", "action": action}});
    let answer = convert(&Api::new(), &json!({"format": "azure", "text": job.to_string()}));
    let document = answer.json();
    assert!(!document.to_string().contains("s3cret"), "{document}");
    let secrets = document["jobs"][0]["secrets"].as_array().unwrap().clone();
    assert_eq!(secrets.len(), 4);
    assert!(secrets.iter().all(|secret| secret["isGiven"] == true));
    assert_eq!(
        document["jobs"][0]["document"]["properties"]["action"]["request"]["uri"],
        json!({"$env": "MINUTEHAND_IMPORT_J_URI"})
    );
}

#[test]
fn a_wrong_request_says_what_to_change() {
    let api = Api::new();
    for (body, message) in [
        (json!({}), "'format' is missing or unknown; use one of crontab, eventbridge, azure."),
        (
            json!({"format": "cron"}),
            "'format' is missing or unknown; use one of crontab, eventbridge, azure.",
        ),
        (
            json!({"format": "azure"}),
            "'text' is missing; send the content of the file as a JSON string.",
        ),
        (json!({"format": "azure", "text": {}}), "'text' must be a JSON string."),
        (json!({"format": "azure", "test": ""}), "'test' is not a property; did you mean 'text'?"),
        (
            json!({"format": "azure", "text": "{}", "parameters": []}),
            "'parameters' must be an object: values by the names of a template's parameters.",
        ),
        (
            json!({"format": "crontab", "text": "", "form": "x"}),
            "'form' is unknown; use 'user' or 'system'.",
        ),
        (
            json!({"format": "crontab", "text": ""}),
            "A line of a crontab is a command, and a job calls a URL. Give a template of the URL to call, such as 'https://runner.example.com/run?cmd={command}'.",
        ),
        (
            json!({"format": "eventbridge", "text": "["}),
            "The file is not valid JSON: EOF while parsing a list at line 1 column 1. Correct it.",
        ),
    ] {
        convert(&api, &body).fails(400, "BadRequest", message);
    }
}

#[test]
fn a_file_is_bounded_and_so_is_the_answer() {
    let api = Api::new();
    let crontab = |line: &str, lines: usize| json!({"format": "crontab", "text": line.repeat(lines), "template": "https://r/{command}"});
    assert_eq!(convert(&api, &crontab("0 0 * * * x\n", 1_000)).json()["found"], 1_000);
    convert(&api, &crontab("0 0 * * * x\n", 1_001)).fails(
        400,
        "BadRequest",
        "The file has more than 1000 schedules. Split it into several files.",
    );
    let long = format!("1-59 1-22 * * 1-5 {}\n", "&".repeat(200));
    convert(&api, &crontab(&long, 1_000)).fails(
        400,
        "BadRequest",
        "The jobs of the file have more than 1 MB; send the file in parts.",
    );
    let message = "The body is longer than 262144 bytes.";
    convert(&api, &crontab(&"x".repeat(262_144), 1)).fails(413, "RequestEntityTooLarge", message);
}
