//! What needs no token: `/healthz` and `/openapi.json`.

use minutehand_rest::Access;

use crate::support::{Api, Trouble};

#[test]
fn health_names_what_runs() {
    Api::with(Access::Tokens(Vec::new())).send("GET", "/healthz", &[], "").is(
        200,
        r#"{"status":"ready","version":"1.2.3","commit":"abc","store":"1","timeZones":"2026a"}"#,
    );
}

#[test]
fn a_service_whose_store_does_not_answer_is_not_ready() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Unavailable);
    let message = "The service cannot answer at the moment. Try again.";
    api.send("GET", "/healthz", &[], "").fails(503, "ServiceUnavailable", message);
}

#[test]
fn a_service_whose_disk_takes_no_writes_is_not_ready_and_says_so() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Full);
    let message =
        "The disk takes no writes: what is changed or fires cannot be kept. The log says why.";
    api.send("GET", "/healthz", &[], "").fails(503, "ServiceUnavailable", message);
}

#[test]
fn the_description_is_what_is_committed() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.send("GET", "/openapi.json", &[], "").is(200, include_str!("../../openapi.json"));
}
