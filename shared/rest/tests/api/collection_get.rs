//! `JobCollections_Get`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn answers_keep_the_names_as_they_were_first_spelled() {
    let api = Api::with_collection();
    let path = "/SUBSCRIPTIONS/s1/resourcegroups/rg/PROVIDERS/microsoft.scheduler/jobcollections/\
                c1?API-VERSION=2014-08-01-preview";
    api.send("GET", path, &[], "").is(
        200,
        concat!(
            r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1","#,
            r#""type":"Microsoft.Scheduler/jobCollections","name":"C1","location":"West US","#,
            r#""properties":{"sku":{"name":"Standard"},"state":"Enabled"}}"#,
        ),
    );
}

#[test]
fn a_missing_collection_is_not_found() {
    Api::new().get("/nope").fails(404, "ResourceNotFound", NO_COLLECTION);
}

#[test]
fn an_invalid_name_is_refused() {
    Api::new().get("/a%2Fb").fails(
        400,
        "BadRequest",
        "The name 'a/b' is not allowed; use 1 to 100 letters, digits, '-', '_' and '.', and start \
         with a letter or a digit.",
    );
}
