//! Pausing a job after too many failures.
//!
//! It comes between the record of a failure and what follows it, so that the notice of that failure can
//! say that the job is paused. Every worker that finds the record does the same:
//!
//! | a crash after | leaves | repaired by |
//! |---|---|---|
//! | the record of the failure | a job that goes on | its message is delivered again: the worker finds the record, and pauses the job |
//! | the pause, which is one transaction | a paused job, whose failure has no error action and no notice yet | the same: the worker sends them. They run although the timing has changed, because they belong to a failure before the pause |
//!
//! Two workers may record the last two failures at the same time. Each reads the history after its own
//! record is stored, so at least one of them sees both.

use chrono::TimeDelta;
use minutehand_domain::attempt::Role;
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::firing::{FailedInRow, FollowPolicy, failed_in_row, is_final_failure};
use minutehand_domain::job::{JobDefinition, JobState, paused};
use minutehand_domain::journal::{JournalEntry, SCHEDULER, difference};
use minutehand_domain::pause::Paused;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::timing::Change;
use minutehand_ports::Event;
use minutehand_ports::store::{JobSnapshot, PageRequest, Pause};

use super::execute::Executor;
use super::follow::EndedAttempt;
use super::loaded_job::{LoadedJob, if_readable};
use crate::definition::properties_of;
use crate::error::{AppError, Result};

/// Entries of a page of history.
const PAGE_ITEMS: u32 = 100;
/// The most pages of history that are read: more than the attempts of as many occurrences as a pause
/// may wait for.
const PAGES_MAX: usize = 50;
/// A pause is at least this much later than the last occurrence that failed.
const AFTER_LAST: TimeDelta = TimeDelta::microseconds(1);
/// How often a pause is tried while the job changes.
const ROUNDS_MAX: usize = 5;

impl Executor {
    /// Pauses a job if this attempt is the last one of as many failures as it asks for. Returns the job
    /// as it is then; `None` if it is gone.
    pub(super) async fn pause_if_failing(
        &self,
        ended: EndedAttempt<'_>,
        loaded: LoadedJob,
        policy: FollowPolicy,
    ) -> Result<Option<LoadedJob>> {
        let EndedAttempt { job, attempt, record } = ended;
        if attempt.role != Role::Main || !is_final_failure(attempt, record, policy) {
            return Ok(Some(loaded));
        }
        let mut loaded = loaded;
        for _ in 0..ROUNDS_MAX {
            let Some((definition, row)) = self.failing(ended, &loaded, policy).await? else {
                return Ok(Some(loaded));
            };
            // The clock of another worker may be ahead: what has run is of the time before the pause.
            let now = self.ports.clock.now().max(row.last + AFTER_LAST);
            let why = Paused::after(row.occurrences, row.last, now);
            let pause = pause_of(ended, &loaded, definition, why.clone())?;
            let is_paused = match pause {
                Some(pause) => self.ports.store.timers.pause(&pause).await?,
                None => return Ok(Some(loaded)),
            };
            if is_paused {
                let (path, reason) = (loaded.path(), why.reason.as_str());
                tracing::warn!(job.path = path, job.uid, reason, "a job is paused");
                self.ports.events.note(Event::Paused { job, at: why.at, reason });
            }
            match self.load(job).await? {
                Some(now) if is_paused => return Ok(Some(now)),
                Some(now) => loaded = now,
                None => return Ok(None),
            }
        }
        Err(AppError::Busy { what: format!("job '{}'", job.key) })
    }

    /// The definition of a job that is to be paused, and what failed; `None` if it is not.
    async fn failing<'a>(
        &self,
        ended: EndedAttempt<'_>,
        loaded: &'a LoadedJob,
        policy: FollowPolicy,
    ) -> Result<Option<(&'a JobDefinition, FailedInRow)>> {
        let EndedAttempt { job, attempt, .. } = ended;
        let JobSnapshot { state, timing, .. } = loaded.snapshot.as_ref();
        let now = self.ports.clock.now();
        let goes_on =
            loaded.schedule.as_ref().is_some_and(|schedule| schedule.after(now).is_some());
        if *state != JobState::Enabled || timing.generation != attempt.generation || !goes_on {
            return Ok(None);
        }
        // A job that cannot be read cannot be written.
        let definition = if_readable(self.definition(job, loaded).await)?;
        let pause = definition.and_then(|it| Some((it, it.pause_on_failure()?)));
        let Some((definition, pause)) = pause else { return Ok(None) };
        let row = self.failed_in_row(ended, pause.after, policy).await?;
        let row = row.filter(|row| row.occurrences >= pause.after);
        Ok(row.map(|row| (definition, row)))
    }

    /// How many occurrences around this one failed in a row, as far as that matters.
    async fn failed_in_row(
        &self,
        ended: EndedAttempt<'_>,
        enough: u32,
        policy: FollowPolicy,
    ) -> Result<Option<FailedInRow>> {
        let EndedAttempt { job, attempt, .. } = ended;
        let (mut seen, mut page_from) = (Vec::new(), None);
        let mut row = None;
        for _ in 0..PAGES_MAX {
            let request = PageRequest { from: page_from, items_max: PAGE_ITEMS };
            let page = self.ports.store.history.list(&job.uid, request).await?;
            seen.extend(page.items.into_iter().map(|entry| (entry.attempt, entry.record)));
            row = failed_in_row(&seen, attempt, policy);
            let is_known = row.is_some_and(|row| row.occurrences >= enough || !row.may_be_more);
            page_from = page.next;
            if is_known || page_from.is_none() {
                break;
            }
        }
        Ok(row)
    }
}

/// The change that pauses a job; `None` if it has no timetable any more.
fn pause_of(
    ended: EndedAttempt<'_>,
    loaded: &LoadedJob,
    definition: &JobDefinition,
    why: Paused,
) -> Result<Option<Pause>> {
    let JobSnapshot { name, version, document: before, timing, timetable, .. } =
        loaded.snapshot.as_ref();
    let ended_timing = EarlierTiming::ending(timing, timetable.clone());
    let at = why.at;
    let paused = paused(definition, why);
    let change =
        timing.changed([definition, &paused], &ended.job.uid, at).map_err(Refusal::from)?;
    let Change::Becomes(timing) = change else { return Ok(None) };
    let document = paused.write().shown();
    let (job, version) = (ended.job.clone(), *version);
    let (operation, difference) =
        difference(Some(&properties_of(before)), Some(&properties_of(&document)), false);
    let entry = JournalEntry {
        at,
        who: SCHEDULER.to_owned(),
        request_id: String::new(),
        operation,
        job: Some(name.clone()),
        difference,
        run: None,
    };
    Ok(Some(Pause { job, version, timing, document, ended: ended_timing, entry }))
}
