//! The occurrence that a job waits for.

use chrono::{DateTime, Utc};
use minutehand_recurrence::named;

use super::may_start::JobStanding;
use crate::job::JobState;
use crate::schedule::Schedule;

/// The next occurrence of a job; `None` if the job or its collection is disabled or has ended.
///
/// The first occurrence may be due at once: that of a job that runs once, or has no `startTime`. It
/// is the next one until its first attempt is recorded, even if its instant has passed.
#[must_use]
pub fn next_occurrence(
    job: &JobStanding<'_>,
    last_execution_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let (Some(timetable), Some(on_since)) = (job.timetable, job.collection_on_since) else {
        return None;
    };
    if job.state != JobState::Enabled {
        return None;
    }
    let first = if timetable.runs_once() { timetable.iter().next() } else { timetable.at_once() };
    let is_waiting = |first: &DateTime<Utc>| {
        let goes_on = timetable.goes_on.is_some();
        let fell_due_at = if goes_on { *first } else { job.since.max(*first) };
        let has_begun = last_execution_at.is_some_and(|at| at >= fell_due_at);
        let was_off = fell_due_at < on_since;
        !has_begun && !was_off && !has_successor(timetable, *first, now)
    };
    first.filter(is_waiting).or_else(|| timetable.at_or_after(now))
}

named! {
    /// A reason for which a job does not fire.
    pub enum NotFiring {
        /// Its collection is disabled or suspended.
        CollectionOff = "collectionOff",
        /// The user has disabled it.
        JobDisabled = "jobDisabled",
        /// It has finished.
        JobFinished = "jobFinished",
        /// It is enabled, and no occurrence is left: it finishes when its last attempt has ended.
        NothingLeft = "nothingLeft",
        /// Its document was written by a newer version and cannot be read.
        JobUnreadable = "jobUnreadable",
    }
}

/// Every reason for which a job does not fire; none if it has a next occurrence.
#[must_use]
pub fn not_firing(
    job: &JobStanding<'_>,
    last_execution_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Vec<NotFiring> {
    let collection = job.collection_on_since.is_none().then_some(NotFiring::CollectionOff);
    let on = JobStanding { collection_on_since: job.collection_on_since.or(Some(now)), ..*job };
    let own = match job.state {
        JobState::Disabled => Some(NotFiring::JobDisabled),
        JobState::Completed | JobState::Faulted => Some(NotFiring::JobFinished),
        JobState::Enabled if job.timetable.is_none() => Some(NotFiring::JobUnreadable),
        JobState::Enabled => {
            next_occurrence(&on, last_execution_at, now).is_none().then_some(NotFiring::NothingLeft)
        }
    };
    collection.into_iter().chain(own).collect()
}

/// Whether the successor of an occurrence is due.
fn has_successor(timetable: &Schedule, nominal_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    timetable.after(nominal_at).is_some_and(|successor| successor <= now)
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(&format!("2027-01-01T{text}")).unwrap().instant(None).unwrap()
    }

    /// Created at 10:17:23.5 and fired daily at 12:00.
    fn daily(start: Option<&str>) -> Schedule {
        let rule = r#"{"frequency":"day","schedule":{"hours":[12],"minutes":[0]}}"#;
        let rule = serde_json::from_str(rule).unwrap();
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Schedule::from(Timetable::new(&rule, start.map(at), at("10:17:23.5")).unwrap())
    }

    /// An enabled job, created at that time, of a collection that was on before.
    fn enabled(timetable: &Schedule) -> JobStanding<'_> {
        JobStanding {
            state: JobState::Enabled,
            generation: 0,
            since: at("10:17:23.5"),
            timetable: Some(timetable),
            collection_on_since: Some(at("00:00")),
            is_paused: false,
        }
    }

    /// The next occurrence of an enabled job at some instants, with its last execution.
    #[track_caller]
    fn check(timetable: &Schedule, on_since: &str, rows: &[(&str, Option<&str>, Option<&str>)]) {
        for (now, last, expected) in rows {
            let job = JobStanding { collection_on_since: Some(at(on_since)), ..enabled(timetable) };
            let next = next_occurrence(&job, last.map(at), at(now)).map(format_instant);
            let next = next.as_deref().map(|next| &next[8..next.len() - 1]);
            assert_eq!(next, *expected, "{now} {last:?}");
        }
    }

    #[test]
    fn the_first_occurrence_is_next_until_it_begins() {
        check(
            &daily(None),
            "00:00",
            &[
                ("10:17:23.5", None, Some("01T10:17:23")),
                // An earlier timing fired within the same second.
                ("10:17:23.5", Some("10:17:23.4"), Some("01T10:17:23")),
                ("10:17:24", Some("10:17:23.6"), Some("01T12:00:00")),
                // It is late.
                ("11:59", None, Some("01T10:17:23")),
                ("12:00:01", None, Some("02T12:00:00")),
            ],
        );
        let given = daily(Some("00:00"));
        check(&given, "00:00", &[("10:17:23.5", None, Some("01T12:00:00"))]);
    }

    #[test]
    fn a_first_occurrence_that_its_collection_cost_is_not_next() {
        let rows = [("10:20", None, Some("01T12:00:00"))];
        check(&daily(None), "10:18", &rows);
        let once = Schedule::from(Timetable::once(None, at("10:17:23.5")));
        check(&once, "10:18", &[("10:20", None, None)]);
    }

    #[test]
    fn a_job_that_runs_once_waits_until_it_has_run() {
        let late = Schedule::from(Timetable::once(Some(at("00:00")), at("10:17:23.5")));
        check(
            &late,
            "00:00",
            &[
                ("10:20", None, Some("01T10:17:23.5")),
                ("10:20", Some("10:17:23.6"), None),
                // Run by hand before.
                ("10:20", Some("10:00"), Some("01T10:17:23.5")),
            ],
        );
        let early = Schedule::from(Timetable::once(Some(at("11:00")), at("10:17:23.5")));
        check(&early, "00:00", &[("10:20", Some("10:18"), Some("01T11:00:00"))]);
    }

    #[test]
    fn every_reason_for_which_a_job_does_not_fire_is_given() {
        use NotFiring::{CollectionOff, JobDisabled, JobFinished, JobUnreadable, NothingLeft};
        let (timetable, once) =
            (daily(None), Schedule::from(Timetable::once(None, at("10:17:23.5"))));
        let job = enabled(&timetable);
        let with = |state| JobStanding { state, ..job };
        let off = |job| JobStanding { collection_on_since: None, ..job };
        let ran = JobStanding { timetable: Some(&once), ..job };
        let unread = JobStanding { timetable: None, ..job };
        let cases: [(JobStanding<'_>, &[NotFiring]); 8] = [
            (job, &[]),
            (off(job), &[CollectionOff]),
            (with(JobState::Disabled), &[JobDisabled]),
            (off(with(JobState::Disabled)), &[CollectionOff, JobDisabled]),
            (with(JobState::Completed), &[JobFinished]),
            (with(JobState::Faulted), &[JobFinished]),
            (ran, &[NothingLeft]),
            (unread, &[JobUnreadable]),
        ];
        for (job, expected) in cases {
            assert_eq!(not_firing(&job, Some(at("10:18")), at("10:20")), expected, "{job:?}");
        }
    }

    #[test]
    fn nothing_is_next_while_the_job_or_its_collection_is_off() {
        let timetable = daily(None);
        let job = enabled(&timetable);
        let now = at("10:18");
        assert!(next_occurrence(&job, None, now).is_some());
        let off = JobStanding { collection_on_since: None, ..job };
        assert_eq!(next_occurrence(&off, None, now), None);
        for state in [JobState::Disabled, JobState::Completed, JobState::Faulted] {
            assert_eq!(next_occurrence(&JobStanding { state, ..job }, None, now), None);
        }
        assert_eq!(next_occurrence(&JobStanding { timetable: None, ..job }, None, now), None);
    }
}
