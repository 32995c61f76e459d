//! Tokens that are limited to some collections: every route, and each kind of caller.

use axum::http::StatusCode;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::reach::Reach;
use minutehand_rest::{Access, Happened, LiveCollection, LiveEvent, Scope, Token};
use sha2::{Digest, Sha256};

use crate::support::{Answer, Api, VERSION};

/// The placeholders of all routes are the names of the collection that a limited token may reach.
const OWN: &str = "/subscriptions/subscriptionId/resourceGroups/resourceGroupName/providers/\
                   Microsoft.Scheduler/jobCollections";
/// Nothing of this collection, of its job and of the cloud service beside it may be in any answer.
const HIDDEN: &str = "/subscriptions/subscriptionId/resourceGroups/hiddenGroup/providers/\
                      Microsoft.Scheduler/jobCollections/hiddenCollection";
const NEIGHBOUR: &str = "/subscriptions/subscriptionId/resourceGroups/resourceGroupName/providers/\
                         Microsoft.Scheduler/jobCollections/hiddenNeighbour";
const COLLECTION: &str = r#"{"properties":{"sku":{"name":"Standard"}}}"#;
const JOB: &str = r#"{"properties":{"recurrence":{"frequency":"hour"},"action":{"type":"Http","request":{"uri":"http://example.org","method":"GET"}}}}"#;
const CLOUD_SERVICE: &str = "<CloudService><Label>l</Label><Description>d</Description><GeoRegion>local</GeoRegion></CloudService>";
const RESOURCE: &str =
    "<Resource><IntrinsicSettings><Plan>Standard</Plan></IntrinsicSettings></Resource>";

/// The callers: each has a token of its name.
const CALLERS: [(&str, &str); 4] = [
    ("everything", ""),
    ("own", "ResourceGroupName/jobCollection*"),
    ("group", "subscriptionid/resourceGroup*/*"),
    ("elsewhere", "elsewhere/*,other/resourceGroupName/*"),
];

fn send(api: &Api, caller: &str, method: &str, path: &str, body: &str) -> Answer {
    let authorization = format!("Bearer {caller}");
    let headers = [("authorization", authorization.as_str()), ("x-ms-version", "2013-03-01")];
    let is_classic = path.starts_with("/subscriptionId/");
    let version = if is_classic { "api-version=2014-04-01" } else { VERSION };
    let mark = if path.contains('?') { '&' } else { '?' };
    api.send(method, &format!("{path}{mark}{version}"), &headers, body)
}

/// An API with the own collection and two hidden ones, each with a job that has failed.
fn world() -> Api {
    let tokens = CALLERS.map(|(name, patterns)| {
        let reach =
            if patterns.is_empty() { Reach::Everything } else { Reach::read(patterns).unwrap() };
        Token { reach, ..Token::with_all_rights(Sha256::digest(name).into()) }
    });
    let api = Api::with(Access::Tokens(tokens.to_vec()));
    let put = |path: &str, body: &str| {
        let answer = send(&api, "everything", "PUT", path, body);
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.body);
    };
    let own = format!("{OWN}/jobCollectionName");
    for (collection, job) in
        [(own.as_str(), "jobName"), (HIDDEN, "hiddenJob"), (NEIGHBOUR, "hiddenJob")]
    {
        put(collection, COLLECTION);
        put(&format!("{collection}/jobs/{job}"), JOB);
        let names: Vec<&str> = collection.split('/').collect();
        let (Some(group), Some(name)) = (names.get(4), names.last()) else {
            panic!("{collection}")
        };
        let path = format!("subscriptionId/{group}/{name}");
        api.add_failure(&path, job);
        let collection = LiveCollection::Path(CollectionPlace::read(&path).unwrap());
        api.live.tell(LiveEvent { what: Happened::Ended, collection, job: Some(job.to_owned()) });
    }
    put("/subscriptionId/cloudservices/hiddenService", CLOUD_SERVICE);
    api
}

/// A path without placeholders, and a body that is read.
fn request(method: &str, route: &str) -> (String, &'static str) {
    let path = route
        .replace("{occurrence}", "2016-03-30T20:00:00Z")
        .replace("{historyName}", "00000000000000000000:00000000000000000000")
        .replace(['{', '}'], "");
    if route.ends_with("/resources/scheduler/jobCollections") {
        return (format!("{path}?op=checknameavailability&resourceName=jobCollectionName"), "");
    }
    if route.ends_with("/live") {
        // From the beginning on.
        return (format!("{path}?after=test-0"), "");
    }
    if route.ends_with("/find") {
        return (format!("{path}?q=job"), "");
    }
    let is_classic = route.starts_with("/{subscriptionId}");
    let body = match (method, route.rsplit('/').next().unwrap_or_default()) {
        ("PUT", "{resourceGroupName}") => CLOUD_SERVICE,
        ("PUT", "{jobCollectionName}") if is_classic => RESOURCE,
        ("PATCH", "jobs") => r#"{"state":"disabled"}"#,
        ("POST", "redrive" | "delete") if route.contains("deadletters") => r#"{"all":true}"#,
        _ => "{}",
    };
    (path, body)
}

/// What a route that reaches so far refuses a caller with.
fn refusal(reach: &str, caller: &str) -> Option<&'static str> {
    match (reach, caller) {
        ("any" | "list", _)
        | (_, "everything")
        | ("own" | "group", "own" | "group")
        | ("all-of-group", "group") => None,
        ("whole", _) => Some("this request needs a token for the whole installation."),
        ("own" | "group" | "all-of-group", _) => Some("is not among them."),
        _ => panic!("{reach} is not a word of the list"),
    }
}

#[test]
fn each_route_answers_a_limited_token_as_the_list_says_and_shows_nothing_of_other_collections() {
    let rows = include_str!("../scopes.txt").lines().filter(|row| !row.starts_with('#'));
    for row in rows.filter(|row| !row.is_empty()) {
        let [_, reach, method, route] = row.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("a scope, a reach, a method and a path: {row}");
        };
        let (api, (path, body)) = (world(), request(method, route));
        for (caller, _) in CALLERS.iter().rev() {
            let answer = send(&api, caller, method, &path, body);
            let Answer { status, body, .. } = &answer;
            let refusal = refusal(reach, caller);
            assert_eq!(
                *status == StatusCode::FORBIDDEN,
                refusal.is_some(),
                "{caller}: {row}: {status} {body}"
            );
            assert!(
                refusal.is_none_or(|refusal| body.contains(refusal)),
                "{caller}: {row}: {body}"
            );
            assert!(!status.is_server_error(), "{caller}: {row}: {status} {body}");
            let shown = body.to_lowercase();
            // The token for the group may see the neighbour, which is in the group.
            let shown = if *caller == "group" {
                shown.replace("hiddenneighbour", "").replace("hiddenjob", "")
            } else {
                shown
            };
            match (reach, *caller) {
                ("list", "everything")
                    if !route.ends_with(
                        "{resourceGroupName}/providers/Microsoft.Scheduler/jobCollections",
                    ) =>
                {
                    assert!(
                        shown.contains("hiddengroup") || shown.contains("hiddenjob"),
                        "{row}: {body}"
                    );
                }
                (_, "everything") => {}
                _ => assert!(!shown.contains("hidden"), "{caller}: {row}: {body}"),
            }
            let is_own = *caller == "own" && reach == "list";
            let has_own = shown.contains("jobcollectionname") || shown.contains("jobname");
            assert!(!is_own || has_own, "{caller}: {row}: {body}");
        }
    }
}

#[test]
fn a_limited_token_neither_creates_nor_learns_of_other_collections() {
    let api = world();
    let ask = |method, path: &str, body| send(&api, "own", method, path, body);
    // A collection that does not exist is refused like one that does.
    for name in ["hiddenNeighbour", "new"] {
        for (method, body) in [("GET", ""), ("PUT", COLLECTION), ("DELETE", "")] {
            ask(method, &format!("{OWN}/{name}"), body).fails(
                403,
                "AuthorizationFailed",
                &format!(
                    "The token is limited to the collections 'resourcegroupname/jobcollection*'; \
                     'subscriptionId/resourceGroupName/{name}' is not among them."
                ),
            );
        }
    }
    let created = ask("PUT", &format!("{OWN}/jobCollection2"), COLLECTION);
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    // The pages of a list are those of the collections that are shown.
    let listed = ask("GET", &format!("{OWN}?$top=2"), "");
    let names: Vec<bool> = ["jobCollection2", "jobCollectionName", "hidden"]
        .map(|name| listed.body.contains(name))
        .to_vec();
    assert_eq!(names, [true, true, false], "{}", listed.body);
    let free = r#"{"properties":{"sku":{"name":"Free"}}}"#;
    let put = |caller: &str, name: &str| send(&api, caller, "PUT", &format!("{OWN}/{name}"), free);
    assert_eq!(put("everything", "hiddenFree").status, StatusCode::CREATED);
    let second = put("own", "jobCollection3");
    assert_eq!(second.status, StatusCode::CONFLICT);
    assert!(!second.body.contains("hidden"), "{}", second.body);
}

#[test]
fn a_caller_is_told_its_own_limits() {
    let api = world();
    let me = |caller| {
        let answer = send(&api, caller, "GET", "/minutehand/v1/me", "");
        serde_json::from_str::<serde_json::Value>(&answer.body).unwrap()["collections"].clone()
    };
    assert_eq!(me("own"), serde_json::json!(["resourcegroupname/jobcollection*"]));
    assert_eq!(me("everything"), serde_json::Value::Null);
}

#[test]
fn scope_and_reach_limit_a_token_together() {
    let token = Token {
        scope: Scope::Read,
        reach: Reach::read("resourceGroupName/*").unwrap(),
        ..Token::with_all_rights(Sha256::digest("reader").into())
    };
    let api = Api::with(Access::Tokens(vec![token]));
    let put = send(&api, "reader", "PUT", &format!("{OWN}/c"), COLLECTION);
    assert!(put.body.contains("needs a token with 'all'"), "{}", put.body);
    assert_eq!(send(&api, "reader", "GET", &format!("{OWN}/c"), "").status, StatusCode::NOT_FOUND);
    assert_eq!(send(&api, "reader", "GET", HIDDEN, "").status, StatusCode::FORBIDDEN);
}
