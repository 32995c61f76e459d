//! `POST /ping/{key}`: a target reports the end of its work. The key is all that it needs.

use axum::http::StatusCode;
use minutehand_app::{Report, Reported};
use minutehand_domain::refusal::{Code, Refusal};
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};

/// The work is done.
pub(crate) async fn success(call: Call) -> Result<Answer, Failure> {
    report(call, Report::Success).await
}

/// The work failed.
pub(crate) async fn failure(call: Call) -> Result<Answer, Failure> {
    report(call, Report::Failure).await
}

/// The target is at work.
pub(crate) async fn alive(call: Call) -> Result<Answer, Failure> {
    report(call, Report::Alive).await
}

async fn report(call: Call, report: Report) -> Result<Answer, Failure> {
    let text = call.body.as_str().unwrap_or_default();
    match call.manage.report(call.path.get("key"), report, text).await? {
        Reported::Kept => Ok(Answer::json(StatusCode::OK, &json!({"ok": true}))),
        Reported::Over => {
            let message =
                "The attempt has ended before: it was reported or cancelled, or its time was over.";
            Err(Refusal::new(Code::AttemptEnded, message).into())
        }
        // Nobody learns which keys there were.
        Reported::Unknown => Err(Failure::new(ErrorCode::NotFound, "No attempt has this key.")),
    }
}
