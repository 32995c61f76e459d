//! The store: scripts for a database.

use std::sync::Arc;

use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::StoreError;
use minutehand_ports::store::{Page, Saved};

use crate::changed::hash;
use crate::database::{ANY_PROCESS, AnyDatabase};
use crate::prefetched::Prefetched;
use crate::script::{Need, Row, Script, ScriptOutcome, Statement, Turn, Urgency, Value};

/// The most items of a page, however many are asked for.
const PAGE_MAX: u32 = 10_000;

/// Stores collections, jobs, timers and attempts in one database.
#[derive(Debug, Clone)]
pub struct SqlStore {
    database: AnyDatabase,
    /// For how long history is kept.
    pub(crate) history: HistoryDays,
    /// The number of the process, if it is the only one; else 0.
    pub(crate) process: i64,
    pub(crate) prefetched: Arc<Prefetched>,
}

impl SqlStore {
    /// A store in a database.
    #[must_use]
    pub fn new(database: impl Into<AnyDatabase>) -> Self {
        let (history, prefetched) = Default::default();
        Self { database: database.into(), history, process: ANY_PROCESS, prefetched }
    }

    /// Sets for how long history is kept that is written from now on.
    #[must_use]
    pub fn with_history(self, history: HistoryDays) -> Self {
        Self { history, ..self }
    }

    /// Tells the store that this process is the only one that uses the database.
    ///
    /// Any other process that used it has ended. So the claims, turns and seats of other processes are
    /// void, even if their leases last. And the store knows whether a job was written since it was
    /// prefetched. A process is never the only one on PostgreSQL: there, this changes nothing.
    #[must_use]
    pub fn alone(self) -> Self {
        let process = self.database.only_process();
        self.alone_as(process)
    }

    /// The same for a process that has another number than the one that opened the database. A simulation plays
    /// several processes on one database in memory, which cannot be opened twice.
    #[must_use]
    pub fn alone_as(self, process: i64) -> Self {
        Self { process, ..self }
    }

    /// The number under which this process takes claims, turns and seats.
    pub(crate) fn taker(&self) -> i64 {
        self.database.process_of_many().unwrap_or(self.process)
    }

    /// The database.
    #[must_use]
    pub const fn database(&self) -> &AnyDatabase {
        &self.database
    }

    /// Performs a script.
    pub(crate) async fn perform(&self, script: Script) -> Result<ScriptOutcome, StoreError> {
        Ok(self.database.perform(script).await?)
    }

    /// Performs a script; if a need was not met, what it reads then.
    pub(crate) async fn unmet(&self, script: Script) -> Result<Option<Vec<Row>>, StoreError> {
        Ok(match self.perform(script).await? {
            ScriptOutcome::Done(_) => None,
            ScriptOutcome::Unmet { otherwise, .. } => Some(otherwise),
        })
    }

    /// Performs a script; `false` if a need was not met.
    pub(crate) async fn does(&self, script: Script) -> Result<bool, StoreError> {
        Ok(self.unmet(script).await?.is_none())
    }

    /// Performs a script of a change that a user decided on a reading.
    pub(crate) async fn saves(&self, script: Script) -> Result<Saved, StoreError> {
        Ok(if self.does(script).await? { Saved::Kept } else { Saved::Stale })
    }

    /// Reads a row as it is now, in front of everything that waits to be written, if it is there.
    pub(crate) async fn read_now(
        &self,
        collection_uid: &str,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        let script = start(collection_uid, vec![Statement::new(sql, parameters)]);
        Ok(first_rows(self.perform(script).await?)?.into_iter().next())
    }

    /// Reads rows beside the writes. What this process was answered before is in them.
    pub(crate) async fn read(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let script = rest("", vec![Statement::new(sql, parameters)]);
        first_rows(self.database.read(script).await?)
    }

    /// Reads a row beside the writes, if it is there.
    pub(crate) async fn read_one(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.read(sql, parameters).await?.into_iter().next())
    }
}

/// The rows of a script of one statement.
pub(crate) fn first_rows(outcome: ScriptOutcome) -> Result<Vec<Row>, StoreError> {
    let first = match outcome {
        ScriptOutcome::Done(rows) => rows.into_iter().next(),
        ScriptOutcome::Unmet { .. } => None,
    };
    first.ok_or_else(|| StoreError::Refused("a read was answered with nothing".into()))
}

/// A script that stands between an attempt and its start.
pub(crate) fn start(collection_uid: &str, statements: Vec<Statement>) -> Script {
    script(Urgency::Start, collection_uid, statements)
}

/// A script that records what has happened.
pub(crate) fn record(collection_uid: &str, statements: Vec<Statement>) -> Script {
    script(Urgency::Record, collection_uid, statements)
}

/// Any other script.
pub(crate) fn rest(collection_uid: &str, statements: Vec<Statement>) -> Script {
    script(Urgency::Rest, collection_uid, statements)
}

/// A script that can wait.
pub(crate) fn background(statements: Vec<Statement>) -> Script {
    script(Urgency::Background, "", statements)
}

fn script(urgency: Urgency, collection_uid: &str, statements: Vec<Statement>) -> Script {
    Script::new(urgency, Turn(hash(collection_uid).into()), statements)
}

/// The same script, after which the starts of a job or a collection read something else.
pub(crate) fn changing(script: Script, uid: &str) -> Script {
    Script { changed: vec![hash(uid)], ..script }
}

/// A statement that has to change something.
pub(crate) fn changes(sql: &'static str, parameters: Vec<Value>) -> Statement {
    Statement::new(sql, parameters).needs(Need::Change)
}

/// How many rows a page takes: one more than it holds.
pub(crate) fn rows_of(items_max: u32) -> i64 {
    i64::from(items_max.min(PAGE_MAX)) + 1
}

/// A page of the rows that were read for it. The next one begins behind the last item.
pub(crate) fn page_of<T>(
    mut items: Vec<T>,
    items_max: u32,
    position: impl FnOnce(&T) -> String,
) -> Page<T> {
    let max = usize::try_from(items_max.min(PAGE_MAX)).unwrap_or(usize::MAX);
    let is_last = items.len() <= max;
    items.truncate(max);
    let next = if is_last { None } else { items.last().map(position) };
    Page { items, next }
}
