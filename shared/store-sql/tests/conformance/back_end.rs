//! SQLite as a back end of the suite.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{DeadLetters, Deliveries, DispatchQueue};
use minutehand_store_sql::queue::RECEIVE_MAX;
use minutehand_store_sql::script::{Script, ScriptOutcome, Statement, Turn, Urgency, Value};
use minutehand_store_sql::sqlite::{Database, Durability};
use minutehand_store_sql::{SqlQueue, SqlStore};
use minutehand_testkit::ManualClock;
use minutehand_testkit::conformance::{
    BackEnd, OpenedQueue, OpenedStore, QueueBackEnd, QueueSubject, SpoiledRow, StorePorts,
};
use tempfile::TempDir;

/// SQLite, in memory or in a file.
pub(crate) struct Sqlite {
    name: &'static str,
    is_file: bool,
}

impl Sqlite {
    pub(crate) const IN_MEMORY: Self = Self { name: "SQLite in memory", is_file: false };
    pub(crate) const IN_A_FILE: Self = Self { name: "SQLite in a file", is_file: true };
}

/// A database with nothing in it.
struct OpenedDatabase {
    database: Database,
    /// It goes with the directory.
    _dir: Option<TempDir>,
}

impl Sqlite {
    fn database(&self) -> OpenedDatabase {
        let dir = self.is_file.then(|| tempfile::tempdir().unwrap());
        let opened = match &dir {
            Some(dir) => Database::open(dir.path(), Durability::Normal),
            None => Database::in_memory(),
        };
        let (database, _threads) = opened.unwrap();
        OpenedDatabase { database, _dir: dir }
    }
}

#[async_trait]
impl BackEnd for Sqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedStore> {
        Arc::new(self.database())
    }
}

struct OpenedSqlQueue {
    queue: SqlQueue,
    clock: Arc<ManualClock>,
    _database: OpenedDatabase,
}

#[async_trait]
impl QueueBackEnd for Sqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedQueue> {
        let start = DateTime::from_timestamp(QueueSubject::START, 0).unwrap();
        let (clock, opened) = (Arc::new(ManualClock::at(start)), self.database());
        let queue = SqlQueue::alone(opened.database.clone(), clock.clone()).await.unwrap();
        Arc::new(OpenedSqlQueue { queue, clock, _database: opened })
    }
}

#[async_trait]
impl OpenedQueue for OpenedSqlQueue {
    fn queue(&self) -> &dyn DispatchQueue {
        &self.queue
    }

    async fn arrived(&self) -> Vec<WorkItem> {
        let mut arrived = Vec::new();
        while self.queue.standing().await.unwrap().visible > 0 {
            for taken in self.queue.receive(RECEIVE_MAX).await.unwrap() {
                self.queue.finish(&[taken.receipt]).await.unwrap();
                arrived.push(taken.work_item.unwrap());
            }
        }
        arrived
    }

    fn deliveries(&self) -> Option<&dyn Deliveries> {
        Some(&self.queue)
    }

    fn dead_letters(&self) -> &dyn DeadLetters {
        &self.queue
    }

    fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl OpenedStore for OpenedDatabase {
    fn ports(&self) -> StorePorts {
        StorePorts::new(Arc::new(SqlStore::new(self.database.clone())))
    }

    async fn spoil(&self, row: SpoiledRow<'_>) {
        let (sql, text) = match row {
            SpoiledRow::Collection(it) => (
                "UPDATE collections SET document = '?' WHERE name = ?1 RETURNING 1",
                it.collection.name.as_str(),
            ),
            SpoiledRow::Definition(it) => {
                ("UPDATE jobs SET name = '?' WHERE name = ?1 RETURNING 1", it.name.as_str())
            }
            SpoiledRow::Timer(it) => (
                "UPDATE timers SET state = '?' WHERE job_key = lower(?1) RETURNING 1",
                it.name.as_str(),
            ),
            // There is one job.
            SpoiledRow::Attempts(uid) => {
                ("UPDATE attempts SET outcome = '?' WHERE ?1 <> '' RETURNING 1", uid)
            }
        };
        let spoil = Statement::new(sql, vec![Value::Text(text.to_owned())]);
        let (urgency, turn) = (Urgency::Rest, Turn::default());
        let script = Script {
            urgency,
            turn,
            statements: vec![spoil],
            otherwise: None,
            changed: Vec::new(),
            wakes: false,
        };
        let ScriptOutcome::Done(rows) = self.database.perform(script).await.unwrap() else {
            panic!("a statement without a need")
        };
        assert!(rows.iter().any(|rows| !rows.is_empty()), "there is nothing to spoil: {row:?}");
    }

    async fn remove_expired(&self, now: DateTime<Utc>) {
        let store = SqlStore::new(self.database.clone());
        store.remove_expired(now, now, None).await.unwrap();
    }

    async fn close(&self) {}
}
