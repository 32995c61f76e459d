//! Operations of the Azure Resource Manager itself.

use crate::support::{Api, SUBSCRIPTION};

#[test]
fn the_provider_is_registered_for_every_api_version() {
    let api = Api::new();
    let path = format!("{SUBSCRIPTION}/providers/microsoft.scheduler");
    let answer = api.send("GET", &format!("{path}?api-version=2016-02-01"), &[], "");
    let document = answer.json();
    answer.is(200, &document.to_string());
    assert_eq!(document["id"], "/subscriptions/S1/providers/Microsoft.Scheduler");
    assert_eq!(document["namespace"], "Microsoft.Scheduler");
    assert_eq!(document["registrationState"], "Registered");
    let collections = &document["resourceTypes"][0];
    assert_eq!(collections["resourceType"], "jobcollections");
    assert_eq!(collections["locations"].as_array().unwrap().len(), 25);
    let versions = ["2016-03-01", "2016-01-01", "2014-08-01-preview"];
    assert_eq!(collections["apiVersions"], serde_json::json!(versions));

    api.send("POST", &format!("{path}/register"), &[], "").is(200, &answer.body);
}

#[test]
fn every_resource_group_exists() {
    let answer = Api::new().send("HEAD", &format!("{SUBSCRIPTION}/resourcegroups/x"), &[], "");
    answer.is(204, "");
}

#[test]
fn an_invalid_group_name_is_refused() {
    let path = format!("{SUBSCRIPTION}/resourcegroups/a%23b");
    assert_eq!(Api::new().send("HEAD", &path, &[], "").status.as_u16(), 400);
}
