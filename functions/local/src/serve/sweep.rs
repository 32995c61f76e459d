//! The sweeper's task: a pass whenever the next timer is nearly due.
//!
//! Of the processes that share a database, the one with a lease sweeps. When it ends, another one has the
//! lease within two seconds. Two that sweep at once do no harm.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use minutehand_app::fire::{Sweeper, TimerChanges};
use minutehand_domain::firing::limits::{AHEAD, PASS};
use minutehand_ports::Clock;
use minutehand_runtime::chain;
use minutehand_store_sql::postgres::Sweeping as SweepLease;

use super::condition::Condition;
use super::tasks::Stop;

/// The longest wait between two passes: half of the minute between two ticks on AWS.
const PASS_EVERY: Duration = Duration::from_secs(30);
/// The same if other processes share the database: one that dies between creating a job and sending its first
/// message leaves a timer of which it tells nothing.
const SHARED_PASS_EVERY: Duration = Duration::from_secs(2);
/// A pass finds each timer before it is due, even if nothing told of it.
const _: () =
    assert!(PASS_EVERY.as_secs().cast_signed() + PASS.num_seconds() < AHEAD.num_seconds());
/// The shortest wait between two passes: with a test clock timers may be due faster than passes are
/// made.
const PASS_PAUSE: Duration = Duration::from_millis(5);
/// The wait after a pass in which a shard failed.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// What the task works with.
pub(super) struct Sweeping {
    pub(super) sweeper: Sweeper,
    /// Tells of timers that the API has moved.
    pub(super) changes: Arc<TimerChanges>,
    /// Is told how each pass went.
    pub(super) condition: Arc<Condition>,
    /// The right to sweep, if other processes share the database.
    pub(super) lease: Option<SweepLease>,
}

/// Sweeps until it is asked to stop.
pub(super) async fn sweep(sweeping: Sweeping, clock: Arc<dyn Clock>, stop: Stop) {
    let Sweeping { sweeper, changes, condition, mut lease } = sweeping;
    condition.note_sweeper();
    let pass_every = if lease.is_some() { SHARED_PASS_EVERY } else { PASS_EVERY };
    let mut first_shard = 0_u32;
    loop {
        if let Some(lease) = &mut lease
            && !lease.is_mine()
        {
            condition.note_no_sweeper();
            tokio::select! {
                () = stop.requested() => return,
                () = lease.until_mine() => condition.note_sweeper(),
            }
        }
        let pass = sweeper.pass(first_shard, pending()).await;
        first_shard = first_shard.wrapping_add(1);
        pass.log();
        condition.note(&pass);
        let pause = if pass.failed > 0 { FAILED_PAUSE } else { PASS_PAUSE };
        let next = async {
            clock.wait(pause).await;
            if pass.failed > 0 {
                // It is tried again, whenever the next timer is due.
                return;
            }
            let in_view = async {
                if let Err(error) = changes.next_in_view(&sweeper, clock.as_ref()).await {
                    tracing::error!(error = chain(&error), "the next timer is not known");
                    clock.wait(FAILED_PAUSE).await;
                }
            };
            tokio::select! {
                () = in_view => {}
                () = clock.wait(pass_every) => {}
            }
        };
        tokio::select! {
            () = stop.requested() => break,
            () = next => {}
        }
    }
    if let Some(lease) = lease
        && let Err(error) = lease.end().await
    {
        tracing::warn!(
            error = chain(&error),
            "the right to sweep was not given back: it ends soon"
        );
    }
}
