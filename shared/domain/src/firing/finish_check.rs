//! Whether a job is over, and how it ended.
//!
//! It is over when every occurrence is handed over, none is open, and no retry is pending; then the
//! last occurrence that was owed decides. What stopped on its way (a worker died, a message was
//! lost) is not guessed at: it is sent again where it stands.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use recurrence::Timetable;

use super::limits::Spans;
use super::next_step::{NextStep, next_step};
use super::plan::{is_owed, latest_until};
use crate::attempt::{Attempt, KEPT_FOR, Occurrence, Outcome, Record, Role};
use crate::job::JobState;
use crate::retry::Retries;

/// What is known of a job that has handed over its last occurrence.
#[derive(Debug)]
pub struct JobProgress<'a> {
    /// When it fires.
    pub timetable: &'a Timetable,
    /// Its timing's generation.
    pub generation: u64,
    /// Since when its occurrences are owed.
    pub since: DateTime<Utc>,
    /// Its retries.
    pub retries: Retries,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
    /// From which occurrence on the executions are seen.
    pub seen_from: DateTime<Utc>,
    /// What it has executed and is executing since then, and possibly before.
    pub executions: &'a [(Attempt, Option<Record>)],
    /// Its retries that wait in timers of their own, also those of others than the main action, and
    /// of older timings.
    pub pending: &'a [Attempt],
}

/// What comes of looking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinishCheck {
    /// What is sent again, as it stopped long ago.
    pub resend: Vec<Attempt>,
    /// The state in which the job ends, if it does.
    pub over: Option<JobState>,
}

/// How one occurrence stands.
#[derive(Debug)]
enum OccurrenceStatus {
    Succeeded,
    Failed,
    /// It was never owed.
    Void,
    /// An attempt is to come, or under way.
    Open(Attempt),
}

/// What bounds that an occurrence is owed, and that a retry is short.
#[derive(Clone, Copy)]
struct Bounds {
    on_since: DateTime<Utc>,
    floor: DateTime<Utc>,
    horizon: TimeDelta,
    /// What ended before this is not kept any more.
    expired: DateTime<Utc>,
}

/// The last occurrence that may have been handed over.
#[must_use]
pub fn last_until_now(
    timetable: &Timetable,
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    spans: &Spans,
) -> Option<DateTime<Utc>> {
    // Whoever handed it over may have had a clock that is ahead.
    latest_until(timetable, since, now + spans.horizon + spans.look_again)
}

/// From which occurrence on the executions have to be seen, given the last one: as far back as a
/// chain of short retries can last which something held up for so long.
#[must_use]
pub fn seen_from(
    last: DateTime<Utc>,
    retries: Retries,
    held_up: TimeDelta,
    spans: &Spans,
) -> DateTime<Utc> {
    let interval = i64::try_from(retries.interval.millis()).unwrap_or(i64::MAX);
    let interval = TimeDelta::try_milliseconds(interval).unwrap_or(TimeDelta::MAX);
    let round = interval.min(spans.horizon) + spans.stuck;
    let count = i32::try_from(retries.count).unwrap_or(i32::MAX);
    let chain = round.checked_mul(count).unwrap_or(TimeDelta::MAX);
    let back = chain.checked_add(&(spans.look_again * 2));
    let back = back.and_then(|back| back.checked_add(&held_up)).unwrap_or(TimeDelta::MAX);
    last.checked_sub_signed(back).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// The longest time between two occurrences that were executed, of these from the newest to the oldest.
/// An outage is such a gap, and so much longer is the chain of an occurrence that was on its way then.
#[must_use]
pub fn longest_gap(executions: &[(Attempt, Option<Record>)]) -> TimeDelta {
    let nominal = |(attempt, _): &(Attempt, Option<Record>)| attempt.occurrence.nominal_at();
    let gaps = executions.windows(2).filter_map(|pair| match pair {
        [newer, older] => Some(nominal(newer) - nominal(older)),
        _ => None,
    });
    gaps.max().unwrap_or_default().max(TimeDelta::zero())
}

/// Looks whether a job is over.
#[must_use]
pub fn check_finished(
    chain: &JobProgress<'_>,
    now: DateTime<Utc>,
    floor: DateTime<Utc>,
    spans: &Spans,
) -> FinishCheck {
    let Some(on_since) = chain.collection_on_since else {
        // What it owes is decided when its collection is on again.
        return FinishCheck::default();
    };
    let Some(last) = last_until_now(chain.timetable, chain.since, now, spans) else {
        return FinishCheck { resend: Vec::new(), over: Some(JobState::Completed) };
    };
    let mut seen = HashMap::new();
    for (attempt, record) in chain.executions {
        if decides(chain, attempt) {
            seen.insert((attempt.occurrence.nominal_at(), attempt.number), record.as_ref());
        }
    }
    let expired = now.checked_sub_signed(KEPT_FOR).unwrap_or(DateTime::<Utc>::MIN_UTC);
    let bounds = Bounds { on_since, floor, horizon: spans.horizon, expired };
    let mut conclusion = FinishCheck::default();
    let mut state = JobState::Completed;
    let mut is_open = false;
    let mut next = chain.timetable.at_or_after(chain.seen_from);
    // Bounded: a chain of retries lasts hours, and occurrences are a minute apart.
    while let Some(nominal_at) = next.filter(|at| *at <= last) {
        match occurrence_status(chain, nominal_at, &seen, bounds) {
            OccurrenceStatus::Succeeded => state = JobState::Completed,
            OccurrenceStatus::Failed => state = JobState::Faulted,
            OccurrenceStatus::Void => {}
            OccurrenceStatus::Open(attempt) => {
                is_open = true;
                if attempt.due_at <= now - spans.stuck && !waits(chain, nominal_at) {
                    conclusion.resend.push(attempt);
                }
            }
        }
        next = chain.timetable.after(nominal_at);
    }
    if !is_open && !chain.pending.iter().any(|retry| decides(chain, retry)) {
        conclusion.over = Some(state);
    }
    conclusion
}

/// Whether a retry of an occurrence waits in a timer, which sends it; what came before it may have expired
/// meanwhile. The timer may also be gone, and the retry owed all the same: when it fell due its collection
/// was off by one clock, and on by another.
fn waits(chain: &JobProgress<'_>, nominal_at: DateTime<Utc>) -> bool {
    let mut pending = chain.pending.iter().filter(|retry| decides(chain, retry));
    pending.any(|retry| retry.occurrence.nominal_at() == nominal_at)
}

/// Whether an attempt has a part in how a job ends: runs have none, nor have error actions.
fn decides(chain: &JobProgress<'_>, attempt: &Attempt) -> bool {
    attempt.role == Role::Main
        && attempt.generation == chain.generation
        && matches!(attempt.occurrence, Occurrence::Scheduled { .. })
}

fn occurrence_status(
    chain: &JobProgress<'_>,
    nominal_at: DateTime<Utc>,
    seen: &HashMap<(DateTime<Utc>, u32), Option<&Record>>,
    Bounds { on_since, floor, horizon, expired }: Bounds,
) -> OccurrenceStatus {
    let first = Attempt::first(chain.generation, Occurrence::Scheduled { nominal_at });
    // What came before the latest that has ended may have expired.
    let has_ended = |number: &u32| matches!(seen.get(&(nominal_at, *number)), Some(Some(_)));
    let number = (0..=chain.retries.count).rev().find(has_ended).unwrap_or(0);
    let mut attempt = Attempt { number, ..first };
    // Bounded by the number of retries.
    loop {
        let record = match seen.get(&(nominal_at, attempt.number)) {
            Some(Some(record)) => record,
            None if attempt.number == 0 => {
                let is_void = attempt.due_at < on_since.max(expired)
                    || !is_owed(chain.timetable, nominal_at, floor);
                return if is_void {
                    OccurrenceStatus::Void
                } else {
                    OccurrenceStatus::Open(attempt)
                };
            }
            None if attempt.due_at < on_since => return OccurrenceStatus::Failed,
            // It is claimed, or to come.
            Some(None) | None => return OccurrenceStatus::Open(attempt),
        };
        if record.outcome == Outcome::Succeeded {
            return OccurrenceStatus::Succeeded;
        }
        match next_step(&attempt, record, chain.retries, false, horizon) {
            NextStep::Retry(next) => attempt = next,
            NextStep::Nothing | NextStep::ErrorAction(_) => return OccurrenceStatus::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use recurrence::{Recurrence, Rule};

    use super::*;
    use crate::duration::Span;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
    }

    /// Three occurrences, at the minutes 0, 10 and 20.
    fn thrice() -> Timetable {
        let rule = serde_json::json!({"frequency": "minute", "interval": 10, "count": 3});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Timetable::new(&rule, None, at(0)).unwrap()
    }

    fn ended(minute: i64, number: u32, outcome: Outcome) -> (Attempt, Option<Record>) {
        let (attempt, _) = claimed(minute, number);
        let ended_at = at(minute) + TimeDelta::seconds(30 * i64::from(number) + 1);
        let message = String::new();
        let record = Record { started_at: at(minute), ended_at, outcome, message, repeat_count: 1 };
        (attempt, Some(record))
    }

    fn claimed(minute: i64, number: u32) -> (Attempt, Option<Record>) {
        let occurrence = Occurrence::Scheduled { nominal_at: at(minute) };
        (Attempt { number, ..Attempt::first(1, occurrence) }, None)
    }

    struct Case<'a> {
        executions: &'a [(Attempt, Option<Record>)],
        interval: u64,
        on_since: Option<DateTime<Utc>>,
        now: i64,
        floor: i64,
        pending: &'a [Attempt],
    }

    const GOOD: Case<'_> = Case {
        executions: &[],
        interval: 30,
        on_since: Some(DateTime::UNIX_EPOCH),
        now: 40,
        floor: -60,
        pending: &[],
    };

    /// What is sent again, as minute and number; and the state.
    fn look(case: &Case<'_>) -> (Vec<(i64, u32)>, Option<JobState>) {
        let timetable = thrice();
        let retries = Retries { count: 1, interval: Span::seconds(case.interval) };
        let chain = JobProgress {
            timetable: &timetable,
            generation: 1,
            since: at(0),
            retries,
            seen_from: seen_from(at(20), retries, TimeDelta::zero(), &Spans::WORK),
            collection_on_since: case.on_since,
            executions: case.executions,
            pending: case.pending,
        };
        let conclusion = check_finished(&chain, at(case.now), at(case.floor), &Spans::WORK);
        let resend = conclusion.resend.iter();
        let minute = |attempt: &Attempt| attempt.occurrence.nominal_at().timestamp() / 60;
        let resend = resend.map(|attempt| (minute(attempt), attempt.number)).collect();
        (resend, conclusion.over)
    }

    use Outcome::{Failed, Succeeded};

    #[test]
    fn the_last_occurrence_decides() {
        let ok = [ended(0, 0, Succeeded), ended(10, 0, Succeeded), ended(20, 0, Succeeded)];
        let over = |executions: &[_]| look(&Case { executions, ..GOOD });
        assert_eq!(over(&ok), (vec![], Some(JobState::Completed)));
        let failed = [
            ended(0, 0, Succeeded),
            ended(10, 0, Succeeded),
            ended(20, 0, Failed),
            ended(20, 1, Failed),
        ];
        assert_eq!(over(&failed), (vec![], Some(JobState::Faulted)));
        let recovered = [
            ended(0, 0, Failed),
            ended(0, 1, Failed),
            ended(10, 0, Succeeded),
            ended(20, 0, Failed),
            ended(20, 1, Succeeded),
        ];
        assert_eq!(over(&recovered), (vec![], Some(JobState::Completed)));
    }

    #[test]
    fn what_is_open_keeps_it_open_and_what_stopped_is_sent_again() {
        let early = [ended(0, 0, Failed), ended(10, 0, Succeeded), ended(20, 0, Succeeded)];
        // The retry of the first has never been seen.
        assert_eq!(look(&Case { executions: &early, ..GOOD }), (vec![(0, 1)], None));
        let claim = [ended(0, 0, Succeeded), ended(10, 0, Succeeded), claimed(20, 0)];
        assert_eq!(look(&Case { executions: &claim, ..GOOD }), (vec![(20, 0)], None));
        // A moment ago is not long ago.
        assert_eq!(look(&Case { executions: &claim, now: 21, ..GOOD }), (vec![], None));
        assert_eq!(look(&GOOD), (vec![(0, 0), (10, 0), (20, 0)], None));
    }

    #[test]
    fn a_long_retry_keeps_it_open_and_is_sent_by_its_timer() {
        let executions = [ended(0, 0, Succeeded), ended(10, 0, Succeeded), ended(20, 0, Failed)];
        let (waiting, _) = claimed(20, 1);
        let pending = [waiting];
        let case =
            Case { executions: &executions, interval: 3_600, now: 300, pending: &pending, ..GOOD };
        assert_eq!(look(&case), (vec![], None));
        // Without its timer nobody else would send it.
        assert_eq!(look(&Case { pending: &[], ..case }), (vec![(20, 1)], None));
        let early = Case { executions: &executions, interval: 3_600, now: 60, ..GOOD };
        assert_eq!(look(&early), (vec![], None));
        // One of an occurrence that is too long ago to be seen.
        let ok = [ended(0, 0, Succeeded), ended(10, 0, Succeeded), ended(20, 0, Succeeded)];
        let (retry, _) = ended(0, 1, Failed);
        let pending = [retry.clone()];
        assert_eq!(look(&Case { executions: &ok, pending: &pending, ..GOOD }), (vec![], None));
        // Those of an older timing, and of an error action, decide nothing.
        let others =
            [Attempt { generation: 0, ..retry.clone() }, Attempt { role: Role::Error, ..retry }];
        let case = Case { executions: &ok, pending: &others, ..GOOD };
        assert_eq!(look(&case), (vec![], Some(JobState::Completed)));
    }

    #[test]
    fn it_looks_further_back_by_the_gap_that_an_outage_left() {
        let executions = [
            claimed(200, 0),
            ended(190, 1, Failed),
            ended(190, 0, Failed),
            ended(90, 0, Succeeded),
        ];
        assert_eq!(longest_gap(&executions), TimeDelta::minutes(100));
        assert_eq!(longest_gap(&executions[..3]), TimeDelta::minutes(10));
        assert_eq!(longest_gap(&[]), TimeDelta::zero());
        let from = |held_up| {
            let retries = Retries { count: 1, interval: Span::seconds(30) };
            seen_from(at(200), retries, TimeDelta::minutes(held_up), &Spans::WORK)
        };
        assert_eq!(from(0) - from(65), TimeDelta::minutes(65));
    }

    #[test]
    fn what_has_expired_is_not_sent_again() {
        let now = 61 * 24 * 60;
        let waiting = [Attempt { is_long: true, ..claimed(20, 1).0 }];
        let case = Case { interval: 90 * 86_400, now, pending: &waiting, ..GOOD };
        assert_eq!(look(&case), (vec![], None));
        // The retry has been made; what it was a retry of has expired.
        let retried = [ended(20, 1, Succeeded)];
        let case = Case { executions: &retried, pending: &[], ..case };
        assert_eq!(look(&case), (vec![], Some(JobState::Completed)));
    }

    #[test]
    fn what_was_not_owed_does_not_count() {
        let first = [ended(0, 0, Failed), ended(0, 1, Failed)];
        let case = Case { executions: &first, ..GOOD };
        // The collection was off when the others fell due, and is on again.
        let again = Case { on_since: Some(at(35)), ..case };
        assert_eq!(look(&again), (vec![], Some(JobState::Faulted)));
        let off = Case { on_since: None, ..again };
        assert_eq!(look(&off), (vec![], None));
        // An outage overtook the second; the last always runs.
        let late = Case { floor: 25, now: 60, on_since: GOOD.on_since, ..off };
        assert_eq!(look(&late), (vec![(20, 0)], None));
        // A retry that fell due while the collection was off never comes.
        let pending = [ended(0, 0, Succeeded), ended(10, 0, Succeeded), ended(20, 0, Failed)];
        let gone = Case { executions: &pending, on_since: Some(at(35)), ..GOOD };
        assert_eq!(look(&gone), (vec![], Some(JobState::Faulted)));
        // With none owed at all it completed.
        assert_eq!(look(&Case { on_since: Some(at(35)), ..GOOD }).1, Some(JobState::Completed));
    }

    #[test]
    fn attempts_of_another_generation_are_of_another_timetable() {
        let mut executions =
            [ended(0, 0, Succeeded), ended(10, 0, Succeeded), ended(20, 0, Succeeded)];
        for (attempt, _) in &mut executions {
            attempt.generation = 0;
        }
        assert_eq!(look(&Case { executions: &executions, ..GOOD }).1, None);
    }
}
