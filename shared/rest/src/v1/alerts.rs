//! `GET C/alert`, `GET J/alert` and `POST C/alert/test`: whether the alerts of a collection arrive, what is known
//! of a job for them, and a test of them.

use axum::http::StatusCode;
use minutehand_app::AlertSetting;
use minutehand_domain::alert::{AlertTrouble, TestResult};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::cause::Cause;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// Tells whether the alerts of a collection arrive.
pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let found: AlertSetting = call.manage.alert_setting(&place, &name).await?;
    let document = json!({"isSet": found.is_set, "trouble": found.trouble.as_ref().map(trouble)});
    Ok(tagged(&document, &call.head.headers))
}

/// Tells what is known of a job for the alerts of its collection.
pub(crate) async fn of_job(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let found = call.manage.job_alert((&place, &collection, &name)).await?;
    let state = found.state.map(|state| {
        json!({
            "failuresInRow": state.failures(),
            "openSince": state.open_since().map(format_instant),
            "lastSentAt": state.told_at().map(format_instant),
            "heldBack": state.held_back(),
        })
    });
    Ok(tagged(&json!({"isSet": found.is_set, "state": state}), &call.head.headers))
}

/// Sends a test alert, and tells what came back.
pub(crate) async fn test(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let TestResult { outcome, cause, message, took } =
        call.manage.test_alert(&place, &name).await?;
    let document = json!({
        "arrived": outcome == Outcome::Succeeded,
        "cause": cause.as_ref().map(Cause::to_json),
        "message": message,
        "tookMs": took.num_milliseconds(),
    });
    Ok(Answer::json(StatusCode::OK, &document))
}

/// The trouble of alerts as the API has it.
pub(super) fn trouble(trouble: &AlertTrouble) -> Value {
    json!({
        "alerts": trouble.alerts,
        "since": format_instant(trouble.since),
        "lastAt": format_instant(trouble.last_at),
        "job": trouble.job,
        "cause": trouble.cause.as_ref().map(Cause::to_json),
    })
}
