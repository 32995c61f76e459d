//! Whether a job has finished, and in which state.
//!
//! A job has finished when every occurrence is dispatched, none is open, and no retry is waiting. Then
//! the last occurrence that had to fire decides on the state. An attempt that has stalled, because a
//! worker died or a message was lost, is sent again.
//!
//! A job that was disabled may [go on](crate::goes_on) with its last occurrence. Then only that one is
//! looked at. What had been sent for it was dropped if it was due while the job was disabled, so it is sent
//! again at once. The same holds for the last occurrence of a job whose collection was off, except that a
//! first attempt does not run after that.
//!
//! What follows the last failure, its error action or its notice, may have been dropped as well. So it is
//! part of the result, and is sent before the job finishes. If it was done, its worker finds the record.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::limits::Spans;
use super::may_start::fell_due_at;
use super::next_step::{FollowPolicy, NextStep, OnFailure, next_step};
use super::outage::{LeftOut, Outage, end_beside_outages, overtaken_in};
use super::plan::latest_until;
use crate::attempt::{Attempt, Occurrence, Outcome, Record, Role};
use crate::job::JobState;
use crate::retry::Retries;
use crate::schedule::Schedule;
use crate::tick::LAST_SECOND;

/// What the check must know of a job whose last occurrence is dispatched.
#[derive(Debug)]
pub struct JobProgress<'a> {
    /// When it fires.
    pub timetable: &'a Schedule,
    /// The generation of its timing.
    pub generation: u64,
    /// Since when its timing holds.
    pub since: DateTime<Utc>,
    /// Its retries.
    pub retries: Retries,
    /// What it has for a failure.
    pub on_failure: OnFailure,
    /// Since when its collection is on; `None` if it is off.
    pub collection_on_since: Option<DateTime<Utc>>,
    /// The attempts of occurrences from this time on are known.
    pub seen_from: DateTime<Utc>,
    /// The attempts of these occurrences, and possibly of earlier ones, with their records.
    pub executions: &'a [(Attempt, Option<Record>)],
    /// Its retries that wait in timers, including those of the error action and of older timings.
    pub pending: &'a [Attempt],
    /// An attempt from this time on that has no record was not made. Of earlier ones, the record may have
    /// expired.
    pub known_since: DateTime<Utc>,
    /// What was left out of its occurrences from this time on.
    pub left_out: &'a [LeftOut],
    /// The outages of sweepers.
    pub outages_of_sweepers: &'a [Outage],
    /// The outages of workers.
    pub outages_of_workers: &'a [Outage],
}

/// The result of the check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinishCheck {
    /// The attempts that have stalled, to be sent again.
    pub resend: Vec<Attempt>,
    /// First attempts that were left out, and whose claims the workers did not release. They are to be
    /// released: sent again, they might start when their outage is forgotten.
    pub release: Vec<Attempt>,
    /// The state in which the job finishes, if it does.
    pub over: Option<JobState>,
    /// What follows the failure with which it finishes.
    pub follows: Option<Attempt>,
    /// Whether the history of an occurrence has expired, so that it counts as none that had to fire.
    pub is_history_gone: bool,
}

/// The status of one occurrence.
#[derive(Debug)]
enum OccurrenceStatus {
    Succeeded,
    /// It failed, and the error action or the notice follows.
    Failed(Option<Attempt>),
    /// It did not have to fire.
    Void,
    /// It may have fired, and its history has expired.
    Forgotten,
    /// An attempt is in progress.
    UnderWay(Attempt),
    /// An attempt is still to come.
    ToCome(Attempt),
}

/// The attempts that decide on how a job finishes.
#[derive(Default)]
struct Seen<'a> {
    /// The record of each, if it has ended.
    attempts: HashMap<(DateTime<Utc>, u32), Option<&'a Record>>,
    /// The number of the latest one of each occurrence that has ended.
    last_ended: HashMap<DateTime<Utc>, u32>,
}

impl<'a> Seen<'a> {
    fn of(progress: &JobProgress<'a>) -> Self {
        let mut seen = Self::default();
        for (attempt, record) in progress.executions {
            if !decides(progress, attempt) {
                continue;
            }
            let (nominal_at, number) = (attempt.occurrence.nominal_at(), attempt.number);
            seen.attempts.insert((nominal_at, number), record.as_ref());
            if record.is_some() {
                let last = seen.last_ended.entry(nominal_at).or_default();
                *last = number.max(*last);
            }
        }
        seen
    }
}

/// The bounds by which an occurrence must fire, and by which a retry is short.
#[derive(Clone, Copy)]
struct Bounds {
    on_since: DateTime<Utc>,
    horizon: TimeDelta,
    /// The last occurrence.
    last: DateTime<Utc>,
}

/// The last occurrence of a job that is checked, all of whose occurrences are dispatched. It may be in
/// the future: some are dispatched ahead, and a clock may be set back after that.
#[must_use]
pub fn last_occurrence(timetable: &Schedule) -> Option<DateTime<Utc>> {
    let end = DateTime::from_timestamp(LAST_SECOND, 0)?;
    latest_until(timetable, timetable.iter().next()?, end)
}

/// From which time on the attempts must be known, given the last occurrence: as far back as a series of
/// short retries can last that was held up for `held_up`.
#[must_use]
pub fn seen_from(
    last: DateTime<Utc>,
    retries: Retries,
    held_up: TimeDelta,
    spans: &Spans,
) -> DateTime<Utc> {
    let round = retries.longest_wait().delta().min(spans.horizon) + spans.stuck;
    let count = i32::try_from(retries.count).unwrap_or(i32::MAX);
    let series = round.checked_mul(count).unwrap_or(TimeDelta::MAX);
    let back = series.checked_add(&(spans.look_again * 2));
    let back = back.and_then(|back| back.checked_add(&held_up)).unwrap_or(TimeDelta::MAX);
    last.checked_sub_signed(back).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// The same, beside outages of workers, the oldest first: what was sent when one began may be under way still
/// when it is over.
#[must_use]
pub fn seen_before_outages(
    from: DateTime<Utc>,
    outages: &[Outage],
    spans: &Spans,
) -> DateTime<Utc> {
    // An outage begins two beats after the last sign of life.
    let back = spans.beat_every * 2 + spans.horizon;
    outages.iter().rfold(from, |from, outage| {
        if outage.until < from {
            return from;
        }
        from.min(outage.from.checked_sub_signed(back).unwrap_or(DateTime::<Utc>::MIN_UTC))
    })
}

/// For how long attempts may have been held up, which come from the newest to the oldest: the longest
/// time between two occurrences that ran, from the newest of them to the last occurrence of all, or from
/// an occurrence until its first attempt. A series of retries that was in progress then, or began after
/// it, ends that much later.
#[must_use]
pub fn held_up(last: DateTime<Utc>, executions: &[(Attempt, Option<Record>)]) -> TimeDelta {
    let mut longest = TimeDelta::zero();
    // A job that makes up for nothing leaves out the last occurrences of an outage, too.
    let mut later = last;
    for (attempt, record) in executions {
        let Attempt { occurrence: Occurrence::Scheduled { nominal_at }, role: Role::Main, .. } =
            *attempt
        else {
            // A run may fall into an outage of the sweeper, which holds only occurrences up.
            continue;
        };
        longest = longest.max(later - nominal_at);
        later = nominal_at;
        if let (0, Some(record)) = (attempt.number, record) {
            longest = longest.max(record.started_at - nominal_at);
        }
    }
    longest
}

/// Checks whether a job has finished.
///
/// What fell into an outage counts as left out only if that is recorded: it may as well be late for
/// another reason, and on its way.
#[must_use]
pub fn check_finished(
    progress: &JobProgress<'_>,
    now: DateTime<Utc>,
    spans: &Spans,
) -> FinishCheck {
    let Some(on_since) = progress.collection_on_since else {
        // What must still fire is decided when the collection is on again.
        return FinishCheck::default();
    };
    let Some(last) = last_occurrence(progress.timetable) else {
        return FinishCheck { over: Some(JobState::Completed), ..FinishCheck::default() };
    };
    let seen = Seen::of(progress);
    let bounds = Bounds { on_since, horizon: spans.horizon, last };
    let mut check = FinishCheck::default();
    let mut state = JobState::Completed;
    let mut is_open = false;
    let mut next = progress.timetable.at_or_after(progress.seen_from);
    // Bounded: a series of retries lasts hours, and occurrences are a minute apart.
    while let Some(nominal_at) = next.filter(|at| *at <= last) {
        match occurrence_status(progress, nominal_at, &seen, bounds) {
            OccurrenceStatus::Succeeded => (state, check.follows) = (JobState::Completed, None),
            OccurrenceStatus::Failed(next) => (state, check.follows) = (JobState::Faulted, next),
            OccurrenceStatus::Void => {}
            OccurrenceStatus::Forgotten => check.is_history_gone = true,
            OccurrenceStatus::UnderWay(attempt) => {
                is_open = true;
                let is_left_out = attempt.number == 0 && is_left_out(progress, nominal_at);
                let again = if is_left_out { &mut check.release } else { &mut check.resend };
                again.extend(stalled(progress, attempt, now, spans));
            }
            OccurrenceStatus::ToCome(attempt) => {
                is_open = true;
                let was_dropped = progress.timetable.goes_on.is_some()
                    && attempt.due_at < progress.since
                    && !waits(progress, nominal_at);
                check.resend.extend(if was_dropped {
                    Some(attempt)
                } else {
                    stalled(progress, attempt, now, spans)
                });
            }
        }
        next = progress.timetable.after(nominal_at);
    }
    if !is_open && !progress.pending.iter().any(|retry| decides(progress, retry)) {
        check.over = Some(state);
    }
    check
}

/// An open attempt that has stalled, as it is sent again.
///
/// Where an outage would explain why it is late, it may just as well have been sent after that. So
/// workers get the time to leave it out: see [`leave_out_until`]. If none does so, the outage is not the
/// reason, and it is sent as one that no earlier outage explains.
fn stalled(
    progress: &JobProgress<'_>,
    attempt: Attempt,
    now: DateTime<Utc>,
    spans: &Spans,
) -> Option<Attempt> {
    let nominal_at = attempt.occurrence.nominal_at();
    if attempt.due_at > now - spans.stuck || waits(progress, nominal_at) {
        return None;
    }
    if attempt.number > 0 || is_left_out(progress, nominal_at) {
        return Some(attempt);
    }
    let starts_at = progress.timetable.start(nominal_at);
    let outages = progress.outages_of_workers;
    match overtaken_in(progress.timetable, nominal_at, starts_at, outages) {
        Some(outage) if now < leave_out_until(outage, progress.outages_of_sweepers, spans) => None,
        Some(_) => Some(attempt.sent_at(now)),
        None => Some(attempt),
    }
}

/// Until when workers have the time to leave out what an outage cost. While sweepers are away, workers
/// may be, too. An outage of workers alone does not count: they give no sign of life while they have
/// nothing to do.
fn leave_out_until(outage: Outage, of_sweepers: &[Outage], spans: &Spans) -> DateTime<Utc> {
    end_beside_outages(outage.until, spans.look_again, of_sweepers)
}

/// Whether a retry of an occurrence waits in a timer, which sends it. The records before it may have
/// expired meanwhile. The timer may also be gone although the retry must still start: when the retry was
/// due, its collection was off by the clock of one worker and on by the clock of another.
fn waits(progress: &JobProgress<'_>, nominal_at: DateTime<Utc>) -> bool {
    let mut pending = progress.pending.iter().filter(|retry| decides(progress, retry));
    pending.any(|retry| retry.occurrence.nominal_at() == nominal_at)
}

/// Whether an attempt decides on how a job finishes. Runs do not, and error actions do not.
fn decides(progress: &JobProgress<'_>, attempt: &Attempt) -> bool {
    attempt.role == Role::Main
        && progress.timetable.has(progress.generation, attempt)
        && matches!(attempt.occurrence, Occurrence::Scheduled { .. })
}

/// Whether an occurrence may have been made up for after an outage, so late that its record, if there was
/// one, cannot have expired. At the beginning of an outage, what had been sent may still have run.
fn is_made_up(progress: &JobProgress<'_>, fell_due_at: DateTime<Utc>, horizon: TimeDelta) -> bool {
    progress.outages_of_sweepers.iter().chain(progress.outages_of_workers).any(|outage| {
        outage.until >= progress.known_since
            && fell_due_at <= outage.until
            && outage.from.checked_add_signed(horizon).is_some_and(|from| from < fell_due_at)
    })
}

/// Whether it is recorded that an occurrence was left out.
fn is_left_out(progress: &JobProgress<'_>, nominal_at: DateTime<Utc>) -> bool {
    let first = progress.timetable.attempt(progress.generation, nominal_at);
    progress.left_out.iter().any(|it| it.contains(first.generation, nominal_at))
}

fn occurrence_status(
    progress: &JobProgress<'_>,
    nominal_at: DateTime<Utc>,
    seen: &Seen<'_>,
    Bounds { on_since, horizon, last }: Bounds,
) -> OccurrenceStatus {
    let first = progress.timetable.attempt(progress.generation, nominal_at);
    let JobProgress { retries, on_failure, .. } = *progress;
    let policy = FollowPolicy { retries, on_failure, horizon };
    // The records before the latest one may have expired. They may also not say what follows, and the job
    // may have fewer retries by now than were made.
    let number = seen.last_ended.get(&nominal_at).copied().unwrap_or(0);
    let mut attempt = Attempt { number, ..first };
    // Bounded by the number of retries.
    loop {
        let record = match seen.attempts.get(&(nominal_at, attempt.number)) {
            Some(Some(record)) => record,
            None if attempt.number == 0 => {
                let fell_due_at = fell_due_at(&attempt, progress.generation, progress.since);
                return if fell_due_at < on_since || is_left_out(progress, nominal_at) {
                    OccurrenceStatus::Void
                } else if fell_due_at < progress.known_since
                    && !is_made_up(progress, fell_due_at, horizon)
                {
                    OccurrenceStatus::Forgotten
                } else {
                    OccurrenceStatus::ToCome(attempt)
                };
            }
            None if attempt.due_at < on_since && nominal_at != last => {
                return OccurrenceStatus::Failed(None);
            }
            None => return OccurrenceStatus::ToCome(attempt),
            Some(None) => return OccurrenceStatus::UnderWay(attempt),
        };
        if record.outcome == Outcome::Succeeded {
            return OccurrenceStatus::Succeeded;
        }
        match next_step(&attempt, record, policy) {
            NextStep::Retry(next) => attempt = next,
            NextStep::Nothing => return OccurrenceStatus::Failed(None),
            NextStep::ErrorAction(next) | NextStep::Notice(next) => {
                return OccurrenceStatus::Failed(Some(next));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable};

    use super::super::outage::LeftOutReason;
    use super::*;
    use crate::attempt::Then;
    use crate::duration::Span;
    use crate::goes_on::GoesOn;
    use crate::history_days::HistoryDays;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(60 * minute, 0).unwrap()
    }

    /// Three occurrences, at the minutes 0, 10 and 20.
    fn thrice() -> Schedule {
        let rule = serde_json::json!({"frequency": "minute", "interval": 10, "count": 3});
        let rule = Rule::canonical(&Recurrence::from_json(&rule).unwrap()).unwrap();
        Schedule::from(Timetable::new(&rule, None, at(0)).unwrap())
    }

    fn ended(minute: i64, number: u32, outcome: Outcome) -> (Attempt, Option<Record>) {
        let (attempt, _) = claimed(minute, number);
        let ended_at = at(minute) + TimeDelta::seconds(30 * i64::from(number) + 1);
        let message = String::new();
        let record = Record {
            started_at: at(minute),
            ended_at,
            outcome,
            message,
            repeat_count: 1,
            cause: None,
            body_bytes: 0,
            then: None,
        };
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
        /// An outage of workers, from one minute to another.
        outage: (i64, i64),
        /// The minutes of the first and the last occurrence that was left out.
        left_out: Option<(i64, i64)>,
        pending: &'a [Attempt],
        history: HistoryDays,
        /// The timing, and the minute since which it holds.
        generation: u64,
        since: i64,
        goes_on: Option<GoesOn>,
        has_error_action: bool,
    }

    const GOOD: Case<'_> = Case {
        executions: &[],
        interval: 30,
        on_since: Some(DateTime::UNIX_EPOCH),
        now: 40,
        outage: (-60, -50),
        left_out: None,
        pending: &[],
        history: HistoryDays::Sixty,
        generation: 1,
        since: 0,
        goes_on: None,
        has_error_action: false,
    };

    /// What is sent again, as minute and number; and the state.
    fn look(case: &Case<'_>) -> (Vec<(i64, u32)>, Option<JobState>) {
        let check = check(case);
        let minute = |attempt: &Attempt| attempt.occurrence.nominal_at().timestamp() / 60;
        let resend = check.resend.iter();
        (resend.map(|attempt| (minute(attempt), attempt.number)).collect(), check.over)
    }

    fn check(case: &Case<'_>) -> FinishCheck {
        let timetable = Schedule { goes_on: case.goes_on, ..thrice() };
        let retries = Retries::new(1, Span::seconds(case.interval));
        let (from, until) = case.outage;
        let outages = [Outage { from: at(from), until: at(until) }];
        let left_out = case.left_out.map(|(first, last)| LeftOut {
            generation: 1,
            first: at(first),
            last: at(last),
            occurrences: 1,
            reason: LeftOutReason::Outage(outages[0]),
            at: at(until),
        });
        let chain = JobProgress {
            timetable: &timetable,
            generation: case.generation,
            since: at(case.since),
            retries,
            on_failure: OnFailure { has_error_action: case.has_error_action, has_notice: false },
            seen_from: seen_from(at(20), retries, TimeDelta::zero(), &Spans::WORK),
            collection_on_since: case.on_since,
            executions: case.executions,
            pending: case.pending,
            known_since: case.history.known_since(at(case.now)),
            left_out: left_out.as_slice(),
            outages_of_sweepers: &outages,
            outages_of_workers: &outages,
        };
        check_finished(&chain, at(case.now), &Spans::WORK)
    }

    use Outcome::{Failed, Succeeded};

    #[test]
    fn what_was_sent_before_an_outage_is_seen_after_it() {
        let outage = |from: i64, until: i64| Outage { from: at(from), until: at(until) };
        let spans = Spans::WORK;
        let back = spans.beat_every * 2 + spans.horizon;
        let seen = |from: i64, outages: &[Outage]| seen_before_outages(at(from), outages, &spans);
        let (first, second) = (outage(100, 160), outage(170, 300));
        for (from, outages, expected) in [
            (200, vec![], at(200)),
            (301, vec![first, second], at(301)),
            // The second one goes back to the first one.
            (300, vec![first, second], at(100) - back),
            (300, vec![second], at(170) - back),
            (50, vec![first], at(50)),
        ] {
            assert_eq!(seen(from, &outages), expected, "{from} {outages:?}");
        }
    }

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
        // Its timer is gone, so nothing else sends it.
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
        assert_eq!(held_up(at(200), &executions), TimeDelta::minutes(100));
        assert_eq!(held_up(at(200), &executions[..3]), TimeDelta::minutes(10));
        assert_eq!(held_up(at(200), &[]), TimeDelta::zero());
        // The occurrences after the newest attempt were left out.
        assert_eq!(held_up(at(700), &executions[..3]), TimeDelta::minutes(500));
        // A run between two occurrences does not part the time between them.
        let (attempt, _) = claimed(140, 0);
        let occurrence = Occurrence::Run { asked_at: at(140), run_id: "r".to_owned() };
        let run = Attempt { occurrence, ..attempt };
        let with_run = [ended(190, 0, Failed), (run, None), ended(90, 0, Succeeded)];
        assert_eq!(held_up(at(190), &with_run), TimeDelta::minutes(100));
        // All ran, late, and no outage is known: no sign of life was given before.
        let late = |minute| {
            let (attempt, record) = ended(minute, 0, Failed);
            (attempt, record.map(|record| Record { started_at: at(300), ..record }))
        };
        let late = [late(290), late(280), ended(280, 1, Failed)];
        assert_eq!(held_up(at(290), &late), TimeDelta::minutes(20));
        let from = |held_up| {
            let retries = Retries::new(1, Span::seconds(30));
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
        // With a shorter history, the same happens earlier.
        let now = 7 * 24 * 60;
        for (history, resent) in
            [(HistoryDays::Seven, vec![]), (HistoryDays::Fifteen, vec![(0, 0), (10, 0)])]
        {
            let executions = [ended(20, 1, Succeeded)];
            let found = look(&Case {
                executions: &executions,
                now,
                history,
                interval: 90 * 86_400,
                ..GOOD
            });
            let over = resent.is_empty().then_some(JobState::Completed);
            assert_eq!(found, (resent, over));
        }
        // The last attempt is known, and decides.
        let failed = [ended(20, 1, Failed)];
        let case = Case { executions: &failed, now, history: HistoryDays::Seven, ..GOOD };
        assert_eq!(look(&case), (vec![], Some(JobState::Faulted)));
    }

    #[test]
    fn what_an_outage_held_up_for_longer_than_history_is_still_owed() {
        let week = 7 * 24 * 60;
        // Workers came back a moment ago, and have made up for one of three.
        let executions = [ended(20, 0, Succeeded)];
        let case = Case {
            executions: &executions,
            outage: (-60, week - 1),
            now: week,
            history: HistoryDays::Seven,
            ..GOOD
        };
        assert_eq!(look(&case), (vec![], None));
        // That was longer ago than history is kept.
        let long_ago = Case { now: 2 * week, ..case };
        assert_eq!(look(&long_ago), (vec![], Some(JobState::Completed)));
        // What fell due as the outage began may have run before it.
        let began = Case { outage: (-4, week - 1), executions: &executions, ..case };
        assert_eq!(look(&began), (vec![], Some(JobState::Completed)));
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
        // The second and the last fell into an outage; the last always runs.
        let left_out = Some((10, 10));
        let late = Case { outage: (5, 25), left_out, now: 60, on_since: GOOD.on_since, ..off };
        assert_eq!(look(&late), (vec![(20, 0)], None));
        // A retry that fell due while the collection was off never comes, except at the last occurrence.
        let pending = [ended(0, 0, Succeeded), ended(10, 0, Failed)];
        let gone = Case { executions: &pending, on_since: Some(at(35)), ..GOOD };
        assert_eq!(look(&gone), (vec![], Some(JobState::Faulted)));
        let pending = [ended(0, 0, Succeeded), ended(10, 0, Failed), ended(20, 0, Failed)];
        assert_eq!(look(&Case { executions: &pending, ..gone }), (vec![(20, 1)], None));
        // With none owed at all it completed.
        assert_eq!(look(&Case { on_since: Some(at(35)), ..GOOD }).1, Some(JobState::Completed));
    }

    #[test]
    fn retries_that_were_made_decide_though_the_job_has_fewer_by_now() {
        let says = |then, (attempt, record): (Attempt, Option<Record>)| {
            (attempt, record.map(|record| Record { then, ..record }))
        };
        let retry = Some(Then::Retry { due_at: at(20), is_long: false });
        let nothing = Some(Then::Nothing);
        // The first attempt and the first retry say what follows, or do not, or have expired.
        for before in [
            vec![says(retry, ended(20, 0, Failed)), says(retry, ended(20, 1, Failed))],
            vec![ended(20, 0, Failed), ended(20, 1, Failed)],
            vec![],
        ] {
            for (last, then, state) in [
                (Succeeded, nothing, JobState::Completed),
                (Succeeded, None, JobState::Completed),
                (Failed, nothing, JobState::Faulted),
                (Failed, None, JobState::Faulted),
            ] {
                let mut executions = vec![ended(0, 0, Succeeded), ended(10, 0, Succeeded)];
                executions.extend(before.iter().cloned());
                executions.push(says(then, ended(20, 2, last)));
                let found = look(&Case { executions: &executions, ..GOOD });
                assert_eq!(found, (vec![], Some(state)), "{executions:?}");
            }
        }
    }

    #[test]
    fn what_is_late_is_open_until_it_is_recorded_as_left_out() {
        let executions = [ended(0, 0, Succeeded), ended(20, 0, Succeeded)];
        let case = Case { executions: &executions, outage: (5, 30), now: 31, ..GOOD };
        // It may have been sent when the outage was over, and a worker may have died with it.
        assert_eq!(look(&case), (vec![], None));
        assert_eq!(look(&Case { now: 49, ..case }), (vec![], None));
        let left_out = Case { left_out: Some((10, 10)), ..case };
        assert_eq!(look(&left_out), (vec![], Some(JobState::Completed)));
        let another = Case { left_out: Some((20, 20)), ..case };
        assert_eq!(look(&another), (vec![], None));
        // Nothing explains where it is, so it is sent again, as one that is late for no known reason.
        assert_eq!(look(&Case { now: 50, ..case }), (vec![(10, 0)], None));
        let retry = [ended(0, 0, Succeeded), ended(10, 0, Failed), ended(20, 0, Succeeded)];
        assert_eq!(look(&Case { executions: &retry, ..case }), (vec![(10, 1)], None));
    }

    #[test]
    fn a_job_does_not_finish_before_what_is_dispatched_after_a_clock_was_set_back() {
        let executions = [ended(0, 0, Outcome::Succeeded)];
        for now in [5, -30, -1_000] {
            let found = look(&Case { executions: &executions, now, ..GOOD });
            assert_eq!(found, (Vec::new(), None), "{now}");
        }
    }

    #[test]
    fn what_an_outage_would_explain_is_sent_again_as_of_now() {
        let (timetable, now) = (thrice(), at(50));
        let outages = [Outage { from: at(5), until: at(30) }];
        let ten = at(10);
        let left_out = LeftOut {
            generation: 1,
            first: ten,
            last: ten,
            occurrences: 1,
            reason: LeftOutReason::Outage(outages[0]),
            at: now,
        };
        let ready_at = |outages, executions: &[_]| -> (Vec<_>, Vec<_>) {
            let progress = JobProgress {
                timetable: &timetable,
                generation: 1,
                since: at(0),
                retries: Retries::new(0, Span::seconds(30)),
                on_failure: OnFailure::default(),
                seen_from: at(0),
                collection_on_since: GOOD.on_since,
                executions,
                pending: &[],
                known_since: at(-100),
                left_out: if executions.is_empty() { &[] } else { std::slice::from_ref(&left_out) },
                outages_of_sweepers: outages,
                outages_of_workers: outages,
            };
            let check = check_finished(&progress, now, &Spans::WORK);
            let ready_at = |attempts: &[Attempt]| attempts.iter().map(Attempt::ready_at).collect();
            (ready_at(&check.resend), ready_at(&check.release))
        };
        let sent_late = now + TimeDelta::seconds(10);
        let expected = (vec![at(0), sent_late, at(20)], vec![]);
        assert_eq!(ready_at(&outages, &[]), expected, "clocks may differ");
        assert_eq!(ready_at(&[], &[]), (vec![at(0), at(10), at(20)], vec![]));
        // A worker has left it out, and died before it released its claim.
        let claimed = [claimed(10, 0)];
        assert_eq!(ready_at(&outages, &claimed), (vec![at(0), at(20)], vec![at(10)]));
    }

    #[test]
    fn workers_have_no_time_to_leave_out_while_sweepers_are_away() {
        let outage = |from, until| Outage { from: at(from), until: at(until) };
        let first = outage(5, 30);
        for (of_sweepers, until) in [
            (vec![], 50),
            (vec![first], 50),
            (vec![outage(-20, 10)], 50),
            (vec![first, outage(31, 200)], 220),
            (vec![outage(210, 300), outage(50, 200), first], 320),
            (vec![outage(51, 200)], 50),
        ] {
            let found = leave_out_until(first, &of_sweepers, &Spans::WORK);
            assert_eq!(found, at(until), "{of_sweepers:?}");
        }
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

    /// The timing that a job has since the minute 30 goes on with the last occurrence of the one before.
    const GOES_ON: Case<'_> = Case {
        goes_on: Some(GoesOn { at: DateTime::from_timestamp(20 * 60, 0).unwrap(), generation: 1 }),
        generation: 3,
        since: 30,
        now: 30,
        ..GOOD
    };

    #[test]
    fn a_job_goes_on_with_its_last_occurrence_from_what_is_recorded_of_it() {
        use JobState::{Completed, Faulted};
        // What is pending of the others stays cancelled.
        let other = ended(10, 0, Failed);
        let with = |last: &[_]| [std::slice::from_ref(&other), last].concat();
        let failed = ended(20, 0, Failed);
        for (last, expected) in [
            (vec![], (vec![(20, 0)], None)),
            (vec![failed.clone()], (vec![(20, 1)], None)),
            (vec![failed.clone(), ended(20, 1, Succeeded)], (vec![], Some(Completed))),
            (vec![failed.clone(), ended(20, 1, Failed)], (vec![], Some(Faulted))),
            (vec![ended(20, 0, Succeeded)], (vec![], Some(Completed))),
            // Under way, and for how long.
            (vec![failed.clone(), claimed(20, 1)], (vec![(20, 1)], None)),
        ] {
            let executions = with(&last);
            assert_eq!(look(&Case { executions: &executions, ..GOES_ON }), expected, "{last:?}");
        }
        let executions = with(&[claimed(20, 0)]);
        let at_once = Case { executions: &executions, since: 21, now: 21, ..GOES_ON };
        assert_eq!(look(&at_once), (vec![], None), "it goes on by itself");
        assert_eq!(look(&Case { now: 23, ..at_once }), (vec![(20, 0)], None));
    }

    #[test]
    fn what_is_due_after_a_job_was_enabled_again_has_its_message() {
        // The retry is due at 20:31.
        let executions = [ended(20, 0, Failed)];
        let case = Case { executions: &executions, since: 20, now: 20, ..GOES_ON };
        assert_eq!(look(&case), (vec![], None));
        assert_eq!(look(&Case { now: 22, ..case }), (vec![], None));
        assert_eq!(look(&Case { now: 23, ..case }), (vec![(20, 1)], None));
        // One that waits in a timer was not dropped.
        let (retry, _) = claimed(20, 1);
        let pending = [Attempt { is_long: true, ..retry }];
        let waits = Case { pending: &pending, ..Case { since: 30, now: 60, ..case } };
        assert_eq!(look(&waits), (vec![], None));
    }

    #[test]
    fn attempts_keep_the_generation_of_their_timing() {
        let resent = check(&GOES_ON).resend;
        assert_eq!(resent.iter().map(|it| it.generation).collect::<Vec<_>>(), [1]);
        let (attempt, record) = ended(20, 0, Succeeded);
        for (generation, over) in [(0, None), (1, Some(JobState::Completed)), (4, None)] {
            let executions = [(Attempt { generation, ..attempt.clone() }, record.clone())];
            let case = Case { executions: &executions, ..GOES_ON };
            assert_eq!(look(&case).1, over, "{generation}");
        }
    }

    #[test]
    fn what_was_not_owed_is_not_owed_when_a_job_goes_on() {
        let completed = (vec![], Some(JobState::Completed));
        assert_eq!(look(&Case { on_since: Some(at(25)), ..GOES_ON }), completed);
        assert_eq!(look(&Case { left_out: Some((20, 20)), ..GOES_ON }), completed);
        assert_eq!(look(&Case { on_since: None, ..GOES_ON }), (vec![], None));
        let expired = Case { now: 61 * 24 * 60, ..GOES_ON };
        assert!(check(&expired).is_history_gone);
    }

    #[test]
    fn the_error_action_of_the_last_failure_follows_the_end() {
        let follows = |executions: &[_]| {
            let check = check(&Case { executions, has_error_action: true, ..GOOD });
            assert_eq!(check.follows.is_some(), check.over == Some(JobState::Faulted));
            check.follows.map(|it| (it.role, it.occurrence.nominal_at(), it.number))
        };
        let first = [ended(0, 0, Failed), ended(0, 1, Failed), ended(10, 0, Succeeded)];
        let ok = [&first[..], &[ended(20, 0, Succeeded)]].concat();
        assert_eq!(follows(&ok), None);
        let failed = [&first[..], &[ended(20, 0, Failed), ended(20, 1, Failed)]].concat();
        assert_eq!(follows(&failed), Some((Role::Error, at(20), 0)));
        assert_eq!(follows(&[&first[..], &[ended(20, 0, Failed)]].concat()), None, "open");
    }
}
