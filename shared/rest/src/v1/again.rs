//! `POST J/resume` and `POST J/occurrences/{at}/redrive`: what is done after failures.

use axum::http::StatusCode;
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
    let view = call.changing()?.resume_job(&place, &collection, &name).await?;
    Ok(Answer::json(StatusCode::OK, &wire::job(&view, durations)).with_etag(&view.etag))
}

/// Runs a job once for an occurrence that failed for good.
pub(crate) async fn redrive(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let sent = call.path.get("occurrence");
    let at = WrittenDate::parse(sent).and_then(|date| date.instant(None)).map_err(|error| {
        let sent: String = sent.chars().take(SENT_CHARS_MAX).collect();
        Failure::invalid(format!(
            "The occurrence in the path is '{sent}'; {error}. Send its instant, as the history has it."
        ))
    })?;
    let manage = call.changing()?;
    let Redriven { at, redrive_of } =
        manage.redrive_occurrence(&place, &collection, &name, at).await?;
    let document = json!({"at": format_instant(at), "redriveOf": format_instant(redrive_of)});
    Ok(Answer::json(StatusCode::ACCEPTED, &document))
}

/// The most characters of a wrong instant that a message repeats.
const SENT_CHARS_MAX: usize = 60;
