//! Why an occurrence that owes a ping went well or did not.

use chrono::{DateTime, Utc};
use minutehand_app::Explanation;
use minutehand_domain::attempt::{Outcome, Record};
use minutehand_domain::firing::Why;
use minutehand_domain::ping::OwedPing;

/// What became of an occurrence that owes a ping; `None` if it owes none, or what became of it would be the same
/// with any other action.
pub(super) fn of_ping(
    found: &Explanation,
    record: Option<&Record>,
    time: impl Fn(DateTime<Utc>) -> String,
) -> Option<String> {
    let OwedPing { from, until, .. } = found.schedule.owed_ping(found.at)?;
    match (found.why, record) {
        (Why::Fired { .. } | Why::FiredLate { .. }, Some(record)) => {
            Some(format!("Its ping came at {}.", time(record.ended_at)))
        }
        (Why::Failed { .. }, Some(record)) if record.outcome == Outcome::Failed => {
            let cause = record.cause.as_ref().map(|cause| format!(": {cause}"));
            Some(format!("It failed{}.", cause.unwrap_or_default()))
        }
        (Why::UnderWay { .. }, _) => {
            Some("It has begun, and waits for the ping of its end.".to_owned())
        }
        (Why::NotYet | Why::Waiting, _) => {
            Some(format!("Its ping is expected from {} to {}.", time(from), time(until)))
        }
        (Why::NotWatched, _) => Some(format!(
            "It was left out, because at some moment between {} and {} no process could take its ping.",
            time(from),
            time(until)
        )),
        _ => None,
    }
}
