//! What official clients cannot send: the extensions and the time zone of a recurrence.

use serde_json::{Value, json};

use crate::support::Api;

/// A job that fires at nine, with more properties of its recurrence.
fn nine(more: Value) -> Value {
    let recurrence = json!({"frequency": "day", "schedule": {"hours": [9], "minutes": [0]}});
    let recurrence = merged(recurrence, more);
    let request = json!({"uri": "http://example.org", "method": "GET"});
    json!({"properties": {
        "startTime": "2016-04-01T00:00:00Z",
        "action": {"type": "Http", "request": request},
        "recurrence": recurrence,
    }})
}

/// Sends a request that must succeed, and returns the properties in its answer.
fn properties(api: &Api, method: &str, path: &str, body: &Value) -> Value {
    let answer = api.ask(method, path, &body.to_string());
    assert!(answer.status.is_success(), "{}", answer.body);
    answer.json().get("properties").cloned().unwrap_or_default()
}

/// An object with the properties of both.
fn merged(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

const BERLIN: &str = "Europe/Berlin";

#[test]
fn a_client_that_drops_the_time_zone_leaves_it() {
    let api = Api::with_collection();
    let put = |body: &Value| properties(&api, "PUT", "/C1/jobs/J1", body);
    let first = put(&nine(json!({"timeZone": BERLIN})));
    assert_eq!(first["status"]["nextExecutionTime"], "2016-04-01T07:00:00Z");
    let mut without = nine(json!({}));
    without["properties"]["action"]["request"]["method"] = "POST".into();
    let changed = put(&without);
    assert_eq!(changed["action"]["request"]["method"], "POST");
    assert_eq!(changed["recurrence"], first["recurrence"]);
    assert_eq!(changed["status"], first["status"]);
    // `null` removes it.
    let removed = put(&nine(json!({"timeZone": null})));
    assert_eq!(removed["recurrence"].get("timeZone"), None);
    assert_eq!(removed["status"]["nextExecutionTime"], "2016-04-01T09:00:00Z");
}

#[test]
fn the_zone_of_the_collection_is_that_of_jobs_that_name_none() {
    let api = Api::new();
    let collection = |body: Value| properties(&api, "PUT", "/C1", &body);
    let zone = json!({"timeZone": BERLIN});
    let sent = json!({"location": "West US", "properties": {"minutehand": zone}});
    assert_eq!(collection(sent)["minutehand"], zone);
    let put = |name: &str, body: Value| {
        properties(&api, "PUT", &format!("/C1/jobs/{name}"), &body)["recurrence"]["timeZone"]
            .clone()
    };
    assert_eq!(put("J1", nine(json!({}))), BERLIN);
    assert_eq!(put("J2", nine(json!({"timeZone": "UTC"}))), "UTC");
    assert_eq!(put("J3", nine(json!({"timeZone": null}))), Value::Null);
    // The timing of the third job stays: it still has no zone. A change of it takes the zone.
    assert_eq!(put("J3", nine(json!({}))), Value::Null);
    assert_eq!(put("J3", nine(json!({"interval": 2}))), BERLIN);
    // A client that does not know extensions keeps the zone of the collection.
    let location = json!({"location": "West US"});
    assert_eq!(collection(location.clone())["minutehand"], zone);
    assert_eq!(properties(&api, "PATCH", "/C1", &json!({"tags": {}}))["minutehand"], zone);
    assert_eq!(properties(&api, "GET", "/C1", &json!({}))["minutehand"], zone);
    // Jobs keep the zone that they were given.
    let removed = collection(json!({"location": "West US", "properties": {"minutehand": null}}));
    assert_eq!(removed.get("minutehand"), None);
    assert_eq!(put("J1", nine(json!({}))), BERLIN);
    assert_eq!(put("J4", nine(json!({}))), Value::Null);
}

#[test]
fn a_patch_of_the_timing_takes_the_zone_of_the_collection_unless_the_job_has_one() {
    let api = Api::with_collection();
    let patch = |name: &str, recurrence: Value| {
        let body = json!({"properties": {"recurrence": recurrence}});
        properties(&api, "PATCH", &format!("/C1/jobs/{name}"), &body)["recurrence"]["timeZone"]
            .clone()
    };
    for (name, recurrence) in [("J1", json!({})), ("J2", json!({"timeZone": "Asia/Tokyo"}))] {
        properties(&api, "PUT", &format!("/C1/jobs/{name}"), &nine(recurrence));
    }
    let zone = json!({"properties": {"minutehand": {"timeZone": BERLIN}}});
    properties(&api, "PATCH", "/C1", &zone);
    let state = json!({"properties": {"state": "disabled"}});
    let disabled = properties(&api, "PATCH", "/C1/jobs/J1", &state);
    assert_eq!(disabled["recurrence"].get("timeZone"), None);
    assert_eq!(patch("J1", json!({"interval": 2})), BERLIN);
    assert_eq!(patch("J2", json!({"interval": 2})), "Asia/Tokyo");
    assert_eq!(patch("J2", json!({"timeZone": null})), Value::Null);
}

#[test]
fn extensions_of_a_job_stay_until_they_are_removed() {
    let api = Api::with_collection();
    let mut job = nine(json!({}));
    job["properties"]["minutehand"] = json!({});
    let put = |body: &Value| properties(&api, "PUT", "/C1/jobs/J1", body);
    assert_eq!(put(&job)["minutehand"], json!({}));
    assert_eq!(put(&nine(json!({})))["minutehand"], json!({}));
    job["properties"]["minutehand"] = Value::Null;
    assert_eq!(put(&job).get("minutehand"), None);
    job["properties"]["minutehand"] = json!({"retries": 3});
    let refused = "'minutehand.retries' is not a property; did you mean 'retry'?";
    api.put("/C1/jobs/J1", &job.to_string()).fails(400, "BadRequest", refused);
}

/// The body of a collection with this failure action.
fn notifying(action: &Value) -> Value {
    json!({"location": "West US", "properties": {"minutehand": {"onFailure": action}}})
}

#[test]
fn a_failure_action_keeps_its_secrets_and_never_shows_them() {
    let api = Api::new();
    let authentication = json!({"type": "Basic", "username": "u", "password": "hunter2"});
    let sent = json!({"type": "Http", "request": {
        "uri": "http://example.org/?code=hunter3", "method": "POST",
        "headers": {"X-Api-Key": "hunter4"}, "authentication": authentication,
    }});
    let shown = json!({"request": {
        "uri": "http://example.org/?code=(withheld)", "method": "POST",
        "headers": {"X-Api-Key": "(withheld)"},
        "authentication": {"username": "u", "type": "Basic"},
    }, "type": "Http"});
    let on_failure = |method, body: &Value| {
        properties(&api, method, "/C1", body)["minutehand"]["onFailure"].take()
    };
    assert_eq!(on_failure("PUT", &notifying(&sent)), shown);
    // Neither a client that does not know extensions nor a change of something else removes a secret.
    let patch =
        |request: Value| json!({"properties": {"minutehand": {"onFailure": {"request": request}}}});
    for (method, body) in [
        ("PUT", json!({"location": "West US"})),
        ("PATCH", patch(json!({"method": "PUT"}))),
        ("PATCH", patch(json!({"method": "POST"}))),
        ("PATCH", json!({"tags": {"a": "b"}})),
        ("GET", json!({})),
    ] {
        let answer = api.ask(method, "/C1", &body.to_string());
        assert!(answer.status.is_success() && !answer.body.contains("hunter"), "{}", answer.body);
    }
    assert_eq!(on_failure("GET", &json!({})), shown);
    for method in ["PUT", "PATCH"] {
        // What an answer shows can be sent back, with the password that answers leave out.
        let mut back = shown.clone();
        back["request"]["authentication"]["password"] = "(withheld)".into();
        assert_eq!(on_failure(method, &notifying(&back)), shown);
        back["request"]["uri"] = "http://evil.example/?code=(withheld)".into();
        let refused = "'minutehand.onFailure.request.authentication.password' was given for another \
                       host. Send it again with this change.";
        api.ask(method, "/C1", &notifying(&back).to_string()).fails(400, "BadRequest", refused);
    }
    api.put("/C1", &notifying(&shown).to_string()).fails(
        400,
        "BadRequest",
        "'Username' and 'Password' are required for 'Basic' type of Authentication.",
    );
    api.ask("POST", "/C1/disable", "").is(200, "");
    assert_eq!(on_failure("GET", &json!({})), shown);
    api.put("/C2", &notifying(&shown).to_string()).fails(
        400,
        "BadRequest",
        "'minutehand.onFailure.request.headers.X-Api-Key' is '(withheld)', but there is no stored \
         value to keep. Send the value.",
    );
    let removed = json!({"location": "West US", "properties": {"minutehand": null}});
    assert_eq!(properties(&api, "PUT", "/C1", &removed).get("minutehand"), None);
}

#[test]
fn a_failure_action_that_cannot_be_used_is_refused() {
    let api = Api::new();
    let put = |action: Value| api.put("/C1", &notifying(&action).to_string());
    let request = json!({"uri": "http://example.org/", "method": "POST", "body": "failed"});
    put(json!({"type": "Http", "request": request})).fails(
        400,
        "BadRequest",
        "'minutehand.onFailure.request.body' cannot be set here: the action sends an event that \
         describes the failure. Remove it.",
    );
    let aws = put(json!({"type": "Lambda", "lambdaInvocation": {"functionName": "f"}}));
    assert!(aws.body.contains("this installation sends nothing there"), "{}", aws.body);
    put(json!({"type": "Http", "request": {"uri": "http://example.org/", "methd": "POST"}})).fails(
        400,
        "BadRequest",
        "'minutehand.onFailure.request.methd' is not a property; did you mean 'method'?",
    );
}

const ONE: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

#[test]
fn signing_secrets_are_kept_and_never_shown() {
    let api = Api::with_collection();
    let signed = |secrets: Value| {
        let mut job = nine(json!({}));
        job["properties"]["minutehand"] = json!({"sign": {"secrets": secrets}});
        job
    };
    let shown = |n: usize| json!({"sign": {"secrets": vec!["(withheld)"; n]}});
    let patch =
        |secrets: Value| json!({"properties": {"minutehand": {"sign": {"secrets": secrets}}}});
    for (method, body, n) in [
        ("PUT", signed(json!([ONE])), 1),
        // A client that does not know extensions, and one that sends an answer back.
        ("PUT", nine(json!({})), 1),
        ("PUT", signed(json!(["(withheld)"])), 1),
        ("PATCH", json!({"properties": {"state": "disabled"}}), 1),
        // A new secret beside the old one, and then without it.
        ("PATCH", patch(json!([OTHER, "(withheld)"])), 2),
        ("PATCH", patch(json!(["(withheld)"])), 1),
        ("GET", json!({}), 1),
    ] {
        let answer = api.ask(method, "/C1/jobs/J1", &body.to_string());
        assert!(answer.status.is_success() && !answer.body.contains("whsec"), "{}", answer.body);
        assert_eq!(answer.json()["properties"]["minutehand"], shown(n), "{method} {body}");
    }
    // The secret that is kept is the second one: the first was left out.
    let twice = "'minutehand.sign.secrets.1' is the same as the other one; leave one of them out.";
    let same = patch(json!(["(withheld)", OTHER])).to_string();
    api.ask("PATCH", "/C1/jobs/J1", &same).fails(400, "BadRequest", twice);
    let removed = json!({"properties": {"minutehand": {"sign": null}}});
    assert_eq!(properties(&api, "PATCH", "/C1/jobs/J1", &removed)["minutehand"], json!({}));
    let nothing = "'minutehand.sign.secrets.0' is '(withheld)', but there is no stored value to keep. \
                   Send the value.";
    api.put("/C1/jobs/J2", &signed(json!(["(withheld)"])).to_string()).fails(
        400,
        "BadRequest",
        nothing,
    );
}

#[test]
fn a_signing_secret_that_is_kept_signs_requests_to_its_own_hosts_only() {
    let elsewhere = "'minutehand.sign.secrets.0' was given for another host. Send it again with this \
                     change.";
    let to = |uri: &str| json!({"type": "Http", "request": {"uri": uri, "method": "GET"}});
    let (own, evil) = ("http://own.example/a", "http://evil.example/");
    let second = "https://second.example/";
    let action = |uri: &str, error: Option<&str>| {
        let mut action = to(uri);
        action["errorAction"] = error.map_or(Value::Null, &to);
        action
    };
    let job = |action: Value, secrets: Option<Value>| {
        let sign = |secrets| json!({"sign": {"secrets": secrets}});
        let mut properties = json!({"action": action});
        if let Some(secrets) = secrets {
            properties["minutehand"] = sign(secrets);
        }
        json!({"properties": properties})
    };
    let withheld = || Some(json!(["(withheld)"]));
    let refused = [
        action(evil, None),
        action(evil, Some(second)),
        action("https://own.example/a", None),
        action("http://own.example:8080/a", None),
        action(own, Some(evil)),
        action(own, Some("http://second.example/")),
    ];
    let allowed = [
        action("http://OWN.example:80/b", Some(second)),
        action(own, Some(own)),
        action(second, Some(own)),
        action(own, None),
    ];
    let api = Api::with_collection();
    for (method, secrets) in
        [("PUT", withheld()), ("PUT", None), ("PATCH", withheld()), ("PATCH", None)]
    {
        let created = || {
            let first = job(action(own, Some(second)), Some(json!([ONE]))).to_string();
            let answer = api.put("/C1/jobs/J1", &first);
            assert!(answer.status.is_success(), "{}", answer.body);
        };
        created();
        for action in &refused {
            let body = job(action.clone(), secrets.clone()).to_string();
            api.ask(method, "/C1/jobs/J1", &body).fails(400, "BadRequest", elsewhere);
        }
        let new = job(action(evil, Some(evil)), Some(json!([OTHER]))).to_string();
        let gone = json!({"properties": {"action": to(evil), "minutehand": {"sign": null}}});
        for body in allowed.iter().map(|action| job(action.clone(), secrets.clone()).to_string()) {
            created();
            let answer = api.ask(method, "/C1/jobs/J1", &body);
            assert!(answer.status.is_success(), "{method} {body}: {}", answer.body);
            let sign = &answer.json()["properties"]["minutehand"]["sign"];
            assert_eq!(*sign, json!({"secrets": ["(withheld)"]}), "{method} {body}");
        }
        for body in [new, gone.to_string()] {
            created();
            let answer = api.ask(method, "/C1/jobs/J1", &body);
            assert!(answer.status.is_success(), "{method} {body}: {}", answer.body);
        }
    }
}

#[test]
fn a_signature_that_would_have_no_effect_is_refused() {
    let api = Api::with_collection();
    let mut job = nine(json!({}));
    job["properties"]["minutehand"] = json!({"sign": {"secrets": [ONE]}});
    job["properties"]["action"]["request"]["headers"] = json!({"Webhook-Id": "mine"});
    api.put("/C1/jobs/J1", &job.to_string()).fails(
        400,
        "BadRequest",
        "'minutehand.sign' sets the header 'Webhook-Id', which the action has as well; remove it there.",
    );
    job["properties"]["action"] = json!({"type": "StorageQueue", "queueMessage": {
        "storageAccount": "contoso", "queueName": "orders", "sasToken": "?sig=x", "message": "m"}});
    api.put("/C1/jobs/J1", &job.to_string()).fails(
        400,
        "BadRequest",
        "'minutehand.sign' has no effect, because only requests are signed; use an action of type \
         Http or Https, or leave this out.",
    );
    job["properties"]["minutehand"] = json!({"sign": {"secretz": ONE}});
    api.put("/C1/jobs/J1", &job.to_string()).fails(
        400,
        "BadRequest",
        "'minutehand.sign.secretz' is not a property; did you mean 'secrets'?",
    );
}

#[test]
fn a_collection_limits_how_many_attempts_start_in_a_second_and_run_at_the_same_time() {
    for (name, most) in [("maxPerSecond", 1_000), ("maxConcurrent", 100)] {
        let api = Api::new();
        let limited = |limit: Value| json!({"location": "West US", "properties": {"minutehand": {name: limit}}});
        for limit in [1, 10, most] {
            let answer = properties(&api, "PUT", "/C1", &limited(limit.into()));
            assert_eq!(answer["minutehand"], json!({name: limit}));
        }
        assert_eq!(properties(&api, "GET", "/C1", &json!({}))["minutehand"][name], most);
        // A client that does not know extensions keeps it.
        let location = json!({"location": "West US"});
        assert_eq!(properties(&api, "PUT", "/C1", &location)["minutehand"][name], most);
        let beyond = json!(most + 1);
        for wrong in [json!(0), beyond, json!(-1), json!(1.5), json!("10"), json!(true)] {
            for method in ["PUT", "PATCH"] {
                let answer = api.ask(method, "/C1", &limited(wrong.clone()).to_string());
                assert_eq!(answer.status, 400, "{wrong}");
                let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                assert!(message.contains(name), "{message}");
                let allowed = format!("use a whole number from 1 to {most}");
                assert!(message.contains(&allowed), "{message}");
            }
        }
        let misspelt = format!("{name}s");
        let misspelt = json!({"properties": {"minutehand": {misspelt: 1}}}).to_string();
        let answer = api.ask("PATCH", "/C1", &misspelt);
        assert_eq!(answer.status, 400);
        assert!(answer.body.contains(name), "{}", answer.body);
        let removed = json!({"properties": {"minutehand": {name: null}}});
        let left = &properties(&api, "PATCH", "/C1", &removed)["minutehand"];
        assert_eq!(left.get(name), None);
    }
}
