//! Letting attempts start, a few at a time.

use std::time::Duration;

use async_trait::async_trait;

/// How long an attempt keeps its turn, if it does not end before: a target that takes its time holds
/// up the others for no longer.
pub const TURN_MAX: Duration = Duration::from_millis(20);

/// Leave to start. Whoever drops it makes room for the next.
pub type Turn = Box<dyn Send + Sync>;

/// Where attempts that are due at one instant queue up: those that start at the same time share
/// connections and the processor, and what all of them begin at once, all of them end late.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Waits for a turn.
    async fn turn(&self) -> Turn;

    /// Waits until it is closed, as the process ends: who waits for an instant then waits in vain.
    async fn closed(&self) {
        std::future::pending::<()>().await;
    }

    /// Closes it. Who waits for a turn has it all the same: its instant has come.
    fn close(&self) {}
}

/// Where there are never many.
#[async_trait]
impl Gate for () {
    async fn turn(&self) -> Turn {
        Box::new(())
    }
}
