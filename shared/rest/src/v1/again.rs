//! `POST J/resume`, `POST J/occurrences/{at}/redrive` and `cancel`: what is done after failures, and instead of
//! waiting for them.

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use minutehand_app::Redriven;
use minutehand_recurrence::{WrittenDate, format_instant};
use serde_json::json;

use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::durations::Position;
use crate::failure::Failure;
use crate::wire;

/// Enables a job that was paused after failures.
pub(crate) async fn resume(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let durations = call.client().durations(Position::Alone);
    let view = call.changing()?.resume_job((&place, &collection, &name)).await?;
    Ok(Answer::json(StatusCode::OK, &wire::job(&view, durations)).with_etag(&view.etag))
}

/// Ends the open attempt at an occurrence as failed.
pub(crate) async fn cancel(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let at = occurrence(&call)?;
    call.changing()?.cancel_occurrence((&place, &collection, &name), at).await?;
    Ok(Answer::json(StatusCode::ACCEPTED, &json!({"at": format_instant(at)})))
}

/// Runs a job once for an occurrence that failed for good.
pub(crate) async fn redrive(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let at = occurrence(&call)?;
    let manage = call.changing()?;
    let Redriven { at, redrive_of } =
        manage.redrive_occurrence((&place, &collection, &name), at).await?;
    let document = json!({"at": format_instant(at), "redriveOf": format_instant(redrive_of)});
    Ok(Answer::json(StatusCode::ACCEPTED, &document))
}

/// The instant in the path.
fn occurrence(call: &Call) -> Result<DateTime<Utc>, Failure> {
    let sent = call.path.get("occurrence");
    WrittenDate::parse(sent).and_then(|date| date.instant(None)).map_err(|error| {
        let sent: String = sent.chars().take(SENT_CHARS_MAX).collect();
        Failure::invalid(format!(
            "The occurrence in the path is '{sent}'; {error}. Send its instant, as the history has it."
        ))
    })
}

/// The most characters of a wrong instant that a message repeats.
const SENT_CHARS_MAX: usize = 60;
