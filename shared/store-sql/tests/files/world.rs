//! A store in a directory, and copies of the directory.

use std::fs;
use std::path::{Path, PathBuf};

use minutehand_store_sql::script::{Script, Statement, Turn, Urgency, Value};
use minutehand_store_sql::sqlite::{Database, Durability, SqlError, Threads};
use tempfile::TempDir;

pub(crate) const DATABASE: &str = "minutehand.db";
pub(crate) const LOG: &str = "minutehand.db-wal";
pub(crate) const OPEN: &str = "open";

pub(crate) struct Running {
    pub(crate) dir: TempDir,
    pub(crate) database: Database,
    threads: Threads,
}

impl Running {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (database, threads) = Database::open(dir.path(), Durability::Full).unwrap();
        Self { dir, database, threads }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes rows, each in a commit of its own.
    pub(crate) async fn write(&self, rows: std::ops::Range<i64>) {
        for row in rows {
            add(&self.database, row).await.unwrap();
        }
    }

    /// Ends the store cleanly, and keeps its files.
    pub(crate) fn end(self) -> TempDir {
        drop(self.database);
        self.threads.join();
        self.dir
    }
}

pub(crate) async fn add(database: &Database, row: i64) -> Result<(), SqlError> {
    add_large(database, row, &"x".repeat(2_000)).await
}

/// Adds a row with a text.
pub(crate) async fn add_large(database: &Database, row: i64, text: &str) -> Result<(), SqlError> {
    let parameters = vec![Value::Text(format!("{row:08}")), Value::Text(text.to_owned())];
    let sql = "INSERT INTO subscriptions (key, name) VALUES (?1, ?2)";
    database.perform(script(sql, parameters)).await.map(drop)
}

/// Removes all rows but the first ones.
pub(crate) async fn remove(database: &Database, kept: i64) {
    let parameters = vec![Value::Text(format!("{kept:08}"))];
    let removed = database.perform(script("DELETE FROM subscriptions WHERE key >= ?1", parameters));
    removed.await.unwrap();
}

/// Whether rows can be read.
pub(crate) async fn reads(database: &Database) -> bool {
    let count = script("SELECT count(*) FROM subscriptions", Vec::new());
    database.read(count).await.is_ok()
}

/// Says that only programs of this schema work with the database.
pub(crate) async fn set_works_from(database: &Database, schema: i64) {
    let parameters = vec![Value::Integer(schema)];
    let set = script("UPDATE meta SET value = ?1 WHERE name = 'works_from'", parameters);
    database.perform(set).await.unwrap();
}

fn script(sql: &'static str, parameters: Vec<Value>) -> Script {
    let statements = vec![Statement::new(sql, parameters)];
    Script::new(Urgency::Rest, Turn::default(), statements)
}

/// Copies a file if it is there.
pub(crate) fn copy(from: &Path, to: &Path, name: &str) {
    if let Ok(bytes) = fs::read(from.join(name)) {
        fs::write(to.join(name), bytes).unwrap();
    }
}

/// Starts on a directory and says how many rows are there, in order and without gaps.
pub(crate) fn start(dir: &Path) -> Result<usize, SqlError> {
    let (database, threads) = Database::open(dir, Durability::Full)?;
    drop(database);
    threads.join();
    Ok(rows(dir))
}

/// How many rows a database has, which are the first ones.
pub(crate) fn rows(dir: &Path) -> usize {
    let connection = rusqlite::Connection::open(dir.join(DATABASE)).unwrap();
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let mut keys = connection.prepare("SELECT key FROM subscriptions ORDER BY key").unwrap();
    let keys = keys.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let keys: Vec<_> = keys.map(Result::unwrap).collect();
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(*key, format!("{n:08}"));
    }
    keys.len()
}
