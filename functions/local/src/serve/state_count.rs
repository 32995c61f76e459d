//! Counts collections and jobs by state for `GET /metrics`: in the background, at the start and every
//! five minutes, and never for a scrape.
//!
//! It reads a small page at a time and pauses in between, so that it takes at most a tenth of a
//! processor's time however many jobs there are. A scrape gets the last complete count and its age.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use minutehand_ports::{Clock, StoreError};
use minutehand_runtime::chain;
use minutehand_store_sql::{SqlStore, StateCounts, StatePosition};

use crate::lock;

/// The time from the end of a count to the next one.
const COUNT_EVERY: Duration = Duration::from_mins(5);
/// The pause after a page is so many times as long as the page took: the busier the store is, the longer.
const PAUSE_FACTOR: u32 = 9;

/// The last complete count; `None` before the first.
pub(super) type StateCount = Arc<Mutex<Option<CountedStates>>>;

/// A complete count, and when it began.
#[derive(Debug, Clone)]
pub(super) struct CountedStates {
    pub(super) states: StateCounts,
    pub(super) began_at: Instant,
}

/// Counts again and again.
pub(super) async fn count_states(jobs: Arc<SqlStore>, last: StateCount, clock: Arc<dyn Clock>) {
    loop {
        let began_at = Instant::now();
        match count(&jobs, clock.as_ref()).await {
            Ok(states) => {
                *lock(&last) = Some(CountedStates { states, began_at });
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "cannot count jobs by state");
            }
        }
        clock.wait(COUNT_EVERY).await;
    }
}

async fn count(jobs: &SqlStore, clock: &dyn Clock) -> Result<StateCounts, StoreError> {
    let mut states = StateCounts::default();
    let mut from = StatePosition::default();
    loop {
        let began_at = Instant::now();
        match jobs.count_states(&mut states, from, clock.now()).await? {
            Some(next) => from = next,
            None => return Ok(states),
        }
        clock.wait(began_at.elapsed() * PAUSE_FACTOR).await;
    }
}
