//! `JobCollections_Enable` and `JobCollections_Disable`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn switching_answers_nothing_and_shows_in_the_collection() {
    let api = Api::with_collection();
    for (switch, state) in [("disable", "Disabled"), ("enable", "Enabled"), ("enable", "Enabled")] {
        api.ask("POST", &format!("/C1/{switch}"), "").is(200, "");
        assert_eq!(api.get("/C1").json()["properties"]["state"], state);
    }
}

#[test]
fn what_a_body_says_is_not_read() {
    Api::with_collection().ask("POST", "/C1/Disable", "not JSON").is(200, "");
}

#[test]
fn a_collection_that_is_not_there_is_not_found() {
    for switch in ["disable", "enable"] {
        let answer = Api::new().ask("POST", &format!("/nope/{switch}"), "");
        answer.fails(404, "ResourceNotFound", NO_COLLECTION);
    }
}
