//! `JobCollections_ListBySubscription` and `JobCollections_ListByResourceGroup`.

use serde_json::{Value, json};

use crate::support::{Api, SUBSCRIPTION, VERSION};

fn names(list: &Value) -> Vec<&str> {
    list["value"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn a_list_has_complete_items_and_a_null_link_at_its_end() {
    let api = Api::with_collection();
    let item = api.get("/C1").json();
    let list = json!({"value": [item], "nextLink": null}).to_string();
    api.get("").is(200, &list);
    let target = format!("{SUBSCRIPTION}/providers/Microsoft.Scheduler/jobCollections?{VERSION}");
    api.send("GET", &target, &[], "").is(200, &list);
}

#[test]
fn lists_cover_a_group_or_a_subscription_and_are_ordered_by_name() {
    let api = Api::new();
    let in_group = |subscription: &str, group: &str| {
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/\
             jobCollections"
        )
    };
    for (subscription, group, name) in
        [("s1", "g1", "c"), ("s1", "G1", "A"), ("s1", "g2", "B"), ("s2", "g1", "d")]
    {
        let target = format!("{}/{name}?{VERSION}", in_group(subscription, group));
        assert_eq!(api.send("PUT", &target, &[], "{}").status.as_u16(), 201);
    }
    let list = |target: &str| api.send("GET", &format!("{target}?{VERSION}"), &[], "").json();
    assert_eq!(names(&list(&in_group("S1", "G1"))), ["A", "c"]);
    let all = "/subscriptions/S1/providers/Microsoft.Scheduler/jobCollections";
    assert_eq!(names(&list(all)), ["A", "B", "c"]);
    assert_eq!(names(&list(&in_group("S3", "g"))), Vec::<&str>::new());
}

#[test]
fn a_window_is_exact_and_a_filter_is_refused() {
    let api = Api::new();
    for name in ["a", "b", "c", "d"] {
        api.put(&format!("/{name}"), "{}");
    }
    assert_eq!(names(&api.get("?$top=2&$skip=1").json()), ["b", "c"]);
    assert_eq!(names(&api.get("?$skip=3").json()), ["d"]);
    let message = "Lists of job collections do not support '$filter'.";
    api.get("?$filter=state%20eq%20Enabled").fails(400, "BadRequest", message);
}

#[test]
fn a_page_of_large_collections_stays_below_four_megabytes_and_has_a_link() {
    let api = Api::new();
    let body = json!({"tags": {"t": "x".repeat(60_000)}}).to_string();
    for n in 0..100 {
        let answer = api.put(&format!("/c{n:03}"), &body);
        assert_eq!(answer.status.as_u16(), 201, "{}", answer.body);
    }
    let first = api.get("");
    assert!(first.body.len() < 4_000_000 && first.body.len() > 3_000_000, "{}", first.body.len());
    let link = first.json()["nextLink"].as_str().unwrap().to_owned();
    let second = api.send("GET", &link, &[], "");
    assert!(second.json()["nextLink"].is_null());
    assert_eq!(names(&first.json()).len() + names(&second.json()).len(), 100);
}
