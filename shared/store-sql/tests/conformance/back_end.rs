//! SQLite and PostgreSQL as back ends of the suite.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{DeadLetters, Deliveries, DispatchQueue};
use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgOptions};
use minutehand_store_sql::queue::RECEIVE_MAX;
use minutehand_store_sql::script::{Script, ScriptOutcome, Statement, Turn, Urgency, Value};
use minutehand_store_sql::sqlite::{self, Durability};
use minutehand_store_sql::{AnyDatabase, SqlQueue, SqlStore};
use minutehand_testkit::ManualClock;
use minutehand_testkit::conformance::{
    BackEnd, OpenedQueue, OpenedStore, QueueBackEnd, QueueSubject, SpoiledRow, StorePorts,
};
use minutehand_testkit::postgres::PostgresPlaces;
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
    database: AnyDatabase,
    /// It goes with the directory.
    _dir: Option<TempDir>,
}

impl Sqlite {
    fn database(&self) -> OpenedDatabase {
        let dir = self.is_file.then(|| tempfile::tempdir().unwrap());
        let opened = match &dir {
            Some(dir) => sqlite::Database::open(dir.path(), Durability::Normal),
            None => sqlite::Database::in_memory(),
        };
        let (database, _threads) = opened.unwrap();
        OpenedDatabase { database: database.into(), _dir: dir }
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
        Arc::new(OpenedSqlQueue::of(self.database()).await)
    }
}

/// PostgreSQL: one server, and a place of its own for each test.
pub(crate) struct Postgres {
    pub(crate) places: PostgresPlaces,
    pub(crate) has_named_statements: bool,
}

impl Postgres {
    async fn database(&self) -> OpenedDatabase {
        let settings = PgAddress::read(&self.places.place()).unwrap();
        let has_named_statements = self.has_named_statements;
        let options = PgOptions { has_named_statements, ..PgOptions::default() };
        let database = PgDatabase::connect(settings, options).await.unwrap();
        OpenedDatabase { database: database.into(), _dir: None }
    }
}

#[async_trait]
impl BackEnd for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedStore> {
        Arc::new(self.database().await)
    }
}

#[async_trait]
impl QueueBackEnd for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedQueue> {
        Arc::new(OpenedSqlQueue::of(self.database().await).await)
    }
}

impl OpenedSqlQueue {
    async fn of(opened: OpenedDatabase) -> Self {
        let start = DateTime::from_timestamp(QueueSubject::START, 0).unwrap();
        let clock = Arc::new(ManualClock::at(start));
        let queue = SqlQueue::open(opened.database.clone(), clock.clone()).await.unwrap();
        Self { queue, clock, _database: opened }
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
        let store = Arc::new(SqlStore::new(self.database.clone()));
        StorePorts { signs: Some(store.clone()), ..StorePorts::new(store) }
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
        let script = Script::new(Urgency::Rest, Turn::default(), vec![spoil]);
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
