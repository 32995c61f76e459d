//! The sweeper's task: passes, each when the next timer comes into view.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use app::fire::{Pass, Sweeper};
use domain::firing::limits::AHEAD;
use ports::Clock;
use runtime::{Advanced, chain};

use super::tasks::Stop;

/// The longest wait between two passes, whatever is due: half of what a minutely tick would do.
const PASS_EVERY: Duration = Duration::from_secs(30);
/// The shortest: a test clock can bring timers into view faster than passes are made.
const PASS_PAUSE: Duration = Duration::from_millis(5);
/// The wait after a pass that failed in part.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// Sweeps until it is asked to stop.
pub(super) async fn sweep(
    sweeper: Sweeper,
    clock: Arc<dyn Clock>,
    advanced: Arc<Advanced>,
    mut stop: Stop,
) {
    let mut first_shard = 0_u32;
    loop {
        let pass = sweeper.pass(first_shard, pending()).await;
        first_shard = first_shard.wrapping_add(1);
        tell(&pass);
        let pause = if pass.failed > 0 { FAILED_PAUSE } else { PASS_PAUSE };
        let next = async {
            clock.wait(pause).await;
            tokio::select! {
                () = next_in_view(&sweeper, clock.as_ref(), &advanced) => {}
                () = clock.wait(PASS_EVERY) => {}
            }
        };
        tokio::select! {
            () = stop.requested() => return,
            () = next => {}
        }
    }
}

/// Waits until the next timer is so near that a pass looks at it.
///
/// The index is asked once. A timer that the API moves on meanwhile says itself when it is due: each
/// of thousands of jobs that are created is no reason to ask again.
async fn next_in_view(sweeper: &Sweeper, clock: &dyn Clock, advanced: &Advanced) {
    let mut next = match sweeper.next_due_at().await {
        Ok(next) => next,
        Err(error) => {
            tracing::error!(error = chain(&error), "the next timer is not known");
            return clock.wait(FAILED_PAUSE).await;
        }
    };
    loop {
        let in_view = async {
            match next {
                Some(due_at) => clock.wait_until(due_at - clock.scheduled_during(AHEAD)).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = in_view => return,
            moved = advanced.next() => next = Some(next.map_or(moved, |next| next.min(moved))),
        }
    }
}

/// One line for a pass; at `debug` for one that found nothing.
fn tell(pass: &Pass) {
    let dispatched = pass.dispatched;
    let (timers, messages) = (dispatched.timers, dispatched.messages);
    let (overtaken, failed, is_cut) = (dispatched.overtaken, pass.failed, pass.is_cut);
    if timers == 0 && failed == 0 {
        tracing::debug!(shards = pass.shards, "a sweep found nothing due");
    } else {
        tracing::info!(timers, messages, overtaken, failed, is_cut, "swept");
    }
}
