//! `JobCollections_Patch`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn a_patch_changes_the_properties_that_it_contains() {
    let api = Api::with_collection();
    api.ask("PATCH", "/C1", r#"{"tags":{"department":"marketing2"}}"#).is(
        200,
        concat!(
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1","#,
            r#""type":"Microsoft.Scheduler/jobCollections","name":"C1","location":"West US","#,
            r#""tags":{"department":"marketing2"},"properties":{"sku":{"name":"Standard"},"state":"Enabled"}}"#,
        ),
    );
}

#[test]
fn a_missing_collection_is_not_created() {
    let api = Api::new();
    api.ask("PATCH", "/nope", "{}").fails(404, "ResourceNotFound", NO_COLLECTION);
    api.get("/nope").fails(404, "ResourceNotFound", NO_COLLECTION);
}

#[test]
fn an_empty_body_is_refused() {
    let message = "The body is empty; send a JSON object.";
    Api::with_collection().ask("PATCH", "/C1", "").fails(400, "InvalidRequestContent", message);
}
