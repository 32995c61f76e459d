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
    let document = json!({
        "status": "ready",
        "version": build.version,
        "commit": build.commit,
        "store": build.store,
        "timeZones": build.time_zones,
    });
    Ok(Answer::json(StatusCode::OK, &document))
}
