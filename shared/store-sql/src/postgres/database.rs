//! The database as everyone else uses it: a handle of connections, and of what listens.
//!
//! What stands between an attempt and its start, and records, have connections of their own, so that no list
//! holds up a claim. A read that begins after an answer sees what was answered, because an answer follows
//! its commit, and all connections lead to one server.
//!
//! | the process ends, or the connection breaks, after | it leaves | repaired by |
//! |---|---|---|
//! | a statement | nothing: the server undoes the transaction | |
//! | a commit, before its answer | the whole script, and a caller that has an error | the caller, which asks again and finds what it wrote |
//! | an answer | what was answered, as far as the server's own settings keep it | |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::Notify;

use super::error::PgError;
use super::groups::Groups;
use super::life::{Life, PgProcess, ProcessName};
use super::listener::Listening;
use super::pool::Pool;
use super::schema;
use super::settings::PgAddress;
use super::sweeping::Sweeping;
use super::task::Task;
use crate::script::{Script, ScriptOutcome, Urgency};

/// The connections for claims, starts and records.
const WORK_CONNECTIONS: usize = 8;
/// The connections for everything else.
const OTHER_CONNECTIONS: usize = 4;

/// How often a receiver looks that is told of what others send.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a receiver looks that is not told.
const LOOK_OFTEN: Duration = Duration::from_millis(200);

/// A database of many processes. Clones are the same one.
#[derive(Debug, Clone)]
pub struct PgDatabase {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    groups: Groups,
    work: Pool,
    others: Pool,
    installation: i64,
    life: Arc<Life>,
    /// For a connection of its own.
    settings: PgAddress,
    /// What the other processes are told of this one.
    name: String,
    /// Wakes the receiver that waits for a message.
    woken: Arc<Notify>,
    /// Whether this process is told what others send.
    is_heard: Arc<AtomicBool>,
    _tasks: [Task; 2],
}

/// How a process uses a database.
#[derive(Debug, Clone)]
pub struct PgOptions {
    /// The same database without a pooler, if the address leads to one.
    pub direct: Option<PgAddress>,
    /// Whether the server keeps statements under names. Then no pooler may stand between.
    pub has_named_statements: bool,
    /// What people call this process.
    pub process: ProcessName,
    /// Whether a schema that is behind is brought up to date. Otherwise it is an error.
    pub migrates: bool,
}

impl Default for PgOptions {
    fn default() -> Self {
        let process = ProcessName::default();
        Self { direct: None, has_named_statements: false, process, migrates: true }
    }
}

impl PgDatabase {
    /// Connects to a database with options. From then on this process is one of those that use it, until it
    /// [ends](Self::end) or dies.
    ///
    /// # Errors
    ///
    /// If no connection can be made, the role may not do what it has to, the schema is behind and this
    /// process does not migrate, or a newer version made the database.
    pub async fn connect(settings: PgAddress, options: PgOptions) -> Result<Self, PgError> {
        let direct = options.direct.unwrap_or_else(|| settings.clone());
        let first = Pool::new(direct.clone(), 1).connect().await?;
        let installation = schema::prepare(&first, options.migrates).await?;
        let named = options.has_named_statements;
        let pool = |max| Pool::new(settings.clone(), max).with_named_statements(named);
        let (work, others) = (pool(WORK_CONNECTIONS), pool(OTHER_CONNECTIONS));
        let life = Life::begin([pool(1), pool(1)], options.process).await?;
        let (woken, is_heard) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let name = life.process().to_string();
        let listening = Listening {
            direct,
            settings: settings.clone(),
            name: name.clone(),
            woken: woken.clone(),
            is_heard: is_heard.clone(),
        };
        let shared = Shared {
            groups: Groups::default(),
            work,
            others,
            installation,
            _tasks: [life.clone().live(), listening.start()],
            life,
            settings,
            name,
            woken,
            is_heard,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The number of this process: no other process that opened the database has it. It changes if the others
    /// take this process for dead.
    #[must_use]
    pub fn process(&self) -> i64 {
        self.shared.life.process()
    }

    /// The processes that use the database, and those that died a few seconds ago.
    ///
    /// # Errors
    ///
    /// As [`perform`](Self::perform).
    pub async fn processes(&self) -> Result<Vec<PgProcess>, PgError> {
        Life::list(&self.shared.others).await
    }

    /// The time of the database's clock, at least: see [`PgClock`](super::PgClock).
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.shared.life.now()
    }

    /// Makes sure, before an action, that the others have not taken this process for dead. Returns whether it
    /// may hold claims under a number that it no longer has.
    ///
    /// # Errors
    ///
    /// If the database does not answer.
    pub(crate) async fn confirm(&self) -> Result<bool, PgError> {
        self.shared.life.confirm().await
    }

    /// Competes for the right to sweep, until the value goes.
    #[must_use]
    pub fn sweeping(&self) -> Sweeping {
        Sweeping::start(Pool::new(self.shared.settings.clone(), 1))
    }

    /// Ends this process in good order, and performs nothing any more: what it holds is given back, and
    /// counts as nothing.
    ///
    /// # Errors
    ///
    /// If the database does not answer. Then the other processes take this one for dead.
    pub async fn end(&self) -> Result<(), PgError> {
        let ended = self.shared.life.end().await;
        self.close();
        ended
    }

    /// What tells this database from others, in 16 digits.
    #[must_use]
    pub fn installation(&self) -> String {
        format!("{:016x}", self.shared.installation)
    }

    /// Performs a script, whatever becomes of the caller.
    ///
    /// # Errors
    ///
    /// If PostgreSQL refuses it, or does not answer. Then it may be done all the same.
    pub async fn perform(&self, script: Script) -> Result<ScriptOutcome, PgError> {
        tokio::spawn(self.shared.clone().perform(script)).await.unwrap_or(Err(PgError::Closed))
    }

    /// Has a script performed, whatever becomes of it.
    pub(crate) fn tell(&self, script: Script) {
        tokio::spawn(self.shared.clone().perform(script));
    }

    /// Performs scripts, each by itself. The answers are in their order.
    pub async fn perform_all(&self, scripts: Vec<Script>) -> Vec<Result<ScriptOutcome, PgError>> {
        // All are under way before the first answer is awaited.
        let asked: Vec<_> = scripts
            .into_iter()
            .map(|script| tokio::spawn(self.shared.clone().perform(script)))
            .collect();
        let mut answers = Vec::with_capacity(asked.len());
        for answer in asked {
            answers.push(answer.await.unwrap_or(Err(PgError::Closed)));
        }
        answers
    }

    /// Performs a script that only reads, on a connection that no claim waits for.
    ///
    /// # Errors
    ///
    /// As [`perform`](Self::perform).
    pub async fn read(&self, script: Script) -> Result<ScriptOutcome, PgError> {
        self.shared.others.perform(&script, &self.shared.name).await
    }

    /// Waits until this process or another one may have added a message, or shown one again.
    pub(crate) async fn woken(&self) {
        self.shared.woken.notified().await;
    }

    /// How often a receiver looks for messages of which it was not told.
    pub(crate) fn look_every(&self) -> Duration {
        if self.shared.is_heard.load(Ordering::Relaxed) { LOOK_EVERY } else { LOOK_OFTEN }
    }

    /// Performs nothing any more. What is under way is answered.
    pub fn close(&self) {
        self.shared.work.close();
        self.shared.others.close();
        self.shared.life.close();
        // A receiver that waits finds the database closed.
        self.shared.woken.notify_one();
    }
}

impl Shared {
    async fn perform(self: Arc<Self>, script: Script) -> Result<ScriptOutcome, PgError> {
        let pool = match script.urgency {
            Urgency::Start | Urgency::Record => &self.work,
            Urgency::Rest | Urgency::Background => &self.others,
        };
        let (wakes, kind) = (script.wakes, self.groups.kind(&script));
        let performed = match kind {
            Some(kind) => kind.join(script, pool, &self.name).await,
            None => pool.perform(&script, &self.name).await,
        };
        // If the database fails, a receiver that waits must find out.
        if wakes || performed.is_err() {
            // Before the answer is sent: a caller that has it can rely on the receiver having been woken.
            self.woken.notify_one();
        }
        performed
    }
}
