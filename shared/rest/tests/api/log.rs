//! The log: one line for each request, and the internal errors that clients do not see.

use minutehand_testkit::log::{KeptLog, logged};
use tracing::Metadata;

use crate::support::{Api, TOKEN, Trouble};
use minutehand_rest::{Access, Scope, Token};

/// The lines of this crate while something is done.
fn logged_by<T>(logging: impl FnOnce() -> T) -> (T, Vec<String>) {
    let is_kept = |metadata: &Metadata<'_>| metadata.target().starts_with("minutehand_rest");
    KeptLog { is_kept, left_out: &[] }.start();
    (logging(), logged())
}

#[test]
fn the_line_of_a_request_does_not_contain_its_query() {
    let api = Api::new();
    let (answer, lines) = logged_by(|| {
        api.send("GET", "/nowhere?token=secret", &[("authorization", "Bearer secret")], "secret")
    });
    let id = answer.header("x-ms-request-id").unwrap();
    let line = format!(
        r#"INFO message=answered a request method=GET path="/nowhere" status=404 request.id="{id}""#
    );
    assert_eq!(lines, [line]);
}

#[test]
fn the_line_of_a_request_that_changes_something_names_its_caller() {
    let token =
        Token { scope: Scope::Run, label: Some("laptop".into()), ..Token::with_all_rights(TOKEN) };
    let api = Api::with(Access::Tokens(vec![token]));
    let sent = &[("authorization", "Bearer token")];
    let ((), lines) = logged_by(|| {
        api.send("POST", "/nowhere", sent, "");
        api.send("GET", "/nowhere", sent, "");
        api.send("POST", "/nowhere", &[], "");
    });
    let has_caller: Vec<bool> =
        lines.iter().map(|line| line.contains(r#" caller="laptop" "#)).collect();
    assert_eq!(has_caller, [true, false, false], "{lines:?}");
}

#[test]
fn a_panic_fails_one_request_only() {
    let api = Api::with_collection();
    api.troubles.set(Trouble::Panic);
    let (answer, lines) = logged_by(|| api.get("/C1"));
    let id = answer.header("x-ms-request-id").unwrap().to_owned();
    answer.fails(
        500,
        "InternalError",
        "The service failed. Its log gives the reason under the id in 'x-ms-request-id'.",
    );
    let line = format!(
        "ERROR message=request handler panicked error_type=RequestPanicked request.id=\"{id}\""
    );
    assert_eq!((lines.len(), &lines[0]), (2, &line));
    api.troubles.set(Trouble::None);
    assert_eq!(api.get("/C1").status, 200);
}

#[test]
fn the_cause_of_an_internal_failure_is_logged() {
    let api = Api::with_collection();
    api.troubles.set(Trouble::Unavailable);
    let (answer, lines) = logged_by(|| api.get("/C1"));
    let id = answer.header("x-ms-request-id").unwrap();
    let line = format!(
        "ERROR message=request failed error_type=RequestFailed \
         code=\"ServiceUnavailable\" error=\"the store is not available: table secret-table\" request.id=\"{id}\""
    );
    assert_eq!((lines.len(), &lines[0]), (2, &line));
}
