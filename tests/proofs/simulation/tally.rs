//! How often what went wrong in a run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde_json::Value;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Crash,
    Stall,
    Throttled,
    AnswerLost,
    IndexLate,
    TickLost,
    TickDoubled,
    MessageLost,
    MessageDoubled,
    MessageLate,
    DeletionLost,
    DeadLetter,
    Restart,
    ClockJump,
    ApiEnded,
    DatabaseAway,
    PartDead,
}

/// The faults, with their names in a report.
const FAULTS: [(Fault, &str); 17] = [
    (Fault::Crash, "processes died"),
    (Fault::Stall, "workers stalled past their lease"),
    (Fault::Throttled, "requests throttled"),
    (Fault::AnswerLost, "answers lost"),
    (Fault::IndexLate, "index minutes late"),
    (Fault::TickLost, "passes left out"),
    (Fault::TickDoubled, "passes twice at once"),
    (Fault::MessageLost, "messages lost"),
    (Fault::MessageDoubled, "messages delivered twice"),
    (Fault::MessageLate, "messages late"),
    (Fault::DeletionLost, "deletions of messages lost"),
    (Fault::DeadLetter, "dead letters"),
    (Fault::Restart, "restarts of one machine's process"),
    (Fault::ClockJump, "clocks that jumped"),
    (Fault::ApiEnded, "processes with the API ended"),
    (Fault::DatabaseAway, "times without a database"),
    (Fault::PartDead, "passes of dead parts"),
];

/// A number for each fault.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(Arc<[AtomicU64; FAULTS.len()]>);

impl Tally {
    pub(super) fn note(&self, fault: Fault) {
        self.0[fault as usize].fetch_add(1, Relaxed);
    }

    /// The numbers under their names.
    pub(super) fn to_json(&self) -> Value {
        let number = |fault: Fault| Value::from(self.0[fault as usize].load(Relaxed));
        FAULTS.iter().map(|(fault, name)| ((*name).to_owned(), number(*fault))).collect()
    }

    pub(super) fn read(json: &Value) -> Self {
        let tally = Self::default();
        for (fault, name) in FAULTS {
            tally.0[fault as usize].store(json[name].as_u64().unwrap_or(0), Relaxed);
        }
        tally
    }

    /// Adds those of another run.
    pub(super) fn add(&self, other: &Self) {
        for (sum, more) in self.0.iter().zip(other.0.iter()) {
            sum.fetch_add(more.load(Relaxed), Relaxed);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fault, name) in FAULTS {
            writeln!(f, "  {:>12}  {name}", self.0[fault as usize].load(Relaxed))?;
        }
        Ok(())
    }
}
