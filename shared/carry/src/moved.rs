//! What becomes of something that is brought into another installation.
//!
//! - A collection is off.
//! - A job has the next generation, so that no message of its old installation starts here. Its timer is
//!   due at its first occurrence from now on: what the old installation has dispatched ahead has not run
//!   there, because its collection was off. Everything else stays: since when its occurrences count, how
//!   many are used up, and what it has counted.
//! - A retry goes with the generation of its job, and waits in a timer.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::firing::limits::LOOK_AGAIN;
use minutehand_domain::job::JobState;
use minutehand_domain::schedule::Schedule;
use minutehand_ports::store::{CollectionRecord, JobRecord, LongRetry};

/// A collection that is to be brought: off, and with so many jobs.
pub(crate) fn moved_collection(
    mut record: CollectionRecord,
    job_count: u32,
    now: DateTime<Utc>,
) -> CollectionRecord {
    let state = &mut record.collection.definition.state;
    if state.is_on() {
        *state = CollectionState::Disabled;
        record.state_since = Some(now);
    }
    CollectionRecord { job_count, ..record }
}

/// A job that is to be brought.
///
/// # Errors
///
/// Why its schedule cannot be read.
pub(crate) fn moved_job(mut job: JobRecord, now: DateTime<Utc>) -> Result<JobRecord, String> {
    let timer = &mut job.timer;
    if timer.state == JobState::Enabled {
        let line = timer.timetable.as_deref().ok_or("it has no timetable")?;
        let schedule = Schedule::read(line, &job.document).map_err(|error| error.to_string())?;
        let next = schedule.starting_from(now).map(|at| schedule.start(at));
        timer.is_spent = next.is_none();
        timer.due_at = next.or_else(|| now.checked_add_signed(LOOK_AGAIN));
    }
    let ended = EarlierTiming::ending(&timer.timing, timer.timetable.clone());
    timer.timing.generation = next_generation(timer.timing.generation);
    job.earlier = ended.after(std::mem::take(&mut job.earlier));
    Ok(job)
}

/// A retry that is to be brought.
pub(crate) fn moved_retry(LongRetry { job, attempt }: LongRetry) -> LongRetry {
    let generation = next_generation(attempt.generation);
    LongRetry { job, attempt: Attempt { generation, is_long: true, ..attempt } }
}

const fn next_generation(generation: u64) -> u64 {
    generation.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use minutehand_domain::attempt::Occurrence;
    use minutehand_domain::collection::{Collection, CollectionDefinition};
    use minutehand_domain::earlier_timing::created_at;
    use minutehand_domain::job::JobCounters;
    use minutehand_domain::name::{Name, PathSegment};
    use minutehand_domain::timing::Timing;
    use minutehand_domain::work_item::JobRef;
    use minutehand_ports::store::{ResourceGroup, TimerRecord};
    use minutehand_recurrence::{Recurrence, Rule, Timetable};
    use serde_json::json;

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + 60 * minute, 0).unwrap()
    }

    /// Every hour from 2027-01-15T08:00, five times, and enabled since the first.
    fn job(state: JobState) -> JobRecord {
        let is_on = state == JobState::Enabled;
        let rule = json!({"frequency": "hour", "count": 5});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        let line = Schedule::from(Timetable::new(&rule, None, at(0)).unwrap()).to_string();
        JobRecord {
            uid: "u".to_owned(),
            name: Name::new("J").unwrap(),
            document: "{}".to_owned(),
            sealed: None,
            version: 7,
            expires_at: None,
            earlier: Vec::new(),
            timer: TimerRecord {
                state,
                timing: Timing { generation: 0, anchor: Some(at(0)), since: at(0), used: 0 },
                timetable: is_on.then_some(line),
                counters: JobCounters { executions: 3, ..JobCounters::default() },
                due_at: is_on.then(|| at(240)),
                is_spent: false,
            },
        }
    }

    #[test]
    fn a_job_is_due_at_its_next_occurrence_from_now_on() {
        for (now, due_at, is_spent) in [
            // What was dispatched ahead, too.
            (61, at(120), false),
            (120, at(120), false),
            // The first is not yet due.
            (-600, at(0), false),
            (240, at(240), false),
            (241, at(241) + TimeDelta::minutes(20), true),
        ] {
            let moved = moved_job(job(JobState::Enabled), at(now)).unwrap();
            assert_eq!(
                (moved.timer.due_at, moved.timer.is_spent),
                (Some(due_at), is_spent),
                "{now}"
            );
        }
    }

    #[test]
    fn a_job_has_the_next_generation_and_else_stays_as_it_is() {
        for state in JobState::ALL {
            let before = job(state);
            let moved = moved_job(before.clone(), at(61)).unwrap();
            assert_eq!(moved.timer.timing, Timing { generation: 1, ..before.timer.timing });
            assert_eq!(created_at(&moved.earlier, &moved.timer.timing), Some(at(0)));
            assert_eq!(moved.timer.counters, before.timer.counters);
            let JobRecord { earlier, timer, .. } = before.clone();
            assert_eq!(JobRecord { earlier, timer, ..moved.clone() }, before);
            if state != JobState::Enabled {
                assert_eq!(moved.timer.due_at, None, "{state:?}");
            }
        }
        let mut newer = job(JobState::Enabled);
        newer.timer.timetable = Some("9 moon=full".to_owned());
        assert!(moved_job(newer, at(0)).is_err());
    }

    #[test]
    fn a_collection_is_off_and_counts_the_jobs_that_come() {
        for (before, after, since) in [
            (CollectionState::Enabled, CollectionState::Disabled, Some(at(9))),
            (CollectionState::Disabled, CollectionState::Disabled, Some(at(1))),
            (CollectionState::Suspended, CollectionState::Suspended, Some(at(1))),
        ] {
            let segment = |text| PathSegment::new(text).unwrap();
            let place = ResourceGroup { subscription: segment("s"), group: segment("g") };
            let definition = CollectionDefinition { state: before, ..Default::default() };
            let collection =
                Collection { uid: "c".to_owned(), name: Name::new("c").unwrap(), definition };
            let record = CollectionRecord {
                place,
                collection,
                job_count: 7,
                on_since: at(0),
                sealed: None,
                state_since: Some(at(1)),
                label: None,
                version: 3,
            };
            let moved = moved_collection(record.clone(), 2, at(9));
            assert_eq!(moved.collection.definition.state, after);
            assert_eq!((moved.job_count, moved.state_since), (2, since));
            assert_eq!((moved.on_since, moved.version), (at(0), 3));
        }
    }

    #[test]
    fn a_retry_goes_with_its_job() {
        let job = JobRef { uid: "u".into(), collection_uid: "c".into(), key: "j".into() };
        let first = Attempt::first(4, Occurrence::Scheduled { nominal_at: at(0) });
        let attempt = Attempt { number: 2, due_at: at(9), ..first };
        let moved = moved_retry(LongRetry { job: job.clone(), attempt: attempt.clone() });
        assert_eq!(moved.job, job);
        assert_eq!(moved.attempt, Attempt { generation: 5, is_long: true, ..attempt });
    }
}
