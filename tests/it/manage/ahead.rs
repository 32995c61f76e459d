//! What is ahead of a subscription, asked through HTTP.

use std::time::Duration;

use axum::Router;
use minutehand_domain::firing::Pulse;
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, PulseOf};
use minutehand_ports::{Attempts, Browse, Deliveries, Pulses};
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
    // A worker has taken what is due now.
    for message in world.queue.receive(10).await.unwrap() {
        world.queue.finish(&[message.receipt]).await.unwrap();
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
        "since": NOW, "jobs": 3, "jobsMax": 50, "maxPerSecond": null, "maxConcurrent": null,
        "running": 0, "waiting": {"count": 0, "since": null, "for": {}}, "snoozedUntil": null});
    assert_eq!(found["collections"], json!({"all": 1, "off": 0, "items": [jc]}));
    assert_eq!(found["jobs"], json!({"all": 3}));
    let beat_at = Some(instant("2027-03-27T12:00"));
    let pulse = Pulse { beat_at, ..Pulse::default() };
    assert!(world.store.beat(PulseOf::Sweepers, None, &pulse).await.unwrap());
    let found = get(&api, "/overview").await;
    assert_eq!(found["headline"], json!({"kind": "allWell"}));
    assert_eq!(found["sweep"], json!({"at": "2027-03-27T12:00:00Z"}));
    let none = json!({"count": 0, "waiting": 0, "snoozed": 0, "isLeast": false, "oldest": null,
        "items": []});
    assert_eq!((&found["late"], &found["work"]), (&none, &json!({"at": null})));
    // Four minutes after the hour, nothing has moved the timer on.
    world.now_is("2027-03-27T13:04:00Z");
    let pulse = Pulse { beat_at: Some(instant("2027-03-27T13:04")), ..Pulse::default() };
    assert!(world.store.beat(PulseOf::Sweepers, beat_at, &pulse).await.unwrap());
    let found = get(&api, "/overview").await;
    assert_eq!(found["headline"], json!({"kind": "late", "n": 1}));
    assert_eq!(found["late"]["oldest"], "2027-03-27T13:00:00Z");
    let hourly = json!({"at": "2027-03-27T13:00:00Z", "resourceGroup": "g", "collection": "jc",
        "job": "hourly", "waitsFor": null});
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

/// Lets a run of `hourly` have the only seat of its collection, and one of `daily` wait for it.
async fn starve(world: &World, api: &Router) {
    let limited = r#"{"properties":{"minutehand":{"maxConcurrent":1}}}"#;
    assert_eq!(ask(api, "PATCH", COLLECTION, limited).await.0, 200);
    for job in ["hourly", "daily"] {
        assert_eq!(ask(api, "POST", &format!("{COLLECTION}/jobs/{job}/run"), "").await.0, 200);
    }
    // One of them runs, and the other one has found no seat.
    let taken = world.queue.receive(2).await.unwrap();
    let work = taken.iter().map(|it| (it.receipt, it.work_item.as_ref().unwrap().clone()));
    let mut claims = Vec::new();
    for (receipt, work_item) in work {
        let WorkItem::Attempt { job, attempt } = work_item else { panic!("{work_item:?}") };
        let (claim_id, lease_until) = (format!("claim of {}", job.key), instant(NOW) + LEASE);
        let claim = Claim { job, attempt, claim_id, lease_until };
        let request = ClaimRequest { claim: claim.clone(), now: instant(NOW) };
        assert_eq!(world.store.claim(&request).await.unwrap(), Claimed::Won);
        claims.push((receipt, claim));
    }
    claims.sort_by(|(_, one), (_, other)| other.job.key.cmp(&one.job.key));
    let [(_, running), (waiting, postponed)] = &claims[..] else { panic!("{claims:?}") };
    assert_eq!(running.job.key, "hourly");
    world.store.postpone(postponed, LEASE, instant(NOW)).await.unwrap();
    world.queue.put_back(&[(*waiting, Duration::from_mins(10))]).await.unwrap();
}

/// The overview at an instant at which a sweeper has just given a sign of life.
async fn seen(world: &World, api: &Router, now: &str) -> Value {
    world.now_is(now);
    let pulse = Pulse { beat_at: Some(instant(now)), ..Pulse::default() };
    let old = Browse::pulses(world.store.as_ref()).await.unwrap().sweepers.beat_at;
    assert!(world.store.beat(PulseOf::Sweepers, old, &pulse).await.unwrap());
    get(api, "/overview").await
}

#[tokio::test]
async fn a_collection_that_starves_is_behind_wherever_one_looks() {
    let (world, api) = world().await;
    starve(&world, &api).await;
    let own = |end: &str| format!("{SUBSCRIPTION}/resourceGroups/g/jobCollections/jc/{end}");
    let seen = async |now: &str| seen(&world, &api, now).await;
    // Within a minute nothing is late.
    let found = seen("2027-03-27T12:00:30Z").await;
    assert_eq!(found["headline"], json!({"kind": "allWell"}));
    let waits = json!({"count": 1, "since": NOW, "for": {"limit": 1}});
    assert_eq!((&found["running"], &found["waiting"]), (&json!(1), &waits));
    let found = seen("2027-03-27T12:01:30Z").await;
    assert_eq!(found["headline"], json!({"kind": "behind", "n": 1}));
    let jc = &found["collections"]["items"][0];
    assert_eq!(
        (&jc["running"], &jc["waiting"], &jc["maxConcurrent"]),
        (&json!(1), &waits, &json!(1))
    );
    let late = json!({"at": NOW, "resourceGroup": "g", "collection": "jc", "job": "daily",
        "waitsFor": "limit"});
    assert_eq!(
        found["late"],
        json!({"count": 1, "waiting": 1, "snoozed": 0, "isLeast": false, "oldest": NOW,
            "items": [late]})
    );
    // The list, the job, the explanation and the metric say the same.
    let rows = ask(&api, "GET", &own("rows"), "").await.1;
    let rows: Value = serde_json::from_str(&rows).unwrap();
    let present: Vec<_> =
        rows["items"].as_array().unwrap().iter().map(|row| [&row[0], &row[14], &row[15]]).collect();
    let null = Value::Null;
    let expected = [
        [&json!("daily"), &null, &json!(NOW)],
        [&json!("Hourly"), &json!(NOW), &null],
        [&json!("off"), &null, &null],
    ];
    assert_eq!(present, expected);
    let daily: Value =
        serde_json::from_str(&ask(&api, "GET", &own("jobs/daily"), "").await.1).unwrap();
    let one = json!([{"at": NOW, "kind": "run", "action": "action", "retry": 0, "dueAt": NOW,
        "state": "waiting", "since": NOW, "waitsFor": "limit", "openUntil": null, "progress": null}]);
    assert_eq!(daily["present"], one);
    let why = ask(&api, "GET", &own(&format!("jobs/daily/why?at={NOW}")), "").await.1;
    assert!(why.contains("waitsForLimit"), "{why}");
    assert_eq!(world.queue.standing().await.unwrap().oldest_due_at, Some(instant(NOW)));
    // What nothing has taken, and what has been set aside, waits as well.
    assert_eq!(ask(&api, "POST", &format!("{COLLECTION}/jobs/off/run"), "").await.0, 200);
    let found = seen("2027-03-27T12:03:00Z").await;
    assert_eq!(found["waiting"]["for"], json!({"limit": 1, "worker": 2}), "a lease has ended, too");
    for message in world.queue.receive(2).await.unwrap() {
        world.queue.set_aside(&[(message.receipt, Duration::from_mins(10))]).await.unwrap();
    }
    let found = seen("2027-03-27T12:03:00Z").await;
    assert_eq!(found["waiting"]["for"], json!({"limit": 1, "place": 1, "worker": 1}));
    // A collection that is off is not behind.
    assert_eq!(ask(&api, "POST", &format!("{COLLECTION}/disable"), "").await.0, 200);
    let found = seen("2027-03-27T12:03:30Z").await;
    assert_eq!((&found["waiting"]["count"], &found["late"]["count"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn jobs_are_found_by_any_part_of_their_names() {
    let (_world, api) = world().await;
    let other = COLLECTION.replace("/jc", "/billing");
    assert_eq!(ask(&api, "PUT", &other, "{}").await.0, 201);
    let action = json!({"type": "Http", "request": {"uri": "http://x", "method": "GET"}});
    let job = json!({"properties": {"startTime": "2030-01-01", "action": action}}).to_string();
    for name in ["invoice-export", "tenant-1-Invoice", "daily-report"] {
        assert_eq!(ask(&api, "PUT", &format!("{other}/jobs/{name}"), &job).await.0, 201);
    }
    let found = async |query: &str| {
        let found = get(&api, &format!("/find?{query}")).await;
        let items = found["items"].as_array().unwrap().iter();
        let name = |it: &Value| {
            format!("{}/{}", it["collection"].as_str().unwrap(), it["job"].as_str().unwrap())
        };
        (items.map(name).collect::<Vec<_>>().join(" "), found["isWhole"] == json!(true))
    };
    for (query, expected) in [
        ("q=invo", "billing/invoice-export billing/tenant-1-Invoice"),
        // What begins with it comes first.
        ("q=DAILY", "billing/daily-report jc/daily"),
        ("q=ly", "billing/daily-report jc/daily jc/Hourly"),
        ("q=jc/ly", "jc/daily jc/Hourly"),
        ("q=jc/", "jc/daily jc/Hourly jc/off"),
        ("q=nothing", ""),
        ("q=ly&limit=1", "billing/daily-report"),
    ] {
        assert_eq!(found(query).await, (expected.to_owned(), true), "{query}");
    }
    let one = get(&api, "/find?q=hourly").await;
    let sentence = one["items"][0]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("every hour"), "{sentence}");
    assert_eq!(one["items"][0]["next"], NOW);
    let missing = "'q' is missing; send a part of a name, or 'collection/job'.";
    assert_eq!(refused(&api, "/find?q=%20").await, missing);
}
