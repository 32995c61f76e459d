//! What the threads of a database are told.

use tokio::sync::oneshot;

use super::error::SqlError;
use crate::script::{Script, ScriptOutcome};

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Within [`SYNC_EVERY`](super::SYNC_EVERY), which is the most that a power cut loses.
    #[default]
    Normal,
    /// Before it is answered. A power cut loses nothing.
    Full,
}

/// What a thread is told.
#[derive(Debug)]
pub(super) enum Order {
    Perform(Asked),
    /// To end, once everything that was asked before is answered.
    End,
}

/// A script whose caller waits for the answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) script: Script,
    pub(super) answer: oneshot::Sender<Result<ScriptOutcome, SqlError>>,
}
