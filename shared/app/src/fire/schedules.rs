//! The schedules of timers.
//!
//! A timer's line is a schedule, and nothing else is read. Only a line that names dates needs more: they
//! are in the definition of the job, which is read beside its timer as a worker reads it.

use minutehand_domain::schedule::Schedule;
use minutehand_ports::Snapshots;
use minutehand_ports::store::JobTimer;
use minutehand_recurrence::UnreadableTimetable;

use crate::error::Result;

/// The timer and the definition of a job are not read as of one instant. A change between the two is
/// seen by the second look.
const LOOKS_MAX: usize = 2;

/// What a timer says about when its job fires.
pub(super) enum FoundSchedule {
    /// Its schedule.
    Known(Box<Schedule>),
    /// Nothing: the job has another timing by now, or is gone.
    Changed,
    /// This version cannot read it.
    Unreadable(UnreadableTimetable),
}

/// Reads the schedule of a timer.
pub(super) async fn schedule_of(
    snapshots: &dyn Snapshots,
    timer: &JobTimer,
) -> Result<FoundSchedule> {
    let line = timer.timetable.as_str();
    let mut found = line.parse::<Schedule>();
    if Schedule::needs_document(line) {
        for _ in 0..LOOKS_MAX {
            let job = snapshots.read(&timer.job).await?;
            let is_same = |line_now: &String| line_now == line;
            let job = job.filter(|job| job.timetable.as_ref().is_some_and(is_same));
            let Some(job) = job else { return Ok(FoundSchedule::Changed) };
            found = Schedule::read(line, &job.document);
            if found.is_ok() {
                break;
            }
        }
    }
    Ok(found.map_or_else(FoundSchedule::Unreadable, |it| FoundSchedule::Known(Box::new(it))))
}
