//! Minutehand's own operations beside `GET J`.

use minutehand_rest::{Access, Scope, Token};
use serde_json::{Value, json};

use crate::support::{Answer, Api, JOB, NO_PARENT, TOKEN, Trouble};

const COLLECTIONS: &str = "/minutehand/v1/subscriptions/s1/resourceGroups/rg/jobCollections";

fn get(api: &Api, path: &str) -> Answer {
    api.send("GET", &format!("/minutehand/v1{path}"), &[], "")
}

fn post(api: &Api, path: &str, body: &Value) -> Answer {
    api.send("POST", &format!("/minutehand/v1{path}"), &[], &body.to_string())
}

fn job(api: &Api, method: &str, path: &str, body: &str) -> Answer {
    api.send(method, &format!("{COLLECTIONS}{path}"), &[], body)
}

#[test]
fn the_caller_and_the_installation_are_described() {
    let api = Api::new();
    let me = get(&api, "/me").json();
    assert_eq!(me["principal"], json!({"kind": "nobody", "label": "nobody"}));
    assert_eq!(me["may"], json!(["read", "run", "write"]));
    assert_eq!((&me["now"], &me["clockRate"]), (&json!("2016-03-30T20:40:34Z"), &json!(1)));
    assert_eq!((&me["home"], &me["region"]), (&json!("machine"), &json!("local")));
    assert_eq!((&me["version"], &me["timeZones"]), (&json!("1.2.3"), &json!("2026a")));
    let actions = me["actions"].as_array().unwrap();
    assert!(actions.contains(&json!("Https")) && !actions.contains(&json!("Lambda")), "{me}");

    let token =
        Token { scope: Scope::Run, label: Some("laptop".into()), ..Token::with_all_rights(TOKEN) };
    let api = Api::with(Access::Tokens(vec![token]));
    let sent = &[("authorization", "Bearer token")];
    let me = api.send("GET", "/minutehand/v1/me", sent, "").json();
    assert_eq!(me["principal"], json!({"kind": "token", "label": "laptop"}));
    assert_eq!(me["may"], json!(["read", "run"]));
    assert_eq!(get(&api, "/me").status, 401);
}

#[test]
fn zones_are_named_with_their_release() {
    let zones = get(&Api::new(), "/zones").json();
    let names = zones["names"].as_array().unwrap();
    assert!(names.contains(&json!("Europe/Berlin")) && names.len() > 400, "{}", names.len());
}

#[test]
fn processes_and_their_database_are_described() {
    let api = Api::new();
    for path in ["/processes", "/database"] {
        assert_eq!(get(&api, path).json(), json!({"items": []}), "a process that is alone");
    }
    api.troubles.set(Trouble::Shared);
    let epoch = "1970-01-01T00:00:00Z";
    let process = |name, answers| {
        json!({"name": name, "version": "1.2.3", "since": epoch, "seenAt": epoch,
            "attempts": 3, "answers": answers})
    };
    let items = json!({"items": [process("a-1", true), process("b-1", false)]});
    assert_eq!(get(&api, "/processes").json(), items);
    let note = json!({"about": "vacuum", "says": "autovacuum is off",
        "remedy": "set autovacuum to on", "isWarning": false});
    assert_eq!(get(&api, "/database").json(), json!({"items": [note]}));
    api.troubles.set(Trouble::Lost);
    for path in ["/processes", "/database"] {
        get(&api, path).fails(503, "ServiceUnavailable", "PostgreSQL does not answer.");
    }
}

#[test]
fn subscriptions_are_known_from_their_first_collection_on() {
    let api = Api::new();
    let none = json!({"items": [], "position": null, "lookedAt": 0});
    assert_eq!(get(&api, "/subscriptions").json(), none);
    assert_eq!(api.put("/C1", "{}").status, 201);
    assert_eq!(get(&api, "/subscriptions").json()["items"], json!([{"name": "S1"}]));
}

#[test]
fn a_preview_says_when_a_job_would_fire() {
    let api = Api::new();
    let recurrence = json!({"frequency": "month", "timeZone": "Europe/Paris",
        "schedule": {"monthDays": [-1], "hours": [2], "minutes": [30]}});
    let body = json!({"recurrence": recurrence, "startTime": "2027-03-01", "from": "2027-03-01",
        "count": 2, "zone": "UTC"});
    assert_eq!(
        post(&api, "/preview", &body).json(),
        json!({
            "sentence": "every month on the last day at 02:30 Europe/Paris time",
            "occurrences": [
                {"at": "2027-03-31T00:30:00Z", "local": "2027-03-31T00:30:00", "offset": "+00:00", "note": null},
                {"at": "2027-04-30T00:30:00Z", "local": "2027-04-30T00:30:00", "offset": "+00:00", "note": null},
            ],
            "ends": false,
            "perYear": 12,
            "smallestGap": "P28D",
            "firesOnSave": false,
            "disabled": false,
            "clockChanges": [
                {"at": "2027-10-31T00:30:00Z", "local": "2027-10-31T00:30:00", "offset": "+00:00",
                 "note": {"kind": "firstOfTwo", "text": "the first of two 02:30"}},
                {"at": "2030-03-31T01:30:00Z", "local": "2030-03-31T01:30:00", "offset": "+00:00",
                 "note": {"kind": "moved", "text": "the clock skips 02:30: moved to 03:30"}},
            ],
            "rule": post(&api, "/preview", &body).json()["rule"],
            "startsWithin": null,
        })
    );
    let whole = json!({"properties": {"recurrence": {"frequency": "day"}, "state": "disabled"}});
    let preview = post(&api, "/preview", &whole).json();
    assert_eq!((&preview["disabled"], &preview["firesOnSave"]), (&json!(true), &json!(false)));
    assert_eq!(preview["occurrences"][0]["note"]["kind"], "atOnce");
    assert_eq!(preview["occurrences"].as_array().unwrap().len(), 10);
    let spread = json!({"properties": {"recurrence": {"frequency": "day"},
        "minutehand": {"jitter": {"window": "00:10:00"}, "catchUp": {"policy": "none"}}}});
    assert_eq!(post(&api, "/preview", &spread).json()["startsWithin"], "PT10M");
    let once = post(&api, "/preview", &json!({"startTime": "2027-01-01"})).json();
    assert_eq!((&once["ends"], &once["smallestGap"]), (&json!(true), &Value::Null));
}

#[test]
fn a_refused_preview_names_the_property_to_change() {
    let api = Api::new();
    let hours = json!({"frequency": "day", "schedule": {"hours": [25]}});
    for (body, target, message) in [
        (
            json!({"recurrence": hours}),
            json!("recurrence.schedule.hours"),
            "'recurrence.schedule.hours' is 25",
        ),
        (
            json!({"properties": {"recurrence": hours}}),
            json!("properties.recurrence.schedule.hours"),
            "'recurrence.schedule.hours' is 25",
        ),
        (
            json!({"recurence": {}}),
            json!("recurence"),
            "'recurence' is not a property; did you mean 'recurrence'?",
        ),
        (
            json!({"properties": {"recurrence": {"frequency": "minute"},
                "minutehand": {"Jitter": {"window": "PT31S"}}}}),
            json!("properties.minutehand.jitter.window"),
            "'minutehand.jitter.window' is 00:00:31; two occurrences are 00:01:00 apart",
        ),
        (
            json!({"startTime": "2027-01-01", "minutehand": {}}),
            json!("minutehand"),
            "'minutehand' is not a property",
        ),
        (json!({"startTime": "2027-01-01", "count": 0}), json!("count"), "'count' must be a whole"),
        (json!({"startTime": "2027-01-01", "from": "soon"}), json!("from"), "'from' is not an"),
        (json!({"startTime": "2027-01-01", "zone": "Mars"}), Value::Null, "'zone' is 'Mars'; use"),
        (json!({}), Value::Null, "This is not a job: it has neither"),
    ] {
        let answer = post(&api, "/preview", &body);
        let error = &answer.json()["error"];
        assert_eq!((answer.status.as_u16(), &error["code"]), (400, &json!("BadRequest")));
        assert_eq!(error["target"], target, "{body}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
    }
    // Clients of Azure know no targets.
    let put = api.put("/C1", r#"{"properties":{"state":"off"}}"#);
    assert_eq!(put.json()["error"]["target"], Value::Null);
}

#[test]
fn coming_occurrences_begin_at_the_real_start() {
    let api = Api::with_collection();
    let daily = JOB.replace(r#""action""#, r#""recurrence":{"frequency":"day"},"action""#);
    assert_eq!(api.put("/C1/jobs/J1", &daily).status, 201);
    let next = |query: &str| job(&api, "GET", &format!("/C1/jobs/J1/next{query}"), "").json();
    let at = |next: &Value| -> Vec<String> {
        let all = next["occurrences"].as_array().unwrap().iter();
        all.map(|one| one["at"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(at(&next("?count=2")), ["2016-03-30T20:40:34Z", "2016-03-31T20:40:34Z"]);
    assert_eq!(at(&next("?from=2017-01-01&count=1")), ["2017-01-01T20:40:34Z"]);
    assert_eq!(next("?zone=Asia/Tokyo")["occurrences"][0]["offset"], "+09:00");
    api.ask("PATCH", "/C1/jobs/J1", r#"{"properties":{"state":"disabled"}}"#);
    let disabled = next("?count=1");
    assert_eq!(disabled["notFiring"], json!(["jobDisabled"]));
    assert_eq!(at(&disabled), ["2016-03-30T20:40:34Z"]);
    for (query, message) in [
        ("?conut=2", "'conut' is not a query parameter; did you mean 'count'?"),
        ("?count=1001", "'count' is '1001'; use a whole number from 1 to 1000."),
        ("?zone=x", "'zone' is 'x'; use an IANA or Windows name, such as Europe/Berlin."),
    ] {
        let answer = job(&api, "GET", &format!("/C1/jobs/J1/next{query}"), "");
        answer.fails(400, "BadRequest", message);
    }
    job(&api, "GET", "/nope/jobs/J1/next", "").fails(
        404,
        "ResourceNotFound",
        &NO_PARENT.replace("'RG'", "'rg'"),
    );
}

#[test]
fn a_check_answers_the_first_problem_with_its_target() {
    let api = Api::with_collection();
    let checked = |body: &str| {
        let answer = job(&api, "POST", "/C1/jobs/J1/check", body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    for (body, code, target) in [
        (r#"{"properties":{}}"#, "BadRequest", json!("properties.action")),
        (
            &JOB.replace(r#""action""#, r#""recurrence":{"frequency":"day","schedul":{}},"action""#),
            "BadRequest",
            json!("properties.recurrence.schedul"),
        ),
        (&JOB.replace("GET", "FETCH"), "BadRequest", json!("properties.action.request.method")),
        ("{}", "BadRequest", json!("properties")),
        (r#"{"propertis":{}}"#, "BadRequest", json!("propertis")),
        (
            &JOB.replace(
                r#""action""#,
                r#""recurrence":{"frequency":"month","schedule":{"monthDays":[30]},"endTime":"2017-01-01","interval":12},"startTime":"2016-02-01","action""#,
            ),
            "RecurrenceNeverOccurs",
            json!("properties.recurrence"),
        ),
    ] {
        let check = checked(body);
        assert_eq!(check["ok"], false, "{check}");
        assert_eq!(check["problems"][0]["code"], code, "{check}");
        assert_eq!(check["problems"][0]["target"], target, "{check}");
        assert_eq!((&check["properties"], &check["change"]), (&Value::Null, &Value::Null));
    }
    // Nothing was stored.
    assert_eq!(api.get("/C1/jobs/J1").status, 404);
}

#[test]
fn a_check_shows_what_would_be_stored_and_warns() {
    let api = Api::with_collection();
    let body = JOB.replace(
        r#""method":"GET""#,
        r#""method":"GET","authentication":{"type":"Basic","username":"u","password":"hunter2"}"#,
    );
    let answer = job(&api, "POST", "/C1/jobs/J1/check", &body);
    assert!(!answer.body.contains("hunter2"), "{}", answer.body);
    let check = answer.json();
    assert_eq!((&check["ok"], &check["change"]), (&json!(true), &Value::Null));
    assert_eq!(check["sentence"], "once at 2016-03-30 20:40:34 UTC");
    assert_eq!(check["properties"]["state"], "enabled");
    let kinds: Vec<&Value> =
        check["warnings"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["firesOnSave", "credentialsInClear"]);
    assert_eq!(api.get("/C1/jobs/J1").status, 404);
}

#[test]
fn a_check_of_a_change_compares_the_next_thirty_days() {
    let api = Api::with_collection();
    let daily = |hour: u32| {
        JOB.replace(
            r#""action""#,
            &format!(r#""startTime":"2016-03-01","recurrence":{{"frequency":"day","count":100,"schedule":{{"hours":[{hour}],"minutes":[0]}}}},"action""#),
        )
    };
    assert_eq!(api.put("/C1/jobs/J1", &daily(9)).status, 201);
    let check = |method: &str, body: &str| {
        job(&api, "POST", &format!("/C1/jobs/J1/check?as={method}"), body).json()["change"].clone()
    };
    let same = json!({"timing": false, "dropsPending": false, "countRestarts": false, "gone": [], "new": []});
    assert_eq!(check("put", &daily(9)), same);
    assert_eq!(check("patch", r#"{"properties":{"action":{"request":{"method":"PUT"}}}}"#), same);
    let later = check("put", &daily(10));
    assert_eq!((&later["timing"], &later["countRestarts"]), (&json!(true), &json!(true)));
    assert_eq!(
        (later["gone"].as_array().unwrap().len(), later["new"].as_array().unwrap().len()),
        (30, 30)
    );
    assert_eq!(
        (&later["gone"][0], &later["new"][0]),
        (&json!("2016-03-31T09:00:00Z"), &json!("2016-03-31T10:00:00Z"))
    );
    let off = check("patch", r#"{"properties":{"state":"disabled"}}"#);
    assert_eq!(
        (&off["timing"], &off["countRestarts"], &off["new"]),
        (&json!(true), &json!(false), &json!([]))
    );
    assert_eq!(off["gone"].as_array().unwrap().len(), 30);
    job(&api, "POST", "/C1/jobs/J1/check?as=post", "{}").fails(
        400,
        "BadRequest",
        "'as' is 'post'; use put or patch.",
    );
    job(&api, "POST", "/C1/jobs/nope/check?as=patch", "{}").fails(
        404,
        "NotFound",
        "Job 'nope' cannot be found.",
    );
}

fn check_many(api: &Api, collection: &str, body: &Value) -> Value {
    let answer = job(api, "POST", &format!("/{collection}/check"), &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

fn document(method: &str) -> Value {
    serde_json::from_str(&JOB.replace("GET", method)).unwrap()
}

#[test]
fn many_changes_are_checked_at_once_and_none_is_made() {
    let api = Api::with_collection();
    assert_eq!(api.put("/C1/jobs/there", JOB).status, 201);
    let long = json!({"properties": {"x": "x".repeat(65_536)}});
    let check = check_many(
        &api,
        "C1",
        &json!({"jobs": [
            {"name": "new", "body": document("GET")},
            {"name": "bad", "as": "PUT", "body": document("FETCH")},
            {"name": "there", "as": "patch", "body": {"properties": {"state": "disabled"}}},
            {"name": "gone", "as": "patch", "body": {"properties": {"state": "disabled"}}},
            {"name": "a/b", "body": document("GET")},
            {"name": "long", "body": long},
        ]}),
    );
    assert_eq!((&check["ok"], &check["problems"]), (&json!(false), &json!([])), "{check}");
    let of = |n: usize| {
        let job = &check["jobs"][n];
        let problem = &job["problems"][0];
        (job["name"].clone(), job["ok"].clone(), problem["code"].clone(), problem["target"].clone())
    };
    let null = Value::Null;
    assert_eq!(of(0), (json!("new"), json!(true), null.clone(), null.clone()));
    assert_eq!(check["jobs"][0]["sentence"], "once at 2016-03-30 20:40:34 UTC");
    let target = json!("properties.action.request.method");
    assert_eq!(of(1), (json!("bad"), json!(false), json!("BadRequest"), target));
    assert_eq!(of(2).1, true, "{check}");
    assert_eq!(of(3), (json!("gone"), json!(false), json!("NotFound"), null.clone()));
    assert_eq!(of(4), (json!("a/b"), json!(false), json!("BadRequest"), null.clone()));
    assert_eq!(of(5).2, "RequestEntityTooLarge");
    assert_eq!(api.get("/C1/jobs/new").status, 404);
    assert_eq!(api.get("/C1/jobs/there").json()["properties"]["state"], "enabled");
}

#[test]
fn jobs_are_checked_against_the_collection_as_it_would_be() {
    let api = Api::new();
    let daily = JOB.replace(
        r#""action""#,
        r#""startTime":"2017-01-01","recurrence":{"frequency":"day"},"action""#,
    );
    let daily: Value = serde_json::from_str(&daily).unwrap();
    let with = |quota: Value, before: u32| {
        let body = json!({"properties": {"quota": quota,
            "minutehand": {"timeZone": "Europe/Berlin"}}});
        let jobs = [json!({"name": "a", "body": daily}), json!({"name": "b", "body": daily})];
        let change = json!({"as": "put", "body": body});
        check_many(
            &api,
            "new",
            &json!({"collection": change, "jobs": jobs, "createdBefore": before}),
        )
    };
    let check = with(json!({"maxJobCount": 2}), 0);
    assert_eq!(check["ok"], true, "{check}");
    assert!(check["jobs"][1]["sentence"].as_str().unwrap().contains("Berlin"), "{check}");
    // The second is one too many, or both are after two others.
    for (max, before, expected) in [(1, 0, [true, false]), (2, 2, [false, false])] {
        let check = with(json!({"maxJobCount": max}), before);
        let ok = [check["jobs"][0]["ok"].clone(), check["jobs"][1]["ok"].clone()];
        assert_eq!(ok, expected.map(Value::from), "{check}");
        assert_eq!(check["jobs"][1]["problems"][0]["code"], "JobQuotaExceeded");
    }
    let check = with(json!({"maxJobCount": -1}), 0);
    assert_eq!((&check["ok"], &check["jobs"][0]["ok"]), (&json!(false), &json!(true)), "{check}");
    let problem = &check["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("maxJobCount"), "{check}");
    assert_eq!(api.get("/new").status, 404);
}

#[test]
fn a_check_of_many_changes_says_how_it_has_to_be_sent() {
    let api = Api::with_collection();
    let of = |body: Value| job(&api, "POST", "/C1/check", &body.to_string());
    let change = json!({"name": "j", "body": {}});
    for (body, message) in [
        (
            json!({"jobs": vec![change; 101]}),
            "'jobs' has 101 changes; send at most 100, and the others in further requests.",
        ),
        (json!({"jobs": {}}), "'jobs' has to be a list of changes."),
        (
            json!({"job": []}),
            "The body has the unknown property 'job'; it has collection, jobs, createdBefore.",
        ),
        (json!({"jobs": [{"body": {}}]}), "'jobs[0]' has no 'name'; send the name of its job."),
        (
            json!({"jobs": [{"name": "j", "body": 1}]}),
            "'jobs[0]' has no 'body'; send the body of its PUT or PATCH, an object.",
        ),
        (
            json!({"collection": {"as": "post", "body": {}}}),
            "'as' of 'collection' has to be put or patch.",
        ),
        (
            json!({"createdBefore": -1}),
            "'createdBefore' has to be a whole number: how many jobs the requests before this one \
             would create.",
        ),
    ] {
        of(body).fails(400, "BadRequest", message);
    }
    assert_eq!(
        of(json!({"jobs": [{"name": "j", "body": {"x": "x".repeat(900_000)}}]})).status,
        200
    );
    let message = "The body is longer than 1048576 bytes.";
    of(json!({"x": "x".repeat(1 << 20)})).fails(413, "RequestEntityTooLarge", message);
    let missing = job(&api, "POST", "/nope/check", r#"{"jobs":[]}"#);
    assert_eq!(missing.status, 404, "{}", missing.body);
}

#[test]
fn a_token_that_only_reads_may_preview_and_check() {
    let token = Token { scope: Scope::Read, ..Token::with_all_rights(TOKEN) };
    let api = Api::with(Access::Tokens(vec![token]));
    let send = |method: &str, path: &str, body: &str| {
        api.send(method, path, &[("authorization", "Bearer token")], body).status.as_u16()
    };
    assert_eq!(send("POST", "/minutehand/v1/preview", r#"{"startTime":"2027-01-01"}"#), 200);
    assert_eq!(send("POST", &format!("{COLLECTIONS}/C1/jobs/J1/check"), "{}"), 404);
    assert_eq!(send("GET", "/minutehand/v1/me", ""), 200);
}

#[test]
fn rows_are_short_and_found_by_the_beginning_of_their_names() {
    let api = Api::with_collection();
    for (name, state) in
        [("a1", "enabled"), ("B1", "enabled"), ("b2", "disabled"), ("c", "enabled")]
    {
        let body = JOB.replace(
            r#""action""#,
            &format!(r#""startTime":"2027-01-01","state":"{state}","action""#),
        );
        assert_eq!(api.put(&format!("/C1/jobs/{name}"), &body).status, 201);
    }
    let rows = |query: &str| job(&api, "GET", &format!("/C1/rows{query}"), "").json();
    let names = |rows: &Value| -> Vec<String> {
        rows["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[0].as_str().unwrap().to_owned())
            .collect()
    };
    let all = rows("");
    assert_eq!(names(&all), ["a1", "B1", "b2", "c"]);
    assert_eq!((&all["position"], &all["lookedAt"]), (&Value::Null, &json!(4)));
    assert_eq!(all["columns"].as_array().unwrap().len(), all["items"][0].as_array().unwrap().len());
    assert_eq!(
        all["items"][0],
        json!([
            "a1",
            "enabled",
            "once at 2027-01-01 00:00 UTC",
            null,
            "2027-01-01T00:00:00Z",
            null,
            0,
            0,
            0,
            0,
            "Http",
            "GET example.org",
            "",
            null,
            null,
            null,
            null
        ])
    );
    assert_eq!(names(&rows("?prefix=B")), ["B1", "b2"]);
    assert_eq!(names(&rows("?prefix=b&state=Disabled")), ["b2"]);
    let first = rows("?limit=3");
    assert_eq!(names(&first), ["a1", "B1", "b2"]);
    let position = first["position"].as_str().unwrap();
    assert_eq!(names(&rows(&format!("?position={position}"))), ["c"]);
    job(&api, "GET", "/C1/rows?state=on", "").fails(
        400,
        "BadRequest",
        "'state' is 'on'; use one of enabled, disabled, completed, faulted.",
    );
}
