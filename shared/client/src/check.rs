//! Checks of changes before they are made.

use serde::Deserialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::error::Error;
use crate::path::{CollectionPath, JobPath};
use crate::transport::{Client, Method, Request};

/// What would become of changes.
#[derive(Debug, Clone, Deserialize)]
pub struct ChangesAnswer {
    /// Why the change of the collection would be refused.
    pub problems: Vec<CheckProblem>,
    /// What would become of each job, in the order of the request.
    pub jobs: Vec<CheckedJob>,
}

/// What would become of a job.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CheckedJob {
    /// Why the change would be refused; empty if it would be made.
    pub problems: Vec<CheckProblem>,
    /// When the job fires, in words.
    pub sentence: Option<String>,
    /// What its author should know.
    pub warnings: Vec<CheckWarning>,
}

/// Why a change would be refused.
#[derive(Debug, Clone, Deserialize)]
pub struct CheckProblem {
    /// The message, which says what to change.
    pub message: String,
    /// The property to change, in the body.
    pub target: Option<String>,
    /// What would make it right, the likeliest first. An older server does not say it.
    #[serde(default)]
    pub fixes: Vec<CheckFix>,
}

/// A change of the body that would make it right.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckFix {
    /// What it is called.
    pub label: String,
    /// The change, as a JSON patch of the body.
    pub patch: Vec<Value>,
}

/// What the author of a job should know although it is valid.
#[derive(Debug, Clone, Deserialize)]
pub struct CheckWarning {
    /// The message.
    pub message: String,
}

impl Client {
    /// Checks changes of a collection and of at most 100 of its jobs, as
    /// `POST …/jobCollections/{name}/check` takes them. Nothing is changed.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call. A server that does not know the request answers `UnknownRoute`.
    pub async fn check_changes(
        &self,
        collection: &CollectionPath,
        changes: &Value,
    ) -> Result<Answer<ChangesAnswer>, Error> {
        let request = Request::new(Method::POST, collection.v1("/check"));
        self.read(&request.with_body(changes).repeatable()).await
    }

    /// Checks a PUT of a job, or a PATCH. Nothing is changed.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn check_job(
        &self,
        job: &JobPath,
        is_patch: bool,
        body: &Value,
    ) -> Result<Answer<CheckedJob>, Error> {
        let method = if is_patch { "patch" } else { "put" };
        let request = Request::new(Method::POST, job.v1(&format!("/check?as={method}")));
        self.read(&request.with_body(body).repeatable()).await
    }
}
