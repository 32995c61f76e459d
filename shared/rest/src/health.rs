//! `GET /healthz`: whether the service can store changes, and which build is running.

use axum::http::StatusCode;
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};

/// Tells what a process cannot do at the moment. `()` is for hosts that have alarms for it.
pub trait Readiness: Send + Sync {
    /// Why the process is not ready, as one sentence for everybody; `None` if it is.
    fn trouble(&self) -> Option<String>;

    /// What needs an operator although the process is ready.
    fn notes(&self) -> Vec<HealthNote> {
        Vec::new()
    }
}

/// Something that needs an operator. Everybody may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthNote {
    /// The part that it is about, in a word.
    pub about: &'static str,
    /// What is wrong.
    pub says: String,
    /// What to do.
    pub remedy: String,
}

impl Readiness for () {
    fn trouble(&self) -> Option<String> {
        None
    }
}

pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    call.rest.manage.look_at_store().await?;
    if let Some(trouble) = call.rest.readiness.trouble() {
        return Err(Failure::new(ErrorCode::ServiceUnavailable, trouble));
    }
    let build = &call.rest.build;
    let mut document = vec![
        ("status", json!("ready")),
        ("version", json!(build.version)),
        ("commit", json!(build.commit)),
        ("store", json!(build.store)),
        ("timeZones", json!(build.time_zones)),
    ];
    document.extend(build.time_zones_date.map(|date| ("timeZonesDate", json!(date.to_string()))));
    let notes = call.rest.readiness.notes();
    if !notes.is_empty() {
        let note = |HealthNote { about, says, remedy }| json!({"about": about, "says": says, "remedy": remedy});
        document.push(("notes", notes.into_iter().map(note).collect()));
    }
    Ok(Answer::json(StatusCode::OK, &document.into_iter().collect()))
}
