//! `JobCollections_Delete`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn a_collection_is_deleted_with_its_jobs_and_nothing_is_answered() {
    let api = Api::with_job();
    let answer = api.ask("DELETE", "/C1", "");
    answer.is(200, "");
    assert_eq!(answer.header("content-length"), Some("0"));
    assert_eq!(api.get("/C1").status.as_u16(), 404);
    assert_eq!(api.get("/C1/jobs/J1").status.as_u16(), 404);
}

#[test]
fn a_collection_that_is_not_there_is_not_found() {
    Api::new().ask("DELETE", "/nope", "").fails(404, "ResourceNotFound", NO_COLLECTION);
}
