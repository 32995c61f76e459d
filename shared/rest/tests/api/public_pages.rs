//! The paths that need no token: `/healthz` and `/openapi.json`.

use minutehand_rest::Access;

use crate::support::{Api, Trouble};

#[test]
fn health_names_the_versions() {
    Api::with(Access::Tokens(Vec::new())).send("GET", "/healthz", &[], "").is(
        200,
        r#"{"status":"ready","version":"1.2.3","commit":"abc","store":"1","timeZones":"2026a","timeZonesDate":"2026-03-02"}"#,
    );
}

#[test]
fn what_needs_an_operator_is_a_note_and_the_service_is_ready() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Noted);
    let health = api.send("GET", "/healthz", &[], "");
    let note =
        r#""notes":[{"about":"archive","says":"access is denied","remedy":"renew the keys"}]"#;
    assert!(health.status == 200 && health.body.contains(note), "{}", health.body);
}

#[test]
fn an_unavailable_store_makes_the_service_unready() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Unavailable);
    let message = "The service is temporarily unavailable. Try again.";
    api.send("GET", "/healthz", &[], "").fails(503, "ServiceUnavailable", message);
}

#[test]
fn a_full_disk_makes_the_service_unready_with_a_message_of_its_own() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Full);
    let message = "The disk is full or read-only: changes and executions cannot be saved. The log \
                   gives the reason.";
    api.send("GET", "/healthz", &[], "").fails(503, "ServiceUnavailable", message);
}

#[test]
fn a_process_that_cannot_fire_is_not_ready_and_says_why() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::NotFiring);
    api.send("GET", "/healthz", &[], "").fails(
        503,
        "ServiceUnavailable",
        "Messages cannot be taken.",
    );
}

#[test]
fn a_process_on_a_shared_database_names_itself_and_says_how_many_live() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Shared);
    let health = api.send("GET", "/healthz", &[], "");
    let peers = r#""process":"a-1","processes":2"#;
    assert!(health.status == 200 && health.body.contains(peers), "{}", health.body);
}

#[test]
fn a_database_that_is_away_makes_the_service_unready_with_the_reason() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.troubles.set(Trouble::Lost);
    let message = "PostgreSQL does not answer.";
    api.send("GET", "/healthz", &[], "").fails(503, "ServiceUnavailable", message);
}

#[test]
fn the_description_is_the_committed_file() {
    let api = Api::with(Access::Tokens(Vec::new()));
    api.send("GET", "/openapi.json", &[], "").is(200, include_str!("../../openapi.json"));
}
