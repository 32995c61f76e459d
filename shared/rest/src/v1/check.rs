//! `POST J/check`: whether a PUT or PATCH of a job would be accepted, and what it would do.

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use minutehand_app::{AcceptedCheck, CheckedChange, CheckedRequest, JobCheck};
use minutehand_domain::document::Durations;
use minutehand_domain::job::JobState;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::warnings::Warning;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::durations::Position;
use crate::failure::{ErrorCode, Failure};
use crate::fixes::fixes;
use crate::query::shown;

/// Checks the body of a PUT, or with `as=patch` of a PATCH. A body that would be refused is answered
/// with 200, so that a client need not tell a bad job from a bad request.
pub(crate) async fn check(call: Call) -> Result<Answer, Failure> {
    let method = Parameters::of(&call, &["as"])?.text("as").unwrap_or("put");
    let request = request_as(method, call.body.clone())
        .ok_or_else(|| Failure::invalid(format!("'as' is {}; use put or patch.", shown(method))))?;
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let durations = call.client().durations(Position::Alone);
    let checked = call.manage.check_job((&place, &collection, &name), request).await?;
    let document = match checked {
        JobCheck::Refused(refusal) => refused(&refusal, &call.body),
        JobCheck::Accepted(accepted) => document(&accepted, durations),
    };
    Ok(Answer::json(StatusCode::OK, &document))
}

/// The request with this method and body; `None` if no job is changed with the method.
pub(super) fn request_as(method: &str, body: Value) -> Option<CheckedRequest> {
    match method.to_ascii_lowercase().as_str() {
        "put" => Some(CheckedRequest::Put(body)),
        "patch" => Some(CheckedRequest::Patch(body)),
        _ => None,
    }
}

/// Why a body would be refused.
pub(super) fn problem(refusal: &Refusal, body: &Value) -> Value {
    let target = refusal.target.as_deref().map(|target| target_in(target, body));
    let code = ErrorCode::Refused(refusal.code).as_str();
    let fixes = fixes(&refusal.fixes, target.as_deref(), body);
    json!({"code": code, "message": refusal.message, "target": target, "fixes": fixes})
}

fn refused(refusal: &Refusal, body: &Value) -> Value {
    json!({
        "ok": false,
        "problems": [problem(refusal, body)],
        "warnings": [],
        "sentence": null,
        "properties": null,
        "change": null,
    })
}

/// The path of a property in the body of a job. Messages leave out the `properties` around it.
fn target_in(target: &str, body: &Value) -> String {
    let first = target.split('.').next().unwrap_or_default();
    let is_outside = first == "properties" || body.get(first).is_some();
    if is_outside { target.to_owned() } else { format!("properties.{target}") }
}

fn document(accepted: &AcceptedCheck, durations: Durations) -> Value {
    let state = JobState::from(accepted.definition.switch);
    json!({
        "ok": true,
        "problems": [],
        "warnings": accepted.warnings.iter().map(warning).collect::<Vec<_>>(),
        "sentence": accepted.sentence,
        "properties": accepted.document.answer(state, durations),
        "change": accepted.change.as_ref().map(change),
    })
}

pub(super) fn warning(warning: &Warning) -> Value {
    let target = warning.target.map(|target| format!("properties.{target}"));
    json!({"kind": warning.kind.name(), "message": warning.text, "target": target})
}

fn change(change: &CheckedChange) -> Value {
    let instants = |all: &[DateTime<Utc>]| -> Vec<String> {
        all.iter().map(|at| format_instant(*at)).collect()
    };
    json!({
        "timing": change.changes_timing,
        "dropsPending": change.changes_timing,
        "countRestarts": change.restarts_count,
        "gone": instants(&change.gone),
        "new": instants(&change.new),
    })
}
