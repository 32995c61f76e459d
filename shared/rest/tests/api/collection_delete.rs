//! `JobCollections_Delete`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn deleting_a_collection_deletes_its_jobs_and_answers_without_a_body() {
    let api = Api::with_job();
    let answer = api.ask("DELETE", "/C1", "");
    answer.is(200, "");
    assert_eq!(answer.header("content-length"), Some("0"));
    assert_eq!(api.get("/C1").status.as_u16(), 404);
    assert_eq!(api.get("/C1/jobs/J1").status.as_u16(), 404);
}

#[test]
fn a_missing_collection_is_not_found() {
    Api::new().ask("DELETE", "/nope", "").fails(404, "ResourceNotFound", NO_COLLECTION);
}
