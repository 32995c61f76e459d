//! `Jobs_Delete`.

use crate::support::{Api, NO_PARENT};

#[test]
fn deleting_a_job_answers_without_a_body() {
    let api = Api::with_job();
    api.ask("DELETE", "/C1/jobs/j1", "").is(200, "");
    let gone = "Job 'j1' cannot be found.";
    api.ask("DELETE", "/C1/jobs/j1", "").fails(404, "NotFound", gone);
}

#[test]
fn a_missing_collection_is_not_found() {
    Api::new().ask("DELETE", "/nope/jobs/J1", "").fails(404, "ResourceNotFound", NO_PARENT);
}
