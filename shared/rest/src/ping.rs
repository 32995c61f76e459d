//! `/ping/{key}`: a target reports the end of its work, or something pings a job that expects it. The key is all
//! that it needs.
//!
//! A key that is a UUID is that of a job, and the paths are those of the API of Healthchecks. Any other key is that
//! of an attempt.

use axum::http::StatusCode;
use minutehand_app::{Pinged, Report, Reported};
use minutehand_domain::ping::{PingKind, Uuid};
use minutehand_domain::refusal::{Code, Refusal};
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};

/// The work is done.
pub(crate) async fn success(call: Call) -> Result<Answer, Failure> {
    by_key(call, PingKind::Success, Some(Report::Success)).await
}

/// The work failed.
pub(crate) async fn failure(call: Call) -> Result<Answer, Failure> {
    by_key(call, PingKind::Failure, Some(Report::Failure)).await
}

/// The target is at work.
pub(crate) async fn alive(call: Call) -> Result<Answer, Failure> {
    by_key(call, PingKind::Log, Some(Report::Alive)).await
}

/// The work begins.
pub(crate) async fn start(call: Call) -> Result<Answer, Failure> {
    by_key(call, PingKind::Start, None).await
}

/// Something to remember.
pub(crate) async fn log(call: Call) -> Result<Answer, Failure> {
    by_key(call, PingKind::Log, None).await
}

/// The work ended with the number with which programs end: 0 is well, and any other is not.
pub(crate) async fn exit_status(call: Call) -> Result<Answer, Failure> {
    let sent = call.path.get("exitStatus");
    if sent.is_empty() || !sent.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!(
            "A ping cannot end in '/{sent}': send it to the URL alone, or add '/start', '/fail', '/log', '/alive' \
             or the exit status of your program, 0 to 255."
        );
        return Err(Failure::new(ErrorCode::UnknownRoute, message));
    }
    let Ok(status) = sent.parse::<u8>() else {
        let message = "The exit status at the end of the path is not one: send the number with which your \
                       program ended, 0 to 255.";
        return Err(Failure::invalid(message));
    };
    let kind = if status == 0 { PingKind::Success } else { PingKind::Failure };
    match Uuid::read(call.path.get("key")) {
        Some(key) => ping(&call, &key, kind, Some(status)).await,
        None => Err(unknown()),
    }
}

async fn by_key(call: Call, kind: PingKind, report: Option<Report>) -> Result<Answer, Failure> {
    if let Some(key) = Uuid::read(call.path.get("key")) {
        return ping(&call, &key, kind, None).await;
    }
    // A program that only looks at a link must not report the end of an attempt.
    let is_read = call.head.method.is_safe();
    let report = report.filter(|_| !is_read).ok_or_else(unknown)?;
    let text = call.body.as_str().unwrap_or_default();
    match call.manage.report(call.path.get("key"), report, text).await? {
        Reported::Kept => Ok(Answer::json(StatusCode::OK, &json!({"ok": true}))),
        Reported::Over => {
            let message = "The attempt has ended before: it was reported or cancelled, or its time was \
                           over. This report changes nothing.";
            Err(Refusal::new(Code::AttemptEnded, message).into())
        }
        Reported::Unknown => Err(unknown()),
    }
}

async fn ping(
    call: &Call,
    key: &Uuid,
    kind: PingKind,
    exit_status: Option<u8>,
) -> Result<Answer, Failure> {
    let rid = call.query.get("rid").map(|sent| {
        Uuid::read(sent).ok_or_else(|| {
            let message =
                "'rid' is not a UUID: send one, such as the output of `uuidgen`, or leave it out.";
            Failure::invalid(message)
        })
    });
    let text = call.body.as_str().unwrap_or_default();
    let pinged = call.manage.ping(key, (kind, rid.transpose()?), (exit_status, text)).await?;
    match pinged {
        Pinged::Taken => Ok(Answer::plain("OK")),
        Pinged::Unknown => Err(unknown()),
    }
}

/// Every unknown key is answered alike, so that no answer tells which keys there are or were.
fn unknown() -> Failure {
    Failure::new(ErrorCode::NotFound, "No attempt and no job has this key.")
}
