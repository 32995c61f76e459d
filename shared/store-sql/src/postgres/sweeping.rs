//! Which process sweeps. Any may, and two at once do no harm; a lease saves the work of all but one.
//!
//! The lease is a number in `meta`: the instant at which it ends, by the database's clock. Its holder knows
//! the number, and so no other process renews it.
//!
//! | the holder | then |
//! |---|---|
//! | dies, or loses the database | another process takes the lease when it has ended: within two seconds |
//! | does not get the answer to a renewal | it goes on until its lease ends, and then takes it as any other process does |
//! | ends in good order | it gives the lease back |

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::error::PgError;
use super::pool::Pool;
use super::task::Task;
use crate::script::{Script, Statement, Turn, Urgency, Value};
use crate::sql::processes as sql;
use crate::value::params;

/// How long the lease lasts.
const LEASE: Duration = Duration::from_millis(1_500);
/// How often its holder renews it, and the others try.
const TRY_EVERY: Duration = Duration::from_millis(500);
/// The ticks of a millisecond.
const TICKS_A_MS: i64 = 10_000;

/// The right to sweep, which one process has at a time.
#[derive(Debug)]
pub struct Sweeping {
    held: watch::Receiver<Held>,
    stopwatch: Instant,
    pool: Arc<Pool>,
    task: Task,
}

/// What a process knows of the lease.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    /// The number of the last lease that it got; 0 for none.
    number: i64,
    /// Until when it surely has it, by its stopwatch.
    until: Duration,
}

impl Held {
    /// After an answer to a try that was sent at a time: the number of the lease, if the process got it. An error
    /// says nothing.
    fn after(self, sent: Duration, answer: &Result<Option<i64>, PgError>) -> Self {
        match answer {
            Ok(Some(number)) => Self { number: *number, until: sent.saturating_add(LEASE) },
            Ok(None) => Self::default(),
            Err(_) => self,
        }
    }
}

impl Sweeping {
    /// Tries to get the lease, and keeps it.
    pub(super) fn start(pool: Pool) -> Self {
        let (tell, held) = watch::channel(Held::default());
        let (pool, stopwatch) = (Arc::new(pool), Instant::now());
        let tries = pool.clone();
        let task = Task::spawn(async move {
            let mut ticks = interval(TRY_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let (sent, before) = (stopwatch.elapsed(), *tell.borrow());
                let answer = take(&tries, before.number).await;
                if matches!(answer, Err(PgError::Closed)) {
                    return;
                }
                tell.send_replace(before.after(sent, &answer));
            }
        });
        Self { held, stopwatch, pool, task }
    }

    /// Whether this process sweeps.
    #[must_use]
    pub fn is_mine(&self) -> bool {
        self.stopwatch.elapsed() < self.held.borrow().until
    }

    /// Waits until this process sweeps. Cancelling it changes nothing.
    pub async fn until_mine(&mut self) {
        while !self.is_mine() {
            if self.held.changed().await.is_err() {
                // The database is closed, and no process of it sweeps again.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Gives the lease back.
    ///
    /// # Errors
    ///
    /// If the database does not answer. Then the lease ends by itself.
    pub async fn end(self) -> Result<(), PgError> {
        // A try that is under way would take it again.
        drop(self.task);
        let number = self.held.borrow().number;
        let end = Statement::new(sql::END_SWEEP, params![number]);
        self.pool.perform(&script(end), "").await.map(drop)
    }
}

async fn take(pool: &Pool, number: i64) -> Result<Option<i64>, PgError> {
    let length = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX).saturating_mul(TICKS_A_MS);
    let take = Statement::new(sql::SWEEP, params![number, length]);
    match pool.perform(&script(take), "").await?.first() {
        None => Ok(None),
        Some(Value::Integer(number)) => Ok(Some(number)),
        Some(_) => Err(PgError::Strange),
    }
}

fn script(statement: Statement) -> Script {
    Script::new(Urgency::Start, Turn::default(), vec![statement])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_held_from_when_it_was_asked_for_and_an_error_takes_none_away() {
        let ms = Duration::from_millis;
        let none = Held::default();
        let held = none.after(ms(1_000), &Ok(Some(7)));
        assert_eq!(held, Held { number: 7, until: ms(2_500) });
        assert_eq!(held.after(ms(1_500), &Ok(Some(9))), Held { number: 9, until: ms(3_000) });
        assert_eq!(held.after(ms(1_500), &Err(PgError::Closed)), held);
        assert_eq!(held.after(ms(1_500), &Ok(None)), none, "another process has it");
    }
}
