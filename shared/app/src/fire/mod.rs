//! Firing: timers swept, occurrences dispatched, attempts executed, jobs concluded.
//!
//! What is decided is in `domain::firing`; here it is carried out, in an order in which a crash
//! after any step loses nothing. Each file says what a crash in it leaves, and who repairs it.

mod attempt;
mod dispatch;
mod execute;
mod finish;
mod follow;
mod loaded_job;
mod sweep;
mod worker;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::firing::limits::Spans;
use ports::{
    ActionSender, Clock, DispatchQueue, EventSink, FiringStore, Gate, IdSource, Sealer, StoreError,
};

pub(crate) use dispatch::execute;
pub use dispatch::{DispatchReport, Dispatcher};
pub use execute::{Executor, Performed};
pub use sweep::{Pass, Sweeper};
pub use worker::{Deadline, Delivery, Disposition, Performer, Worker};

use crate::error::AppError;

/// What firing needs from the world.
#[derive(Clone)]
pub struct FirePorts {
    /// Where timers, claims and history are kept.
    pub store: Arc<dyn FiringStore>,
    /// Where work items go.
    pub queue: Arc<dyn DispatchQueue>,
    /// Lets attempts start.
    pub gate: Arc<dyn Gate>,
    /// Performs actions.
    pub sender: Arc<dyn ActionSender>,
    /// Opens secrets.
    pub sealer: Arc<dyn Sealer>,
    /// Takes note of what happens.
    pub events: Arc<dyn EventSink>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New identities.
    pub ids: Arc<dyn IdSource>,
}

/// What an installation decides once.
#[derive(Debug, Clone, Default)]
pub struct FireSettings {
    /// Where we run, as targets are told.
    pub region: String,
    /// Whether an execution that succeeded is logged for whoever debugs only: where metrics carry
    /// it, and lines cost money.
    pub is_quiet: bool,
    /// The process, where it is the only one that executes.
    pub only_process: Option<Process>,
}

/// A process that is the only one to execute: what others claimed is void, as they have ended.
#[derive(Debug, Clone)]
pub struct Process {
    /// Tells its claims from those of others.
    pub id: String,
    /// When it started, by the schedule. What was overtaken before is not owed, so that a restart
    /// makes up for exactly one occurrence, however short it was.
    pub started_at: DateTime<Utc>,
}

/// The spans of the protocol on this clock.
fn spans(clock: &dyn Clock) -> Spans {
    Spans::stretched(|work| clock.scheduled_during(work))
}

/// An occurrence is overtaken if its successor fell due at this time or before.
fn floor(process: Option<&Process>, clock: &dyn Clock) -> DateTime<Utc> {
    let floor = clock.now() - spans(clock).catch_up;
    process.map_or(floor, |process| floor.max(process.started_at))
}

/// The answer to a group of one.
fn one<T>(answers: Vec<Result<T, StoreError>>) -> Result<T, AppError> {
    let missing = || StoreError::Unavailable("a group was answered with nothing".into());
    Ok(answers.into_iter().next().ok_or_else(missing)??)
}
