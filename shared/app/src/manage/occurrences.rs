//! What became of the occurrences of a job: its history, with all attempts of an occurrence together,
//! and with the occurrences that were left out.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Role, Then};
use minutehand_domain::firing::LeftOut;
use minutehand_domain::goes_on::GoesOn;
use minutehand_ports::store::{HistoryEntry, JobRecord, TimerRecord};
use minutehand_recurrence::named;

use super::{JobPlace, Manage};
use crate::error::Result;

/// The most attempts that one request to the store reads. All attempts of one instant fit in.
const ATTEMPTS_READ_MAX: usize = 400;
/// The fewest.
const ATTEMPTS_READ_MIN: usize = 16;
/// The most ranges of occurrences that were left out.
const RANGES_READ_MAX: u32 = 100;
/// The most requests for one answer.
const ROUNDS_MAX: usize = 20;

/// Something that became due at an instant, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastOccurrence {
    /// An occurrence, or a run, with attempts.
    Attempted {
        /// The occurrence.
        occurrence: Occurrence,
        /// How the main action went.
        outcome: PastOutcome,
        /// The attempts of one generation, the oldest first, each with its record if it has ended.
        attempts: Vec<(Attempt, Option<Record>)>,
    },
    /// Occurrences that were left out.
    LeftOut(LeftOut),
}

named! {
    /// How the main action of an occurrence went.
    pub enum PastOutcome {
        /// An attempt succeeded.
        Succeeded = "succeeded",
        /// The last attempt failed, and no other follows.
        Failed = "failed",
        /// The last attempt failed, and another one follows.
        Retrying = "retrying",
        /// An attempt is under way.
        UnderWay = "underWay",
    }
}

impl PastOccurrence {
    /// The instant at which it fell due. If several were left out, the first of their instants.
    #[must_use]
    pub const fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Attempted { occurrence, .. } => occurrence.nominal_at(),
            Self::LeftOut(left_out) => left_out.first,
        }
    }
}

/// A page of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastOccurrences {
    /// The occurrences, the newest first.
    pub items: Vec<PastOccurrence>,
    /// The next page begins before this instant; `None` if this one is the last.
    pub before: Option<DateTime<Utc>>,
    /// How many attempts and ranges were read.
    pub looked_at: usize,
}

impl Manage {
    /// What became of the occurrences of a job before an instant: at most `max` instants, the newest
    /// first.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist.
    pub async fn list_occurrences(
        &self,
        of: JobPlace<'_>,
        (before, max): (Option<DateTime<Utc>>, usize),
    ) -> Result<PastOccurrences> {
        let (_, job) = self.browsed_job(of).await?;
        self.occurrences_of(&job, before, max).await
    }

    pub(super) async fn occurrences_of(
        &self,
        job: &JobRecord,
        before: Option<DateTime<Utc>>,
        max: usize,
    ) -> Result<PastOccurrences> {
        let left_out = self.ports.browse.left_out(&job.uid, before, RANGES_READ_MAX).await?;
        let mut looked_at = left_out.len();
        let mut entries: Vec<HistoryEntry> = Vec::new();
        let (mut start, mut is_whole) = (before, false);
        for _ in 0..ROUNDS_MAX {
            let missing = max.saturating_sub(instants(&entries));
            if missing == 0 || is_whole {
                break;
            }
            let wanted = (2 * missing).clamp(ATTEMPTS_READ_MIN, ATTEMPTS_READ_MAX);
            let read_max = u32::try_from(wanted).unwrap_or(u32::MAX);
            let mut read = self.ports.browse.attempts_before(&job.uid, start, read_max).await?;
            looked_at += read.len();
            is_whole = read.len() < wanted;
            if !is_whole {
                drop_last_instant(&mut read);
            }
            start = read.last().map(nominal_at).or(start);
            entries.extend(read);
        }
        let cut_at = entries.last().filter(|_| !is_whole).map(nominal_at);
        let are_cut = left_out.len() >= RANGES_READ_MAX as usize;
        let ranges_cut_at = left_out.last().filter(|_| are_cut).map(|it| it.first);
        let cut_at = cut_at.max(ranges_cut_at);
        let kept_since = self.history_since();
        let items = alive_since((entries, left_out), cut_at, kept_since, &job.timer);
        let (items, before) = first_instants(items, max, cut_at);
        Ok(PastOccurrences { items, before, looked_at })
    }
}

fn nominal_at(entry: &HistoryEntry) -> DateTime<Utc> {
    entry.attempt.occurrence.nominal_at()
}

/// How many instants there are among entries in their order.
fn instants(entries: &[HistoryEntry]) -> usize {
    entries.chunk_by(|one, other| nominal_at(one) == nominal_at(other)).count()
}

/// Drops the attempts of the last instant, of which some may not have been read, if there is another
/// instant.
fn drop_last_instant(entries: &mut Vec<HistoryEntry>) {
    let Some(last) = entries.last().map(nominal_at) else { return };
    let kept = entries.iter().filter(|entry| nominal_at(entry) != last).count();
    if kept > 0 {
        entries.truncate(kept);
    }
}

/// Puts attempts and ranges together, the newest first: those that have not expired, from the instant on
/// to which both were read.
fn alive_since(
    (entries, left_out): (Vec<HistoryEntry>, Vec<LeftOut>),
    cut_at: Option<DateTime<Utc>>,
    kept_since: DateTime<Utc>,
    timer: &TimerRecord,
) -> Vec<PastOccurrence> {
    let was_read = |at| cut_at.is_none_or(|cut_at| at >= cut_at);
    let is_kept = |it: &HistoryEntry| it.is_answered(kept_since) && was_read(nominal_at(it));
    let entries = entries.into_iter().filter(is_kept);
    let mut items = grouped(entries, timer);
    let left_out = left_out.into_iter().filter(|it| it.at > kept_since && was_read(it.first));
    items.extend(left_out.map(PastOccurrence::LeftOut));
    items.sort_by_key(|item| Reverse(item.at()));
    items
}

/// The items of the first instants, and the instant before which the next page begins.
fn first_instants(
    mut items: Vec<PastOccurrence>,
    max: usize,
    cut_at: Option<DateTime<Utc>>,
) -> (Vec<PastOccurrence>, Option<DateTime<Utc>>) {
    let last = items.chunk_by(|one, other| one.at() == other.at()).nth(max.saturating_sub(1));
    let Some(last) = last.and_then(|last| last.first()).map(PastOccurrence::at) else {
        return (items, cut_at);
    };
    let kept = items.iter().take_while(|item| item.at() >= last).count();
    let is_cut = kept < items.len() || cut_at.is_some();
    items.truncate(kept);
    (items, is_cut.then_some(last))
}

/// Groups attempts by generation and occurrence. Those of one instant may alternate.
fn grouped(
    entries: impl Iterator<Item = HistoryEntry>,
    timer: &TimerRecord,
) -> Vec<PastOccurrence> {
    let mut groups: Vec<Vec<(Attempt, Option<Record>)>> = Vec::new();
    // No worker has taken what waits for its slot or a seat.
    for HistoryEntry { attempt, record, .. } in entries.filter(|entry| !entry.waits) {
        // Bounded by the groups of the same instant, which are the last ones.
        let is_of = |group: &&mut Vec<(Attempt, Option<Record>)>| {
            group.first().is_some_and(|(first, _)| {
                first.generation == attempt.generation && first.occurrence == attempt.occurrence
            })
        };
        let at = attempt.occurrence.nominal_at();
        let same_instant = groups.iter_mut().rev().take_while(|group| {
            group.first().is_some_and(|(first, _)| first.occurrence.nominal_at() == at)
        });
        match same_instant.into_iter().find(is_of) {
            Some(group) => group.push((attempt, record)),
            None => groups.push(vec![(attempt, record)]),
        }
    }
    let attempted = groups.into_iter().filter_map(|mut attempts| {
        attempts.reverse();
        let occurrence = attempts.first()?.0.occurrence.clone();
        let outcome = outcome(&attempts, timer);
        Some(PastOccurrence::Attempted { occurrence, outcome, attempts })
    });
    attempted.collect()
}

/// How the main action went, for each occurrence with attempts at one instant.
pub(super) fn outcomes_at(
    entries: impl Iterator<Item = HistoryEntry>,
    timer: &TimerRecord,
) -> Vec<PastOutcome> {
    let mut entries: Vec<_> = entries.collect();
    // The newest first, as the history lists them.
    entries.sort_by_key(|HistoryEntry { attempt, .. }| Reverse((attempt.role, attempt.number)));
    let outcome = |found| match found {
        PastOccurrence::Attempted { outcome, .. } => Some(outcome),
        PastOccurrence::LeftOut(_) => None,
    };
    grouped(entries.into_iter(), timer).into_iter().filter_map(outcome).collect()
}

/// How the main action went, by its attempts in their order.
fn outcome(attempts: &[(Attempt, Option<Record>)], timer: &TimerRecord) -> PastOutcome {
    let mut main = attempts.iter().filter(|(attempt, _)| attempt.role == Role::Main);
    let Some((attempt, record)) = main.next_back() else {
        return PastOutcome::Failed;
    };
    let Some(record) = record else {
        return PastOutcome::UnderWay;
    };
    // A change of the timing drops the retries that are pending, except those of runs, and so does the
    // end of the job.
    let is_run = matches!(attempt.occurrence, Occurrence::Run { .. });
    let generation = timer.timing.generation;
    let goes_on = timer.timetable.as_deref().and_then(GoesOn::of_line);
    let is_current =
        attempt.generation == generation || goes_on.is_some_and(|it| it.has(generation, attempt));
    let goes_on = (is_run || (is_current && !timer.state.is_final()))
        && !attempts.iter().any(|(other, _)| other.role == Role::Error);
    match (record.outcome, record.then) {
        (Outcome::Succeeded, _) => PastOutcome::Succeeded,
        (Outcome::Failed, Some(Then::Retry { .. })) if goes_on => PastOutcome::Retrying,
        (Outcome::Failed, _) => PastOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::firing::{LeftOutReason, Outage};
    use minutehand_domain::job::{JobCounters, JobState};
    use minutehand_domain::timing::Timing;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn entry(second: i64, role: Role, number: u32) -> HistoryEntry {
        let first = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(second) });
        let record = Record {
            started_at: at(second),
            ended_at: at(second),
            outcome: Outcome::Failed,
            message: String::new(),
            repeat_count: 1,
            cause: None,
            body_bytes: 0,
            then: None,
        };
        let attempt = Attempt { role, number, ..first };
        HistoryEntry { attempt, record: Some(record), waits: false }
    }

    fn left_out(first: i64, last: i64) -> LeftOut {
        let outage = Outage { from: at(first), until: at(last) };
        LeftOut {
            generation: 1,
            first: at(first),
            last: at(last),
            occurrences: 2,
            reason: LeftOutReason::Outage(outage),
            at: at(last),
        }
    }

    fn timer() -> TimerRecord {
        TimerRecord {
            state: JobState::Enabled,
            timing: Timing { generation: 1, anchor: None, since: at(0), used: 0 },
            timetable: None,
            counters: JobCounters::default(),
            due_at: None,
            is_spent: false,
        }
    }

    fn page(
        entries: Vec<HistoryEntry>,
        ranges: Vec<LeftOut>,
        max: usize,
        cut_at: Option<i64>,
    ) -> (Vec<i64>, Option<i64>) {
        let cut_at = cut_at.map(at);
        let items = alive_since((entries, ranges), cut_at, at(0), &timer());
        let (items, before) = first_instants(items, max, cut_at);
        let instants = items.iter().map(|item| item.at().timestamp());
        (instants.collect(), before.map(|at| at.timestamp()))
    }

    #[test]
    fn attempts_of_an_occurrence_are_together_and_in_their_order() {
        let entries = vec![
            entry(120, Role::Main, 0),
            entry(60, Role::Error, 0),
            entry(60, Role::Main, 1),
            entry(60, Role::Main, 0),
        ];
        let found = grouped(entries.into_iter(), &timer());
        assert_eq!(found.len(), 2);
        let PastOccurrence::Attempted { attempts, outcome, .. } = &found[1] else { panic!() };
        let order: Vec<_> = attempts.iter().map(|(it, _)| (it.role, it.number)).collect();
        assert_eq!(order, [(Role::Main, 0), (Role::Main, 1), (Role::Error, 0)]);
        assert_eq!(*outcome, PastOutcome::Failed);
    }

    #[test]
    fn a_failed_attempt_is_retried_unless_the_timing_has_changed() {
        let mut failed = entry(60, Role::Main, 0);
        let retry = Then::Retry { due_at: at(90), is_long: false };
        failed.record = failed.record.map(|record| Record { then: Some(retry), ..record });
        let attempts = [(failed.attempt.clone(), failed.record.clone())];
        assert_eq!(outcome(&attempts, &timer()), PastOutcome::Retrying);
        let mut changed = timer();
        changed.timing.generation = 2;
        assert_eq!(outcome(&attempts, &changed), PastOutcome::Failed);
        let finished = TimerRecord { state: JobState::Faulted, ..timer() };
        assert_eq!(outcome(&attempts, &finished), PastOutcome::Failed);
        let next = (Attempt { number: 1, ..failed.attempt }, None);
        let [first] = attempts;
        assert_eq!(outcome(&[first, next], &timer()), PastOutcome::UnderWay);
    }

    #[test]
    fn a_page_ends_before_what_was_not_read() {
        let entries = || vec![entry(300, Role::Main, 0), entry(120, Role::Main, 0)];
        let ranges = || vec![left_out(180, 240), left_out(60, 90)];
        assert_eq!(page(entries(), ranges(), 10, None), (vec![300, 180, 120, 60], None));
        // More attempts may lie before the last one.
        assert_eq!(page(entries(), ranges(), 10, Some(120)), (vec![300, 180, 120], Some(120)));
        assert_eq!(page(entries(), ranges(), 2, None), (vec![300, 180], Some(180)));
        assert_eq!(page(entries(), ranges(), 4, None), (vec![300, 180, 120, 60], None));
        assert_eq!(page(Vec::new(), Vec::new(), 2, None), (vec![], None));
    }

    #[test]
    fn an_instant_of_which_some_was_not_read_is_read_again() {
        let mut read =
            vec![entry(120, Role::Main, 0), entry(60, Role::Error, 0), entry(60, Role::Main, 1)];
        drop_last_instant(&mut read);
        assert_eq!(read.len(), 1);
        drop_last_instant(&mut read);
        assert_eq!(read.len(), 1, "an instant alone stays");
    }
}
