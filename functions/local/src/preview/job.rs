//! Finds the timing in the text of a job.

use minutehand_domain::preview::{NoTiming, WrittenTiming};

use super::{PreviewError, WHAT_TO_GIVE};

/// Reads a whole job, its `properties`, or a recurrence with or without a `startTime`.
pub(super) fn read(text: &str) -> Result<WrittenTiming, PreviewError> {
    // Files written by PowerShell begin with a byte-order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(not_a_job("the input is empty"));
    }
    let json = minutehand_cli::document(text).map_err(PreviewError::Unreadable)?;
    if let Some(text) = json.as_str() {
        // A text without names is a text of YAML, too.
        return Err(PreviewError::Unreadable(format!("only a text: '{text}'")));
    }
    WrittenTiming::read(&json).map_err(|error| match error {
        NoTiming::NotAJob(why) => not_a_job(why),
        NoTiming::Refused(refused) => refused.into(),
        NoTiming::Extension(refusal) => PreviewError::NotAJob(refusal.message),
    })
}

fn not_a_job(why: &str) -> PreviewError {
    PreviewError::NotAJob(format!("This is not a job: {why}. {WHAT_TO_GIVE}."))
}
