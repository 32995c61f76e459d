use serde_json::{Value, json};

use crate::tests::{options, problems};
use crate::{Conversion, SourceFormat, convert};

fn converted(document: &Value) -> Conversion {
    convert(SourceFormat::Azure, &document.to_string(), &options()).unwrap()
}

fn job(properties: Value) -> Value {
    let mut job = json!({
        "id": "/subscriptions/s/…", "type": "Microsoft.Scheduler/jobCollections/jobs", "name": "ops/nightly",
        "properties": {"action": {"type": "http", "request": {"uri": "https://example.com/", "method": "GET"}}},
    });
    let Value::Object(properties) = properties else { panic!("{properties}") };
    for (name, value) in properties {
        job["properties"][name] = value;
    }
    job
}

#[test]
fn a_job_as_it_was_answered_is_taken_as_it_is() {
    let report = converted(&job(json!({
        "startTime": "2016-03-30T00:00:00Z", "state": "Enabled",
        "recurrence": {"frequency": "Week", "interval": 1, "schedule": {"weekDays": ["Monday"], "hours": [2], "minutes": [30]}},
        "status": {"nextExecutionTime": "2016-04-04T00:00:00Z", "executionCount": 3},
    })));
    assert_eq!(problems(&report), [""; 0]);
    assert_eq!(report.jobs[0].name, "nightly");
    assert_eq!(report.jobs[0].sentence, "every week on Monday at 02:30 UTC");
    let properties = &report.jobs[0].document["properties"];
    assert_eq!(properties["startTime"], "2016-03-30T00:00:00Z");
    assert_eq!(properties.get("status"), None);
}

#[test]
fn a_job_without_a_start_does_not_fire_at_once() {
    for (properties, start) in [
        (json!({"recurrence": {"frequency": "hour", "interval": 6}}), "2027-01-04T16:20:30Z"),
        (
            json!({"recurrence": {"frequency": "day", "schedule": {"hours": [8], "minutes": [0]}}}),
            "2027-01-05T08:00:00Z",
        ),
        (
            json!({"recurrence": {"frequency": "day"}, "status": {"nextExecutionTime": "2027-01-04T23:00:00Z"}}),
            "2027-01-04T23:00:00Z",
        ),
    ] {
        let report = converted(&job(properties.clone()));
        assert_eq!(report.jobs[0].document["properties"]["startTime"], start, "{properties}");
        assert!(report.jobs[0].is_enabled && report.jobs[0].next_at == start.parse().ok());
        assert!(problems(&report)[0].starts_with(" changed the job has no startTime"));
    }
}

#[test]
fn what_is_over_is_disabled_and_listed() {
    for (properties, why) in [
        (json!({}), "the job runs once and names no time, so it would fire at once"),
        (
            json!({"startTime": "2016-01-01T00:00:00Z"}),
            "the only time of the job, 2016-01-01T00:00:00Z, has passed",
        ),
        (
            json!({"startTime": "2015-01-01T00:00:00Z", "recurrence": {"frequency": "day", "endTime": "2020-10-10T10:10:10Z"}}),
            "the last occurrence of the job has passed",
        ),
        (
            json!({"startTime": "2027-05-05", "state": "Completed"}),
            "the state 'completed' is set by the scheduler only",
        ),
    ] {
        let report = converted(&job(properties));
        assert!(!report.jobs[0].is_enabled);
        assert_eq!(report.jobs[0].document["properties"]["state"], "disabled");
        assert_eq!(problems(&report), [format!(" disabled {why}")]);
    }
}

#[test]
fn secrets_that_an_export_lacks_are_references() {
    let action = json!({
        "type": "Https",
        "request": {"uri": "https://example.com/", "method": "POST", "headers": {"X-Api-Key": "(withheld)", "Accept": "*/*"},
            "authentication": {"type": "ClientCertificate", "certificateThumbprint": "77ED"}},
        "errorAction": {"type": "StorageQueue", "queueMessage": {"storageAccount": "a", "queueName": "queue", "message": "m"}},
    });
    let report = converted(&job(json!({"startTime": "2027-05-05", "action": action})));
    let job = &report.jobs[0];
    let variables: Vec<_> = job.secrets.iter().map(|secret| secret.variable.as_str()).collect();
    assert_eq!(
        variables,
        [
            "MINUTEHAND_IMPORT_NIGHTLY_X_API_KEY",
            "MINUTEHAND_IMPORT_NIGHTLY_PFX",
            "MINUTEHAND_IMPORT_NIGHTLY_PASSWORD",
            "MINUTEHAND_IMPORT_NIGHTLY_ERROR_SASTOKEN",
        ]
    );
    assert_eq!(report.problems.len(), 4);
    assert_eq!(job.with_secrets(|_| None), Err(variables.clone()));
    let filled = job.with_secrets(|name| Some(name.to_lowercase())).unwrap();
    let token = filled.pointer("/properties/action/errorAction/queueMessage/sasToken").unwrap();
    assert_eq!(token, "minutehand_import_nightly_error_sastoken");
}

#[test]
fn a_template_is_read_with_its_parameters() {
    let template = json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "parameters": {
            "collection": {"defaultValue": "ops", "type": "String"},
            "site": {"type": "string"},
            "token": {"type": "SecureString", "defaultValue": null},
            "password": {"type": "securestring"},
        },
        "variables": {"path": "[concat('https://', parameters('site'), '/it''s')]"},
        "resources": [{
            "type": "Microsoft.Scheduler/jobCollections", "name": "[parameters('collection')]",
            "location": "[resourceGroup().location]", "properties": {"sku": {"name": "Standard"}},
            "resources": [{"type": "jobs", "name": "inner", "properties": {
                "startTime": "2027-05-05T00:00:00Z",
                "action": {"type": "Https", "request": {"uri": "[variables('path')]", "method": "GET",
                    "body": "[[not an expression]",
                    "authentication": {"type": "Basic", "username": "u", "password": "[parameters('password')]"}}}}}],
        }, {
            "type": "Microsoft.Scheduler/jobCollections/jobs",
            "name": "[format('{0}/{1}', parameters('collection'), toLower('OUTER'))]",
            "dependsOn": ["[resourceId('Microsoft.Scheduler/jobCollections', parameters('collection'))]"],
            "properties": {"startTime": "2027-05-05T00:00:00Z", "action": {"type": "StorageQueue", "queueMessage": {
                "storageAccount": "a", "queueName": "queue", "message": "m", "sasToken": "[concat('?', parameters('token'))]"}}},
        }, {
            "type": "Microsoft.Scheduler/jobCollections/jobs", "name": "[uniqueString('x')]",
            "properties": {"action": {}},
        }, {"type": "Microsoft.Web/sites", "name": "other"}],
    });
    let mut options = options();
    options.parameters =
        json!({"parameters": {"site": {"value": "example.com"}, "password": {"value": "correct horse"}}})
            .as_object().unwrap().clone();
    let report = convert(SourceFormat::Azure, &template.to_string(), &options).unwrap();
    assert_eq!(report.found, 3);
    let names: Vec<_> = report.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["inner", "outer"]);
    let request = &report.jobs[0].document["properties"]["action"]["request"];
    assert_eq!(request["uri"], "https://example.com/it's");
    assert_eq!(request["body"], "[not an expression]");
    assert_eq!(request["authentication"]["password"]["$env"], "MINUTEHAND_IMPORT_INNER_PASSWORD");
    assert!(!format!("{report:?}{}", report.to_json()).contains("correct horse"));
    assert!(report.jobs[0].with_secrets(|_| None).unwrap().to_string().contains("correct horse"));
    assert_eq!(
        problems(&report),
        [
            "resources[1] needed the file does not have the secret /properties/action/queueMessage/sasToken",
            "resources[2] refused the function 'uniqueString' is not read here",
        ]
    );
    let report = convert(SourceFormat::Azure, &template.to_string(), &self::options()).unwrap();
    assert!(problems(&report)[0].ends_with("the parameter 'site' has no value"), "{report:#?}");
}

#[test]
fn a_wrong_job_is_refused_in_the_words_of_the_api() {
    for (document, why) in [
        (job(json!({"recurence": {}})), "'recurence' is not a property of a job"),
        (
            job(json!({"startTime": "2027-05-05", "recurrence": {"frequency": "fortnight"}})),
            "'recurrence.frequency' is \"fortnight\"",
        ),
        (job(json!({"startTime": "2027-05-05", "action": {"type": "Ftp"}})), "'action.type'"),
    ] {
        let report = converted(&document);
        assert_eq!(report.jobs, []);
        assert!(
            problems(&report)[0].starts_with(&format!(" refused {why}")),
            "{:?}",
            problems(&report)
        );
    }
    for text in ["[1]", "{\"a\":1}", "", "x"] {
        assert!(convert(SourceFormat::Azure, text, &options()).is_err(), "{text}");
    }
}

#[test]
fn endless_expressions_end() {
    let deep = format!("[{}'x'{}]", "concat(".repeat(2_000), ")".repeat(2_000));
    let growing = json!({"variables": {"a": "[concat(variables('b'),variables('b'))]", "b": "[concat(variables('a'))]"}});
    for mut template in [json!({"variables": {"a": deep}}), growing] {
        template["resources"] = json!([{"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "[variables('a')]", "properties": {"action": {}}}]);
        let report = converted(&template);
        assert!(problems(&report)[0].starts_with("resources[0] refused"), "{report:#?}");
    }
}

#[test]
fn the_quota_of_a_collection_is_kept() {
    let collection = |name: &str, quota: Value| {
        json!({
            "type": "Microsoft.Scheduler/jobCollections", "name": name,
            "properties": {"sku": {"name": "Standard"}, "quota": quota},
        })
    };
    let quota =
        json!({"maxJobCount": "[parameters('most')]", "maxRecurrence": {"frequency": "hour"}});
    let template = |resources: Value| json!({"parameters": {"most": {"defaultValue": 20}}, "resources": resources});
    let one = converted(&template(json!([collection("a", quota.clone()), job(json!({}))])));
    assert_eq!(one.quota, Some(json!({"maxJobCount": 20, "maxRecurrence": {"frequency": "hour"}})));
    let other = json!({"maxJobCount": 5});
    let two = converted(&template(json!([collection("a", quota), collection("b", other)])));
    assert_eq!(two.quota, one.quota);
    assert!(problems(&two)[0].contains("another collection of the file has another quota"));
    assert_eq!(converted(&job(json!({}))).quota, None);
}
