//! The life of this process on the database, and the death of others.
//!
//! Once a second it gives a sign of life, on a connection of its own, and reads in the same answer the
//! database's clock and the signs of the others: see [`liveness`](super::liveness).
//!
//! | a process | then |
//! |---|---|
//! | ends in good order | it gives back its claims, seats, turns and messages, which count as nothing, and its row goes |
//! | dies, or is frozen | another one that sees no signs deletes its row, and frees what it held, in one transaction; its claims count among those that led to nothing, and its messages as delivered |
//! | finds its row gone | it takes a new number; under the old one it takes and begins nothing, because the scripts and the actions ask for the row |
//! | loses the database | no process sees signs, and none counts as dead; actions wait for a renewal |
//!
//! | this crashes after | it leaves | repaired by |
//! |---|---|---|
//! | a number that was counted | a number that no process has | |
//! | its row with its first sign | a process that gives no more signs | the others |
//! | any statement of a death | nothing: it is one transaction | the others |
//!
//! The order in a death is what makes it right. The row goes first, which waits for scripts of the process
//! that have locked it, and makes later ones take nothing. Only then does a statement look for what it held.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use minutehand_domain::firing::limits::LEASE;
use minutehand_domain::tick::from_ticks;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::clock::{ServerTime, ShownTime};
use super::error::PgError;
use super::liveness::{RENEW_EVERY, Renewal, Sign, Watch};
use super::pool::Pool;
use super::task::Task;
use crate::script::{Need, Row, Script, ScriptOutcome, Statement, Turn, Urgency, Value};
use crate::sql::processes as sql;
use crate::value::{Columns, params};

/// The most processes whose signs are read.
const PROCESSES_MAX: i64 = 1_000;
/// How long a renewal is waited for before its connection is given up.
const RENEWAL_MAX: Duration = Duration::from_secs(5);

/// What people call a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessName {
    /// Its name, such as that of its machine.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A process that uses the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgProcess {
    /// Its number: no other process gets it.
    pub id: i64,
    /// What people call it.
    pub name: ProcessName,
    /// Since when it has this number, by the database's clock.
    pub since: DateTime<Utc>,
    /// When it gave its last sign of life, by the database's clock.
    pub seen_at: DateTime<Utc>,
    /// The attempts that it has claimed and that have not ended.
    pub attempts: u64,
}

/// The life of this process.
#[derive(Debug)]
pub(super) struct Life {
    /// The connection of the signs, for which nothing else waits.
    signs: Pool,
    /// The connection of the deaths, which wait for scripts of the dead.
    deaths: Pool,
    name: ProcessName,
    /// The zero of the stopwatch.
    since: Instant,
    process: AtomicI64,
    known: Mutex<Known>,
    /// Held by the one renewal that is under way.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    watch: Watch,
    time: ServerTime,
    /// When the process took the number that it has, if it had another one before.
    reborn: Option<Duration>,
}

impl Life {
    /// Begins a life: its row, its first sign, and the database's clock.
    pub(super) async fn begin(
        [signs, deaths]: [Pool; 2],
        name: ProcessName,
    ) -> Result<Arc<Self>, PgError> {
        let (process, known) = (AtomicI64::new(0), Mutex::default());
        let renewing = tokio::sync::Mutex::default();
        let life = Self { signs, deaths, name, since: Instant::now(), process, known, renewing };
        life.register().await?;
        life.renew().await?;
        Ok(Arc::new(life))
    }

    /// Gives a sign each second, and ends the processes that give none.
    pub(super) fn live(self: Arc<Self>) -> Task {
        Task::spawn(async move {
            let mut ticks = interval(RENEW_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            // `begin` gave the first one.
            ticks.tick().await;
            let mut ending = None::<JoinHandle<()>>;
            loop {
                ticks.tick().await;
                match self.renew().await {
                    Ok(dead) if dead.is_empty() => {}
                    // Signs do not wait for deaths. Who is not ended now is still dead in a second.
                    Ok(dead) => {
                        if ending.as_ref().is_none_or(JoinHandle::is_finished) {
                            ending = Some(tokio::spawn(self.clone().end_all(dead)));
                        }
                    }
                    Err(PgError::Closed) => return,
                    Err(error) => {
                        tracing::debug!(%error, "this process cannot give a sign of life");
                    }
                }
            }
        })
    }

    /// The number of this process.
    pub(super) fn process(&self) -> i64 {
        self.process.load(Ordering::Acquire)
    }

    /// The time of the database's clock, at least.
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.known().time.at(self.since.elapsed()).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// Makes sure that the others have not taken this process for dead. Returns whether it may hold claims
    /// under another number.
    pub(super) async fn confirm(&self) -> Result<bool, PgError> {
        if !self.may_act() {
            let renewed = async {
                let _renewing = self.renewing.lock().await;
                // Another caller may have renewed meanwhile.
                if self.may_act() { Ok(()) } else { self.renew_alone().await.map(drop) }
            };
            let renewed = timeout(RENEWAL_MAX, renewed).await;
            renewed.unwrap_or(Err(PgError::NoAnswer(RENEWAL_MAX)))?;
        }
        let lease = LEASE.to_std().unwrap_or_default();
        let reborn = self.known().reborn;
        Ok(reborn.is_some_and(|reborn| self.since.elapsed().saturating_sub(reborn) <= lease))
    }

    fn may_act(&self) -> bool {
        self.known().watch.may_act(self.since.elapsed())
    }

    /// Ends this life in good order: everything that it holds is given back, and counts as nothing.
    pub(super) async fn end(&self) -> Result<(), PgError> {
        let ended = ending(self.process(), None, self.now());
        self.deaths.perform(&ended, "").await.map(drop)
    }

    /// The processes that are alive, and those that are not yet taken for dead.
    pub(super) async fn list(pool: &Pool) -> Result<Vec<PgProcess>, PgError> {
        let list = Statement::new(sql::PROCESSES, params![PROCESSES_MAX]);
        match pool.perform(&script(vec![list]), "").await? {
            ScriptOutcome::Done(rows) => {
                rows.into_iter().flatten().map(|row| read(row).ok_or(PgError::Strange)).collect()
            }
            ScriptOutcome::Unmet { .. } => Ok(Vec::new()),
        }
    }

    async fn renew(&self) -> Result<Vec<Sign>, PgError> {
        let _renewing = self.renewing.lock().await;
        self.renew_alone().await
    }

    async fn renew_alone(&self) -> Result<Vec<Sign>, PgError> {
        let asked = timeout(RENEWAL_MAX, self.ask()).await;
        let asked = asked.unwrap_or(Err(PgError::NoAnswer(RENEWAL_MAX)));
        let (renewal, shown, is_alive) = asked.inspect_err(|_| self.known().watch.miss())?;
        let Renewal { sent, arrived, .. } = renewal;
        if self.known().time.learn(ShownTime { shown, sent, arrived }) {
            tracing::warn!("the clock of the database was set back; this process follows it");
        }
        if is_alive {
            return Ok(self.known().watch.learn(&renewal));
        }
        let before = self.process();
        self.register().await?;
        let mut known = self.known();
        known.reborn = Some(self.since.elapsed());
        known.watch = Watch::default();
        known.watch.learn(&renewal);
        tracing::warn!(
            before,
            process = self.process(),
            "the other processes took this one for dead: it continues under a new number"
        );
        Ok(Vec::new())
    }

    /// Gives a sign. Returns the renewal, the time that the database shows, and whether this process is alive.
    async fn ask(&self) -> Result<(Renewal, DateTime<Utc>, bool), PgError> {
        let process = self.process();
        let give = Statement::new(sql::GIVE_SIGN, params![process, PROCESSES_MAX]);
        let sent = self.since.elapsed();
        let outcome = self.perform(script(vec![give])).await?;
        let arrived = self.since.elapsed();
        let ScriptOutcome::Done(rows) = outcome else { return Err(PgError::Strange) };
        let (mut others, mut first) = (Vec::new(), None);
        for row in rows.into_iter().flatten() {
            let [Value::Integer(now), Value::Integer(given), process, counter] = row.as_slice()
            else {
                return Err(PgError::Strange);
            };
            first = first.or(Some((*now, *given > 0)));
            if let (Value::Integer(process), Value::Integer(counter)) = (process, counter) {
                others.push(Sign { process: *process, counter: *counter });
            }
        }
        let (now, is_alive) = first.ok_or(PgError::Strange)?;
        let shown = from_ticks(now).ok_or(PgError::NoTime)?;
        Ok((Renewal { sent, arrived, others }, shown, is_alive))
    }

    /// Takes a number that no process has had.
    async fn register(&self) -> Result<(), PgError> {
        let count = Statement::new(sql::COUNT_PROCESS, Vec::new()).needs(Need::Row);
        let counted = self.perform(script(vec![count])).await?;
        let Some(Value::Integer(process)) = counted.first() else { return Err(PgError::Strange) };
        let ProcessName { name, version } = &self.name;
        let add =
            Statement::new(sql::ADD_PROCESS, params![process, name.as_str(), version.as_str()]);
        let sign = Statement::new(sql::FIRST_SIGN, params![process]);
        self.perform(script(vec![add, sign])).await?;
        self.process.store(process, Ordering::Release);
        Ok(())
    }

    /// Ends processes that are dead.
    async fn end_all(self: Arc<Self>, dead: Vec<Sign>) {
        for Sign { process, counter } in dead {
            let ended = ending(process, Some(counter), self.now());
            match self.deaths.perform(&ended, "").await {
                Ok(ScriptOutcome::Done(_)) => {
                    tracing::warn!(
                        process,
                        "a process gave no signs of life: what it held is free"
                    );
                }
                // Another process was faster, or it gave a sign.
                Ok(ScriptOutcome::Unmet { .. }) => {}
                Err(error) => tracing::warn!(process, %error, "a dead process could not be ended"),
            }
        }
    }

    async fn perform(&self, script: Script) -> Result<ScriptOutcome, PgError> {
        self.signs.perform(&script, "").await
    }

    /// Gives no more signs.
    pub(super) fn close(&self) {
        self.signs.close();
        self.deaths.close();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a process, and then frees what it held. It died if it has given no sign since the last one that was
/// seen; a process that ends itself knows of none.
fn ending(process: i64, last: Option<i64>, now: DateTime<Utc>) -> Script {
    let [claims, messages] = match last {
        Some(_) => [sql::FREE_CLAIMS, sql::FREE_MESSAGES],
        None => [sql::GIVE_BACK_CLAIMS, sql::GIVE_BACK_MESSAGES],
    };
    script(vec![
        Statement::new(sql::END_SIGNS, params![process, last]).needs(Need::Change),
        // Waits for scripts of the process that take something, before anything is looked for.
        Statement::new(sql::END_PROCESS, params![process]).needs(Need::Change),
        Statement::new(claims, params![process]),
        Statement::new(sql::FREE_TURNS, params![process]),
        Statement::new(sql::FREE_SEATS_OF, params![process]),
        Statement::new(messages, params![process, now]),
    ])
    .waking()
}

fn script(statements: Vec<Statement>) -> Script {
    Script::new(Urgency::Start, Turn::default(), statements)
}

fn read(row: Row) -> Option<PgProcess> {
    let mut row = Columns::new("processes", row);
    Some(PgProcess {
        id: row.next().ok()?,
        name: ProcessName { name: row.next().ok()?, version: row.next().ok()? },
        since: row.next().ok()?,
        seen_at: row.next().ok()?,
        attempts: row.next().ok()?,
    })
}
