//! What is ahead of a subscription, asked through HTTP.

use axum::Router;
use minutehand_domain::firing::Pulse;
use minutehand_ports::Pulses;
use minutehand_ports::store::PulseOf;
use serde_json::{Value, json};

use super::api::{COLLECTION, api, ask};
use super::world::{World, instant};

const NOW: &str = "2027-03-27T12:00:00Z";
const SUBSCRIPTION: &str = "/minutehand/v1/subscriptions/s";

/// A world with a job that runs hourly and one that runs daily, and one that is disabled.
async fn world() -> (World, Router) {
    let world = World::at(NOW).await;
    let api = api(&world);
    assert_eq!(ask(&api, "PUT", COLLECTION, "{}").await.0, 201);
    let hourly = json!({"frequency": "hour"});
    let daily = json!({"frequency": "day", "timeZone": "Europe/Berlin",
        "schedule": {"hours": [2], "minutes": [30]}});
    for (name, state, recurrence) in
        [("Hourly", "enabled", &hourly), ("daily", "enabled", &daily), ("off", "disabled", &hourly)]
    {
        let action = json!({"type": "Http", "request": {"uri": "http://x", "method": "GET"}});
        let job = json!({"properties": {"startTime": "2027-03-01", "state": state,
            "recurrence": recurrence, "action": action}});
        let path = format!("{COLLECTION}/jobs/{name}");
        assert_eq!(ask(&api, "PUT", &path, &job.to_string()).await.0, 201, "{name}");
    }
    (world, api)
}

async fn get(api: &Router, path: &str) -> Value {
    let (status, text) = ask(api, "GET", &format!("{SUBSCRIPTION}{path}"), "").await;
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

async fn refused(api: &Router, path: &str) -> String {
    let (status, text) = ask(api, "GET", &format!("{SUBSCRIPTION}{path}"), "").await;
    assert_eq!(status, 400, "{path}: {text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    document["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_next_occurrences_of_all_jobs_come_in_their_order() {
    let (_world, api) = world().await;
    let found = get(&api, "/upcoming?from=2027-03-28T00:30&limit=3").await;
    let items = found["items"].as_array().unwrap();
    let short: Vec<_> = items.iter().map(|item| (&item["at"], &item["job"])).collect();
    let expected = [
        (json!("2027-03-28T01:00:00Z"), json!("hourly")),
        // The clock skips 02:30.
        (json!("2027-03-28T01:30:00Z"), json!("daily")),
        (json!("2027-03-28T02:00:00Z"), json!("hourly")),
    ];
    assert_eq!(short, expected.each_ref().map(|(at, job)| (at, job)));
    assert_eq!(items[1]["sentence"], "every day at 02:30 Europe/Berlin time");
    assert_eq!((&items[0]["resourceGroup"], &items[0]["collection"]), (&json!("g"), &json!("jc")));
    assert_eq!(found["until"], "2027-03-28T03:00:00Z");
    assert_eq!((&found["complete"], &found["lookedAt"]), (&json!(true), &json!(2)));
    let all = get(&api, "/upcoming?to=2027-03-27T14:00&collection=g/jc").await;
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    assert_eq!(all["until"], "2027-03-27T14:00:00Z");
    for (query, problem) in [
        ("?to=2027-03-01", "'to' is not after 'from'; without 'from', that is now."),
        ("?to=2037-03-01", "'to' is more than 731 days after 'from'; ask for less."),
        ("?limit=501", "'limit' is '501'; use a whole number from 1 to 500."),
        ("?collection=jc", "'collection' must be a resource group, a slash and a collection."),
    ] {
        assert_eq!(refused(&api, &format!("/upcoming{query}")).await, problem);
    }
    let off = ask(&api, "POST", &format!("{COLLECTION}/disable"), "").await;
    assert!((200..300).contains(&off.0), "{off:?}");
    assert_eq!(get(&api, "/upcoming").await["items"], json!([]));
}

#[tokio::test]
async fn occurrences_are_counted_in_days_of_a_zone_and_in_hours() {
    let (_world, api) = world().await;
    let days = "/load?step=P1D&zone=Europe/Berlin&from=2027-03-28T05:00&to=2027-03-29T20:00";
    let found = get(&api, days).await;
    let starts = json!(["2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z"]);
    assert_eq!((&found["starts"], &found["counts"]), (&starts, &json!([24, 25])));
    assert_eq!((&found["jobs"], &found["position"]), (&json!(2), &Value::Null));
    let fullest = &found["top"][0];
    assert_eq!((&fullest["at"], &fullest["count"]), (&starts[1], &json!(25)));
    assert_eq!(fullest["groups"][0]["names"], json!(["hourly"]));
    assert_eq!(fullest["groups"][0]["count"], 24);
    let hours = get(&api, "/load?from=2027-03-28T00:00&to=2027-03-28T03:00").await;
    assert_eq!((&hours["counts"], &hours["starts"]), (&json!([1, 2, 1]), &Value::Null));
    let minutes = "/load?step=PT1M&to=2027-03-30T12:00";
    let problem = "'to' is more than 2 days after 'from'; ask for less.";
    assert_eq!(refused(&api, minutes).await, problem);
    let problem = "'step' is 'PT2H'; use one of PT1M, PT5M, PT15M, PT1H, P1D.";
    assert_eq!(refused(&api, "/load?step=PT2H").await, problem);
    let problem = "'position' is not valid; send the 'position' of the answer before it.";
    for position in ["x", "MCB4", "OTk"] {
        assert_eq!(refused(&api, &format!("/load?position={position}")).await, problem);
    }
}

#[tokio::test]
async fn next_occurrences_that_are_unusually_far_away_are_listed_if_they_are_asked_for() {
    let (_world, api) = world().await;
    let action = json!({"type": "Http", "request": {"uri": "http://x", "method": "GET"}});
    let job = json!({"properties": {"startTime": "2028-04-01", "action": action,
        "recurrence": {"frequency": "day"}}});
    let path = format!("{COLLECTION}/jobs/Next-Year");
    assert_eq!(ask(&api, "PUT", &path, &job.to_string()).await.0, 201);
    let found = get(&api, "/load?far=true").await;
    let expected = json!([{"at": "2028-04-01T00:00:00Z", "resourceGroup": "g", "collection": "jc",
        "job": "next-year", "sentence": found["far"][0]["sentence"]}]);
    assert_eq!(found["far"], expected);
    assert!(found["far"][0]["sentence"].as_str().unwrap().starts_with("every day"));
    assert_eq!(get(&api, "/load").await["far"], json!([]));
    let problem = "'far' is 'yes'; use true, or leave it out.";
    assert_eq!(refused(&api, "/load?far=yes").await, problem);
}

#[tokio::test]
async fn an_overview_counts_and_says_what_to_say_first() {
    let (world, api) = world().await;
    let found = get(&api, "/overview").await;
    assert_eq!(found["headline"], json!({"kind": "notSweeping"}));
    let jc = json!({"resourceGroup": "g", "collection": "jc", "state": "Enabled",
        "since": NOW, "jobs": 3, "jobsMax": 50});
    assert_eq!(found["collections"], json!({"all": 1, "off": 0, "items": [jc]}));
    assert_eq!(found["jobs"], json!({"all": 3}));
    let beat_at = Some(instant("2027-03-27T12:00"));
    let pulse = Pulse { beat_at, ..Pulse::default() };
    assert!(world.store.beat(PulseOf::Sweepers, None, &pulse).await.unwrap());
    let found = get(&api, "/overview").await;
    assert_eq!(found["headline"], json!({"kind": "allWell"}));
    assert_eq!(found["sweep"], json!({"at": "2027-03-27T12:00:00Z"}));
    let none = json!({"count": 0, "isLeast": false, "oldest": null, "items": []});
    assert_eq!((&found["late"], &found["work"]), (&none, &json!({"at": null})));
    // Four minutes after the hour, nothing has moved the timer on.
    world.now_is("2027-03-27T13:04:00Z");
    let pulse = Pulse { beat_at: Some(instant("2027-03-27T13:04")), ..Pulse::default() };
    assert!(world.store.beat(PulseOf::Sweepers, beat_at, &pulse).await.unwrap());
    let found = get(&api, "/overview").await;
    assert_eq!(found["headline"], json!({"kind": "late", "n": 1}));
    assert_eq!(found["late"]["oldest"], "2027-03-27T13:00:00Z");
    let hourly = json!({"at": "2027-03-27T13:00:00Z", "resourceGroup": "g", "collection": "jc",
        "job": "hourly"});
    assert_eq!(found["late"]["items"], json!([hourly]));
    let other = ask(&api, "GET", "/minutehand/v1/subscriptions/other/overview", "").await;
    let other: Value = serde_json::from_str(&other.1).unwrap();
    assert_eq!(other["headline"], json!({"kind": "noJobs"}));
    assert_eq!(other["late"]["count"], 0);
}

#[tokio::test]
async fn an_overview_begins_with_the_collections_that_have_been_off_for_longest() {
    let (world, api) = world().await;
    let path = |name: &str| COLLECTION.replace("/jc", &format!("/{name}"));
    let limited = r#"{"properties":{"quota":{"maxJobCount":7}}}"#;
    assert_eq!(ask(&api, "PUT", &path("limited"), limited).await.0, 201);
    let off = r#"{"properties":{"state":"Suspended"}}"#;
    assert_eq!(ask(&api, "PUT", &path("z-first"), off).await.0, 201);
    world.now_is("2027-03-27T13:04:00Z");
    assert_eq!(ask(&api, "POST", &format!("{COLLECTION}/disable"), "").await.0, 200);
    let found = get(&api, "/overview").await;
    let items = found["collections"]["items"].as_array().unwrap();
    let short: Vec<_> =
        items.iter().map(|it| [&it["collection"], &it["state"], &it["jobsMax"]]).collect();
    let expected = [
        [json!("z-first"), json!("Suspended"), json!(50)],
        [json!("jc"), json!("Disabled"), json!(50)],
        [json!("limited"), json!("Enabled"), json!(7)],
    ];
    assert_eq!(short, expected.each_ref().map(<[serde_json::Value; 3]>::each_ref));
    assert_eq!(items[1]["since"], "2027-03-27T13:04:00Z");
    // What is switched off is not late.
    assert_eq!(found["late"]["items"], json!([]));
    let one = get(&api, "/overview?collections=1").await;
    assert_eq!(one["collections"]["items"], json!([items[0]]));
    assert_eq!(one["collections"]["all"], 3);
    assert_eq!(
        refused(&api, "/overview?collections=1001").await,
        "'collections' is '1001'; use a whole number from 0 to 1000."
    );
}
