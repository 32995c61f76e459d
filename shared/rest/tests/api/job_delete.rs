//! `Jobs_Delete`.

use crate::support::{Api, NO_COLLECTION};

#[test]
fn a_job_is_deleted_and_nothing_is_answered() {
    let api = Api::with_job();
    api.ask("DELETE", "/C1/jobs/j1", "").is(200, "");
    let gone = "Job 'j1' cannot be found.";
    api.ask("DELETE", "/C1/jobs/j1", "").fails(404, "NotFound", gone);
}

#[test]
fn a_job_in_a_collection_that_is_not_there_is_the_collection_not_found() {
    Api::new().ask("DELETE", "/nope/jobs/J1", "").fails(404, "ResourceNotFound", NO_COLLECTION);
}
