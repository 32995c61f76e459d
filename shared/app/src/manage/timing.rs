//! The schedule and the timer of a job that is created or changed.

use chrono::{DateTime, Utc};
use minutehand_domain::goes_on::GoesOn;
use minutehand_domain::history_days::JOBS_KEPT_FOR;
use minutehand_domain::job::{JobCounters, JobDefinition, JobState, Switch};
use minutehand_domain::plan::JobLimits;
use minutehand_domain::policies::Policies;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{JobRecord, TimerRecord};

use super::describe::stored_schedule;

/// The schedule of a job, which must have an occurrence and must not be more frequent than allowed.
pub(super) fn allowed_schedule(
    limits: &JobLimits,
    timing: &Timing,
    (wanted, uid): (&JobDefinition, &str),
    now: DateTime<Utc>,
) -> Result<Schedule, Refusal> {
    let schedule = timing.schedule(wanted, uid, now)?;
    limits.check_gap(schedule.timetable.smallest_gap())?;
    limits.check_gap_with_extra_dates(schedule.smallest_gap())?;
    schedule.policies.check(schedule.smallest_gap())?;
    Ok(schedule)
}

/// The timer of a job whose timing stays, with the policies of its new definition.
pub(super) fn with_policies(
    old: &JobRecord,
    wanted: &JobDefinition,
) -> Result<TimerRecord, Refusal> {
    let mut timer = old.timer.clone();
    if let Some(schedule) = stored_schedule(old) {
        let policies = Policies::of_job(wanted, &old.uid);
        policies.check(schedule.smallest_gap())?;
        timer.timetable = Some(Schedule { policies, ..schedule }.to_string());
    }
    Ok(timer)
}

/// The schedule of a job whose timing changes. If it is enabled again and no occurrence is left, it goes on
/// with the last one.
pub(super) fn going_on(
    schedule: Schedule,
    old: &JobRecord,
    (wanted, timing): (&JobDefinition, &Timing),
) -> Schedule {
    let is_enabled = old.timer.state == JobState::Disabled && wanted.switch == Switch::Enabled;
    if !is_enabled || coming(&schedule, timing, wanted).is_some() {
        return schedule;
    }
    let timings = [&old.timer.timing, timing];
    let goes_on = GoesOn::of(timings, &schedule, &old.earlier, &old.document);
    Schedule { goes_on, ..schedule }
}

/// The first occurrence of a timing.
fn coming(schedule: &Schedule, timing: &Timing, wanted: &JobDefinition) -> Option<DateTime<Utc>> {
    schedule.iter().next().filter(|_| !timing.is_over(wanted))
}

/// The timer of a job whose timing changes. A job without a next occurrence has ended, or goes on with the
/// last one, which is to be looked at now.
pub(super) fn timer(
    wanted: &JobDefinition,
    timing: Timing,
    schedule: &Schedule,
    counters: JobCounters,
    now: DateTime<Utc>,
) -> TimerRecord {
    let (state, due_at) = if wanted.switch == Switch::Disabled {
        (JobState::Disabled, None)
    } else if schedule.goes_on.is_some() {
        (JobState::Enabled, Some(now))
    } else if let Some(first) = coming(schedule, &timing, wanted) {
        (JobState::Enabled, Some(schedule.start(first)))
    } else {
        (JobState::Completed, None)
    };
    let is_spent = state.is_final() || schedule.goes_on.is_some();
    let timetable = (state != JobState::Disabled).then(|| schedule.to_string());
    TimerRecord { state, timing, timetable, counters, due_at, is_spent }
}

/// When a job expires that has this timer. A job without any occurrence has finished already.
pub(super) fn expires_at(timer: &TimerRecord, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    timer.state.is_final().then(|| now + JOBS_KEPT_FOR)
}
