//! `JobCollections_Enable` and `JobCollections_Disable`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn enabling_and_disabling_change_the_state_and_answer_without_a_body() {
    let api = Api::with_collection();
    for (switch, state) in [("disable", "Disabled"), ("enable", "Enabled"), ("enable", "Enabled")] {
        api.ask("POST", &format!("/C1/{switch}"), "").is(200, "");
        assert_eq!(api.get("/C1").json()["properties"]["state"], state);
    }
}

#[test]
fn a_body_is_ignored() {
    Api::with_collection().ask("POST", "/C1/Disable", "not JSON").is(200, "");
}

#[test]
fn a_missing_collection_is_not_found() {
    for switch in ["disable", "enable"] {
        let answer = Api::new().ask("POST", &format!("/nope/{switch}"), "");
        answer.fails(404, "ResourceNotFound", NO_COLLECTION);
    }
}
