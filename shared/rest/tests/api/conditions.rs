//! `ETag`, `If-Match` and `If-None-Match`.

use minutehand_ports::store::CountersAdd;
use minutehand_rest::ErrorCode;

use crate::support::{Answer, Api, GROUP, JOB, VERSION};

const COLLECTION: &str = r#"{"location":"West US"}"#;

fn send(api: &Api, method: &str, path: &str, condition: (&str, &str), body: &str) -> Answer {
    api.send(method, &format!("{GROUP}{path}?{VERSION}"), &[condition], body)
}

fn etag(answer: &Answer) -> String {
    answer.header("etag").unwrap_or_default().to_owned()
}

#[test]
fn the_etag_is_the_version_of_the_definition() {
    let api = Api::with_job();
    for (path, body) in [("/C1", COLLECTION), ("/C1/jobs/J1", JOB)] {
        let first = etag(&api.get(path));
        assert!(first.starts_with("\"1-") && first.ends_with('"'), "{first}");
        let put = etag(&api.put(path, body));
        assert_eq!(put, first.replace("\"1-", "\"2-"));
        assert_eq!(etag(&api.get(path)), put);
        let patched = etag(&api.ask("PATCH", path, "{}"));
        assert_eq!(patched, first.replace("\"1-", "\"3-"));
        assert_eq!(etag(&api.get(path)), patched);
        // Lists are answers of their own.
        assert_eq!(etag(&api.get("")), "");
    }
    // A firing changes no definition.
    let before = etag(&api.get("/C1/jobs/J1"));
    api.count(CountersAdd { executions: 1, ..CountersAdd::default() });
    assert_eq!(etag(&api.get("/C1/jobs/J1")), before);
    // A resource that is deleted and created again is another one.
    assert_eq!(api.ask("DELETE", "/C1/jobs/J1", "").status.as_u16(), 200);
    let again = etag(&api.put("/C1/jobs/J1", JOB));
    assert!(again.starts_with("\"1-"), "{again}");
    api.put("/C1/jobs/J1", JOB);
    assert_ne!(etag(&api.ask("PATCH", "/C1/jobs/J1", "{}")), before);
}

#[test]
fn a_change_with_an_old_etag_is_refused() {
    let api = Api::with_job();
    for (path, body, name) in
        [("/C1/jobs/J1", JOB, "Job 'J1'"), ("/C1", COLLECTION, "Job collection 'C1'")]
    {
        let old = etag(&api.get(path));
        let new = etag(&api.put(path, body));
        let message = format!(
            "{name} exists with the ETag {new}, which the request rules out. Read it again, and \
             repeat the change with its new ETag."
        );
        for method in ["PUT", "PATCH", "DELETE"] {
            let answer = send(&api, method, path, ("if-match", &old), body);
            answer.fails(412, "PreconditionFailed", &message);
        }
        assert_eq!(etag(&api.get(path)), new);
        // The right one among others, as a proxy that compresses rewrites it.
        let several = format!("\"x\", W/{new}");
        let changed = send(&api, "PUT", path, ("If-Match", &several), body);
        assert!(changed.status.is_success(), "{}", changed.body);
        assert!(send(&api, "PATCH", path, ("if-match", "*"), "{}").status.is_success());
        assert_eq!(send(&api, "DELETE", path, ("if-match", "*"), "").status.as_u16(), 200);
    }
    let code = ErrorCode::PreconditionFailed;
    assert_eq!(code.as_str(), "PreconditionFailed");
}

#[test]
fn operations_of_jobs_and_collections_take_conditions_too() {
    let api = Api::with_job();
    for path in ["/C1/disable", "/C1/enable", "/C1/jobs/J1/run"] {
        let refused = send(&api, "POST", path, ("if-match", "\"other\""), "");
        assert_eq!(refused.status.as_u16(), 412, "{path}");
        assert_eq!(send(&api, "POST", path, ("if-match", "*"), "").status.as_u16(), 200, "{path}");
    }
}

#[test]
fn a_put_may_ask_to_create_only_or_to_replace_only() {
    let api = Api::new();
    for (path, body, name) in
        [("/C1", COLLECTION, "Job collection 'C1'"), ("/C1/jobs/J1", JOB, "Job 'J1'")]
    {
        send(&api, "PUT", path, ("if-match", "*"), body).fails(
            412,
            "PreconditionFailed",
            &format!("{name} does not exist, and the request expects that it does."),
        );
        assert_eq!(send(&api, "PUT", path, ("if-none-match", "*"), body).status.as_u16(), 201);
        assert_eq!(send(&api, "PUT", path, ("if-none-match", "*"), body).status.as_u16(), 412);
        let there = etag(&api.get(path));
        assert_eq!(send(&api, "PUT", path, ("if-none-match", &there), body).status.as_u16(), 412);
        assert!(send(&api, "PUT", path, ("if-none-match", "\"x\""), body).status.is_success());
    }
}

#[test]
fn a_get_is_always_answered_in_full() {
    let api = Api::with_job();
    for path in ["/C1", "/C1/jobs/J1"] {
        let answer = api.get(path);
        for condition in ["*", &etag(&answer)] {
            send(&api, "GET", path, ("if-none-match", condition), "").is(200, &answer.body);
        }
    }
}

#[test]
fn a_condition_that_is_no_etag_is_refused() {
    let api = Api::with_job();
    for condition in ["3", "", "\"1", "\"1\" \"2\"", "\"1\",", "ä"] {
        send(&api, "PUT", "/C1/jobs/J1", ("if-match", condition), JOB).fails(
            400,
            "BadRequest",
            "The header 'if-match' is not valid; use '*', or the 'ETag' of an answer with its \
             quotation marks.",
        );
    }
}
