//! `GET /healthz`: whether the service can store changes, and which build is running.

use axum::http::StatusCode;
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    call.rest.manage.look_at_store().await?;
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
