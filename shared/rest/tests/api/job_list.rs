//! `Jobs_List`.

use serde_json::{Value, json};

use crate::support::{Api, GROUP, JOB, NO_PARENT, VERSION};

fn names(list: &Value) -> Vec<&str> {
    list["value"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

/// An API with the jobs `j0000`, `j0001` and so on, of which every third is disabled.
fn api_with_jobs(count: usize) -> Api {
    let api = Api::new();
    api.put("/C1", r#"{"properties":{"sku":{"name":"P20Premium"}}}"#);
    let disabled = JOB.replace(r#""properties":{"#, r#""properties":{"state":"Disabled","#);
    for n in 0..count {
        let body = if n % 3 == 2 { &disabled } else { JOB };
        assert_eq!(api.put(&format!("/C1/jobs/j{n:04}"), body).status.as_u16(), 201);
    }
    api
}

#[test]
fn a_list_has_complete_items_and_a_null_link_at_its_end() {
    let api = Api::with_collection();
    api.get("/C1/jobs").is(200, r#"{"value":[],"nextLink":null}"#);
    api.put("/C1/jobs/J1", JOB);
    api.put("/C1/jobs/j0", JOB);
    let [first, second] = ["/C1/jobs/j0", "/C1/jobs/J1"].map(|path| api.get(path).json());
    let list = json!({"value": [first, second], "nextLink": null}).to_string();
    api.get("/C1/jobs").is(200, &list);
}

#[test]
fn a_window_is_exact() {
    let api = api_with_jobs(7);
    let list = |query: &str| api.get(&format!("/C1/jobs{query}")).json();
    let window = list("?$top=2&$SKIP=1");
    assert_eq!(names(&window), ["C1/j0001", "C1/j0002"]);
    assert!(window["nextLink"].is_null());
    assert_eq!(names(&list("?$skip=5")), ["C1/j0005", "C1/j0006"]);
    assert_eq!(names(&list("?$top=100&$skip=6")), ["C1/j0006"]);
    assert_eq!(names(&list("?$skip=10000")), Vec::<&str>::new());
}

#[test]
fn the_filter_applies_before_the_window() {
    let api = api_with_jobs(9);
    let list = |query: &str| api.get(&format!("/C1/jobs?$filter={query}")).json();
    assert_eq!(names(&list("state%20eq%20Disabled")), ["C1/j0002", "C1/j0005", "C1/j0008"]);
    assert_eq!(names(&list("state%20eq%20'disabled'&$top=1&$skip=1")), ["C1/j0005"]);
    assert_eq!(names(&list("State+EQ+Enabled&$top=3")), ["C1/j0000", "C1/j0001", "C1/j0003"]);
    assert_eq!(names(&list("state%20eq%20Completed")), Vec::<&str>::new());
}

#[test]
fn links_lead_through_a_long_list_to_its_end() {
    let api = api_with_jobs(999);
    let headers = [("host", "jobs.example:8443"), ("x-forwarded-proto", "https")];
    let first = api.send("GET", &format!("{GROUP}/C1/jobs?{VERSION}"), &headers, "").json();
    assert_eq!(names(&first).len(), 500);
    let link = first["nextLink"].as_str().unwrap();
    let prefix = format!("https://jobs.example:8443{GROUP}/C1/jobs?{VERSION}&$skiptoken=");
    assert!(link.starts_with(&prefix), "{link}");
    let second = api.send("GET", link, &headers, "").json();
    assert!(second["nextLink"].is_null());
    let mut all = names(&first);
    all.extend(names(&second));
    let expected: Vec<String> = (0..999).map(|n| format!("C1/j{n:04}")).collect();
    assert_eq!(all, expected);
}

#[test]
fn a_link_repeats_the_filter_and_the_host_of_the_request() {
    let api = api_with_jobs(999);
    let target = format!("{GROUP}/C1/jobs?$filter=state%20eq%20'Enabled'&{VERSION}");
    let first = api.send("GET", &target, &[("host", "127.0.0.1:7070")], "").json();
    let link = first["nextLink"].as_str().unwrap();
    let query = format!("{VERSION}&$filter=state%20eq%20'Enabled'&$skiptoken=");
    assert!(link.starts_with(&format!("http://127.0.0.1:7070{GROUP}/C1/jobs?{query}")), "{link}");
    let second = api.send("GET", link, &[], "").json();
    assert!(second["nextLink"].is_null());
    assert_eq!(names(&first).len() + names(&second).len(), 666);
}

#[test]
fn invalid_parameters_are_refused() {
    let api = Api::with_collection();
    let fails = |query: &str, message: &str| {
        api.get(&format!("/C1/jobs?{query}")).fails(400, "BadRequest", message);
    };
    fails("$top=101", "'$top' cannot be '101'; use a number from 1 to 100.");
    for skip in ["-1", "10001"] {
        fails(
            &format!("$skip={skip}"),
            &format!(
                "'$skip' cannot be '{skip}'; use a number from 0 to 10000. To read a longer list, leave \
                 '$top' and '$skip' out and follow 'nextLink'."
            ),
        );
    }
    fails(
        "$filter=name%20eq%20x",
        "'$filter' cannot be 'name eq x'; use 'state eq X', where X is Enabled, Disabled, \
         Completed or Faulted.",
    );
    fails("$skiptoken=%21", "'$skiptoken' is invalid; follow 'nextLink' without changing it.");
}

#[test]
fn a_missing_collection_is_not_found() {
    Api::new().get("/nope/jobs").fails(404, "ResourceNotFound", NO_PARENT);
}
