//! Attempts: one try at the action of an occurrence, and how it ended.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::named;

use crate::cause::Cause;
use crate::chain::Depth;
use crate::firing::{Slot, Waited};
use crate::tick::{from_ticks, ticks};

/// The most by which the clocks of two processes may differ.
pub const CLOCKS: TimeDelta = TimeDelta::seconds(10);

/// The most bytes of a message that are kept; a longer message is cut.
///
/// There is room for the head of an answer and the part of its body that history shows. A hundred
/// records fit into one transaction.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// The most bytes of the body of a failure that are kept beside its record; a longer body is cut. One of
/// this length counts as cut.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// Between the id of a run and the instant of what it repeats. No other id contains it: ids are
/// hexadecimal.
const REDRIVE_OF: char = 'x';

/// Between the instant of what a run repeats and when that failed.
const FAILED_AT: char = 'z';

/// Between the id of a run and its depth, if a job asked for it.
const DEPTH: char = 'y';

/// What an attempt is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Occurrence {
    /// An occurrence of the recurrence.
    Scheduled {
        /// Its instant.
        nominal_at: DateTime<Utc>,
    },
    /// A run that a user asked for.
    Run {
        /// The instant of the request.
        asked_at: DateTime<Utc>,
        /// Tells the run from other runs.
        run_id: String,
    },
}

impl Occurrence {
    /// Its instant, however late the attempt is.
    #[must_use]
    pub const fn nominal_at(&self) -> DateTime<Utc> {
        match self {
            Self::Scheduled { nominal_at } => *nominal_at,
            Self::Run { asked_at, .. } => *asked_at,
        }
    }

    /// How deep it is in a chain of jobs that ask for each other.
    #[must_use]
    pub fn depth(&self) -> Depth {
        let Self::Run { run_id, .. } = self else { return Depth::default() };
        let id = run_id.split_once(REDRIVE_OF).map_or(run_id.as_str(), |(id, _)| id);
        let depth = id.split_once(DEPTH).and_then(|(_, depth)| depth.parse().ok());
        depth.map(Depth::new).unwrap_or_default()
    }

    /// The instant of the occurrence that it repeats, if it does.
    #[must_use]
    pub fn redrive_of(&self) -> Option<DateTime<Utc>> {
        self.redriven().map(|(of, _)| of)
    }

    /// The failure that it repeats, if it does: the instant of the occurrence, and when its last attempt
    /// failed. An earlier version did not note the second.
    #[must_use]
    pub fn redriven(&self) -> Option<(DateTime<Utc>, Option<DateTime<Utc>>)> {
        let Self::Run { run_id, .. } = self else { return None };
        let (_, of) = run_id.rsplit_once(REDRIVE_OF)?;
        let (of, failed_at) = match of.split_once(FAILED_AT) {
            Some((of, failed_at)) => (of, Some(from_ticks(failed_at.parse().ok()?)?)),
            None => (of, None),
        };
        Some((from_ticks(of.parse().ok()?)?, failed_at))
    }

    /// Tells it from the other occurrences of a generation, as one short text.
    pub(crate) fn key(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Self::Scheduled { nominal_at } => write!(f, "{}", ticks(*nominal_at)),
            // An id is letters and digits, so no run is taken for an instant.
            Self::Run { run_id, .. } => write!(f, "r{run_id}"),
        })
    }
}

/// The id of a run that is asked for, at a depth. It says how deep the run is, so that every place that keeps
/// a run keeps that as well.
#[must_use]
pub fn run_id(id: &str, depth: Depth) -> String {
    if depth.is_none() { id.to_owned() } else { format!("{id}{DEPTH}{depth}") }
}

/// The id of a run that repeats the occurrence at an instant, whose last attempt failed then. It says both.
#[must_use]
pub fn redrive_id(id: &str, depth: Depth, [of, failed_at]: [DateTime<Utc>; 2]) -> String {
    let (id, of, failed_at) = (run_id(id, depth), ticks(of), ticks(failed_at));
    format!("{id}{REDRIVE_OF}{of}{FAILED_AT}{failed_at}")
}

named! {
    /// The main action, the error action, or the notice of a failure.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Role {
        /// The main action.
        Main = "main",
        /// The error action, after the last retry of the main action has failed.
        Error = "error",
        /// The failure action of the collection, after an occurrence has failed for good.
        Notice = "notice",
    }
}

/// One attempt. Every process computes the same attempt, so a worker that receives it twice recognises
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub struct Attempt {
    /// The generation of the timing under which it was sent. An attempt of an older timing does not
    /// start.
    pub generation: u64,
    /// The occurrence.
    pub occurrence: Occurrence,
    /// The action.
    pub role: Role,
    /// 0 is the first, 1 the first retry.
    pub number: u32,
    /// When it may start. For a first attempt, the instant of the occurrence; for a retry, the end of the
    /// attempt before it plus the interval; for an error action, the end of the attempt that failed.
    pub due_at: DateTime<Utc>,
    /// Whether it waits in a timer, because it is too far in the future for a message.
    pub is_long: bool,
    /// When it was first sent, if it was due before. An outage that was over by then is no reason why
    /// it is late.
    pub sent_late_at: Option<DateTime<Utc>>,
    /// Whether its job had policies when it was sent. A worker of a version that knows none leaves its
    /// message to a newer one.
    pub under_policy: bool,
    /// Whether it takes turns with the other attempts of its job, as far as was known when it was sent.
    pub takes_turn: bool,
    /// What it had to wait for before its start, or that it waits for its end.
    pub waited: Option<Waited>,
    /// Whether it sends an alert in a format or under rules. A worker of a version that knows neither leaves
    /// its message to a newer one.
    pub is_alert: bool,
    /// The caller who asked for the run that it belongs to, if that is known.
    pub asked_by: Option<String>,
}

impl Attempt {
    /// The first attempt at an occurrence.
    #[must_use]
    pub const fn first(generation: u64, occurrence: Occurrence) -> Self {
        let due_at = occurrence.nominal_at();
        Self {
            generation,
            occurrence,
            role: Role::Main,
            number: 0,
            due_at,
            is_long: false,
            sent_late_at: None,
            under_policy: false,
            takes_turn: false,
            waited: None,
            is_alert: false,
            asked_by: None,
        }
    }

    /// Whether it is the first one at its occurrence.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        matches!(self.role, Role::Main) && self.number == 0
    }

    /// The same attempt, first sent at this time.
    #[must_use]
    pub fn sent_at(self, now: DateTime<Utc>) -> Self {
        Self { sent_late_at: (self.due_at < now).then_some(now), ..self }
    }

    /// The earliest instant at which it could start, on the clock of a worker. The sweeper's clock may
    /// be behind that one.
    #[must_use]
    pub fn ready_at(&self) -> DateTime<Utc> {
        let sent_at = self.sent_late_at.and_then(|sent_at| sent_at.checked_add_signed(CLOCKS));
        sent_at.map_or(self.due_at, |sent_at| sent_at.max(self.due_at))
    }

    /// The same, of which only the end is asked for.
    #[must_use]
    pub fn to_end(self) -> Self {
        Self { waited: Some(Waited::Completion), ..self }
    }

    /// The slot that it waited for.
    #[must_use]
    pub const fn slot(&self) -> Option<Slot> {
        match self.waited {
            Some(Waited::Slot(slot)) => Some(slot),
            Some(Waited::Seat | Waited::Place | Waited::Completion) | None => None,
        }
    }

    /// Whether it has the identity of another attempt of its job.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.generation == other.generation
            && self.occurrence == other.occurrence
            && self.role == other.role
            && self.number == other.number
    }

    /// Tells it from the other attempts of its job, as one short text. The times are not part of the
    /// identity, and neither is where the attempt waits.
    #[must_use]
    pub fn id(&self) -> impl fmt::Display {
        let Self { generation, occurrence, role, number, .. } = self;
        let role = match role {
            Role::Main => 'm',
            Role::Error => 'e',
            Role::Notice => 'n',
        };
        fmt::from_fn(move |f| write!(f, "{generation}.{}.{role}{number}", occurrence.key()))
    }
}

named! {
    /// How an attempt ended.
    pub enum Outcome {
        /// The action was done.
        Succeeded = "succeeded",
        /// It was not.
        Failed = "failed",
    }
}

/// What follows an attempt. It is decided when the attempt is recorded, under the policy that the job
/// has then: a later change of the policy does not change what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The occurrence is complete.
    Nothing,
    /// Another attempt at the same action.
    Retry {
        /// When it is due.
        due_at: DateTime<Utc>,
        /// Whether it waits in a timer.
        is_long: bool,
    },
    /// The error action.
    ErrorAction,
    /// The failure action of the collection.
    Notice,
}

/// What is kept of an attempt that ended: an item of history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it ended; a retry counts from here.
    pub ended_at: DateTime<Utc>,
    /// The outcome.
    pub outcome: Outcome,
    /// Why it failed; `None` if it did not, or if an earlier version recorded it.
    pub cause: Option<Cause>,
    /// What happened, in words that clients know how to read; see [`MESSAGE_BYTES_MAX`].
    pub message: String,
    /// The number of the occurrence, from 1.
    pub repeat_count: u64,
    /// How many bytes of the target's answer are kept beside the record: 0 unless the attempt failed, and
    /// bodies of failures are kept.
    pub body_bytes: u32,
    /// What follows; `None` if an earlier version recorded the attempt, or if the policy of the job
    /// was not known. Then it is decided when it follows.
    pub then: Option<Then>,
}

impl Record {
    /// The record of an attempt at the first occurrence that began and ended then. It tells neither a cause nor
    /// what follows.
    #[must_use]
    pub fn new(
        [started_at, ended_at]: [DateTime<Utc>; 2],
        outcome: Outcome,
        message: impl Into<String>,
    ) -> Self {
        let (message, repeat_count) = (message.into(), 1);
        Self {
            started_at,
            ended_at,
            outcome,
            cause: None,
            message,
            repeat_count,
            body_bytes: 0,
            then: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_of_one_job_have_identities_of_their_own() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let asked = |run_id| Occurrence::Run { asked_at: at(90), run_id };
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at(60) });
        let notice = Attempt { role: Role::Notice, ..first.clone() };
        assert_eq!(notice.id().to_string(), "3.600000000.n0");
        let run = Occurrence::Run { asked_at: at(60), run_id: "5f".to_owned() };
        assert_eq!(run.redrive_of(), None);
        assert_eq!(first.id().to_string(), "3.600000000.m0");
        assert_eq!(Attempt { number: 2, ..first.clone() }.id().to_string(), "3.600000000.m2");
        assert_eq!(
            Attempt { role: Role::Error, ..first.clone() }.id().to_string(),
            "3.600000000.e0"
        );
        assert_eq!(Attempt::first(3, run).id().to_string(), "3.r5f.m0");
        let again = asked(redrive_id("5f", Depth::default(), [at(60), at(61)]));
        assert_eq!((again.nominal_at(), again.redrive_of()), (at(90), Some(at(60))));
        assert_eq!(again.redriven(), Some((at(60), Some(at(61)))));
        assert_eq!(Attempt::first(3, again).id().to_string(), "3.r5fx600000000z610000000.m0");
        let earlier = Occurrence::Run { asked_at: at(90), run_id: "5fx600000000".to_owned() };
        assert_eq!(earlier.redriven(), Some((at(60), None)));
        assert_eq!(first.occurrence.redrive_of(), None);
        // As deep as the request that asked for it.
        let deep = asked(run_id("5f", Depth::new(12)));
        assert_eq!((deep.depth(), deep.redrive_of()), (Depth::new(12), None));
        assert_eq!(Attempt::first(3, deep).id().to_string(), "3.r5fy12.m0");
        let again = asked(redrive_id("5f", Depth::new(3), [at(60), at(61)]));
        assert_eq!((again.depth(), again.redrive_of()), (Depth::new(3), Some(at(60))));
        assert_eq!(asked(run_id("5f", Depth::default())).depth(), Depth::default());
        // A retry that is computed twice is one, whenever it is due.
        let late = Attempt { due_at: at(90), ..first.clone() };
        assert_eq!(late.id().to_string(), first.id().to_string());
    }
}
