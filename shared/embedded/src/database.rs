//! dynoxide on its one SQLite connection, and what makes that durable.
//!
//! dynoxide has an entry point of its own, `Database`, which hides the connection; one level below,
//! its `Storage` and the functions in its `actions` are public too. They are used here because
//! durability is a matter of the connection: `synchronous`, checkpoints, what has changed.
//!
//! SQLite runs at `synchronous = NORMAL` in both modes: commits go to the log without waiting for
//! the disk, checkpoints wait. [`SyncMode::Full`](crate::SyncMode) adds what `synchronous = FULL`
//! would, the log's way to the disk before an answer, from outside: [`Database::sync`] once for as
//! many commits as came together, where SQLite would wait for each.
//!
//! A crash before `sync` loses commits that were not answered; during it, the same or fewer. The
//! log's frames carry a running checksum, so what is half written is not there.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use dynoxide::DynoxideError;
use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use dynoxide::storage::Storage;

use crate::data_dir::{DataDir, private};
use crate::operation::{self, Outcome};
use crate::store::OpenError;

/// Pages of the database that SQLite keeps in memory, in KiB: its own 2 MiB are for small devices.
const CACHE_KIB: i32 = 32 * 1024;
/// Compiled statements that are kept: some for each table and index, and rusqlite keeps 16.
const STATEMENTS_MAX: usize = 64;
/// What a request gets from a store whose disk has failed.
const FAILED: &str = "the disk refused a write of the embedded store: start it again";

/// The status and the body of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Database {
    // Fields are dropped in this order: SQLite closes its files, then the directory is let go.
    storage: Storage,
    disk: Option<Disk>,
    /// Table operations ask for it; no table here has a vector index.
    vectors: VectorIndexLifecycle,
    failed: bool,
}

struct Disk {
    /// SQLite's log, opened a second time. Its locks are on other files, which must never be
    /// opened here: POSIX drops a process's locks on a file when *any* of its handles is closed.
    log: File,
    /// SQLite's count of changed rows when the log was last known to be on the disk.
    synced_changes: u64,
    /// The same, when all of the log was last in the database.
    checkpointed_changes: u64,
    _data_dir: DataDir,
}

impl Database {
    pub(crate) fn in_memory() -> Result<Self, OpenError> {
        let storage = Storage::memory().map_err(OpenError::Memory)?;
        Ok(Self { storage, disk: None, vectors: VectorIndexLifecycle::new(), failed: false })
    }

    pub(crate) fn open(data_dir: &DataDir) -> Result<Self, OpenError> {
        let path = data_dir.store_file();
        let in_file = |source| OpenError::Database { path: path.clone(), source };
        let io = |source| OpenError::Io { path: path.clone(), source };
        let text = path.to_str().ok_or_else(|| OpenError::Path { path: path.clone() })?;
        // An empty file is an empty database; the log takes its mode from it.
        private().create(true).truncate(false).open(&path).map_err(io)?;
        let storage = Storage::new(text).map_err(in_file)?;
        configure(&storage).map_err(in_file)?;
        // The log exists since the first look into the database, and is the same file until the
        // connection is closed.
        let log = private().open(log_file(text)).map_err(io)?;
        log.sync_all().and_then(|()| data_dir.sync()).map_err(io)?;
        let changes = storage.conn().total_changes();
        let disk = Disk {
            log,
            synced_changes: changes,
            checkpointed_changes: changes,
            _data_dir: data_dir.clone(),
        };
        let vectors = VectorIndexLifecycle::new();
        Ok(Self { storage, disk: Some(disk), vectors, failed: false })
    }

    /// Performs one request; what it wrote is committed, and in the log, when this returns.
    pub(crate) fn answer(&self, operation: &str, body: &[u8]) -> Answer {
        if self.failed {
            return Self::failed();
        }
        let outcome =
            self.guard(|| operation::perform(&self.storage, &self.vectors, operation, body));
        match outcome {
            Ok(body) => Answer { status: 200, body },
            Err((status, body)) => Answer { status, body },
        }
    }

    /// One request that trips over itself is one failed request, and no more.
    fn guard(&self, perform: impl FnOnce() -> Outcome) -> Outcome {
        catch_unwind(AssertUnwindSafe(perform)).unwrap_or_else(|_| {
            // Left open, its transaction would swallow the requests that follow.
            if !self.storage.conn().is_autocommit() {
                let _ = self.storage.rollback();
            }
            Err(operation::internal_error("the embedded store panicked on this request"))
        })
    }

    /// Returns the answer of a store whose disk has failed.
    pub(crate) fn failed() -> Answer {
        let (status, body) = operation::internal_error(FAILED);
        Answer { status, body }
    }

    /// Whether a power cut would lose something.
    pub(crate) fn is_ahead_of_disk(&self) -> bool {
        let changes = self.storage.conn().total_changes();
        self.disk.as_ref().is_some_and(|disk| disk.synced_changes != changes)
    }

    /// Whether a checkpoint would find something to do.
    pub(crate) fn is_ahead_of_checkpoint(&self) -> bool {
        let changes = self.storage.conn().total_changes();
        !self.failed && self.disk.as_ref().is_some_and(|disk| disk.checkpointed_changes != changes)
    }

    /// Puts everything that was committed on the disk. False if the disk refuses; the store then
    /// has failed, since a second try would succeed without having written what the first lost.
    #[must_use]
    pub(crate) fn sync(&mut self) -> bool {
        let changes = self.storage.conn().total_changes();
        if let Some(disk) = self.disk.as_mut().filter(|_| !self.failed) {
            match disk.log.sync_data() {
                Ok(()) => disk.synced_changes = changes,
                Err(_) => self.failed = true,
            }
        }
        !self.failed
    }

    /// Moves the log into the database, and in any case puts everything on the disk.
    ///
    /// A reader in another process can hold a part back, a full disk all of it. It stays in the
    /// log for the next time, and there it is as durable as was promised.
    pub(crate) fn checkpoint(&mut self) {
        let changes = self.storage.conn().total_changes();
        let is_complete = checkpoint(&self.storage).unwrap_or(false);
        if !is_complete {
            let _ = self.sync();
        } else if let Some(disk) = &mut self.disk {
            disk.synced_changes = changes;
            disk.checkpointed_changes = changes;
        }
    }
}

fn configure(storage: &Storage) -> Result<(), DynoxideError> {
    let connection = storage.conn();
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // A negative number of pages is a number of KiB.
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(())
}

/// Returns whether all of the log is now in the database.
fn checkpoint(storage: &Storage) -> Result<bool, DynoxideError> {
    let connection = storage.conn();
    let (is_busy, in_log, moved): (bool, i64, i64) =
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    Ok(!is_busy && in_log == moved)
}

fn log_file(database: &str) -> impl AsRef<Path> {
    format!("{database}-wal")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    use std::fs;

    const CREATE: &str = r#"{
        "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]
    }"#;
    pub(crate) const PUT: &str = r#"{"TableName": "table", "Item": {"pk": {"S": "a"}}}"#;
    pub(crate) const GET: &str = r#"{"TableName": "table", "Key": {"pk": {"S": "a"}}}"#;

    pub(crate) fn with_table(dir: &Path) -> Database {
        let database = Database::open(&DataDir::open(dir).unwrap()).unwrap();
        assert_eq!(database.answer("CreateTable", CREATE.as_bytes()).status, 200);
        database
    }

    /// A device takes what is written to it, and cannot be synced.
    pub(crate) fn break_disk(database: &mut Database) {
        database.disk.as_mut().unwrap().log = File::open("/dev/null").unwrap();
    }

    fn has_item(database: &Database) -> bool {
        let answer = database.answer("GetItem", GET.as_bytes());
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body).unwrap().contains("\"Item\"")
    }

    #[test]
    fn a_write_is_ahead_of_the_disk_until_it_is_synced_and_a_read_never_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        assert!(database.is_ahead_of_disk());
        assert!(database.sync());
        assert!(!has_item(&database));
        assert!(!database.is_ahead_of_disk());
        database.answer("PutItem", PUT.as_bytes());
        assert!(database.is_ahead_of_disk());
    }

    #[test]
    fn a_checkpoint_leaves_nothing_that_is_in_the_log_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        database.answer("PutItem", PUT.as_bytes());
        assert!(database.is_ahead_of_checkpoint());
        database.checkpoint();
        assert!(!database.is_ahead_of_checkpoint());
        assert!(!database.is_ahead_of_disk());

        let copy = tempfile::tempdir().unwrap();
        let without_log = DataDir::open(copy.path()).unwrap();
        fs::copy(dir.path().join("store.db"), without_log.store_file()).unwrap();
        assert!(has_item(&Database::open(&without_log).unwrap()));
    }

    #[test]
    fn what_a_reader_elsewhere_holds_back_is_durable_in_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        database.checkpoint();
        let reader = Storage::new(dir.path().join("store.db").to_str().unwrap()).unwrap();
        reader.conn().execute_batch("BEGIN; SELECT * FROM _tables").unwrap();
        database.answer("PutItem", PUT.as_bytes());
        database.answer("DeleteTable", br#"{"TableName": "table"}"#);
        database.checkpoint();
        assert!(database.is_ahead_of_checkpoint());
        assert!(!database.is_ahead_of_disk());
        reader.conn().execute_batch("COMMIT").unwrap();
        database.checkpoint();
        assert!(!database.is_ahead_of_checkpoint());
    }

    #[test]
    fn sqlite_itself_never_waits_for_the_disk_on_a_commit() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let read = |pragma: &str| -> i64 {
            let connection = database.storage.conn();
            connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
        };
        let normal = 1;
        assert_eq!(read("synchronous"), normal);
        assert_eq!(read("cache_size"), -i64::from(CACHE_KIB));
    }

    #[test]
    fn a_panic_in_the_middle_of_a_transaction_takes_only_that_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let outcome = database.guard(|| {
            database.storage.begin_transaction().unwrap();
            panic!("as dynoxide would");
        });
        assert_eq!(outcome.unwrap_err().0, 500);
        assert_eq!(database.answer("PutItem", PUT.as_bytes()).status, 200);
        assert!(has_item(&database));
    }

    #[cfg(unix)]
    #[test]
    fn a_disk_that_refuses_once_fails_every_further_request() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        break_disk(&mut database);
        assert!(!database.sync());
        assert_eq!(database.answer("GetItem", GET.as_bytes()).status, 500);
        assert!(!database.is_ahead_of_checkpoint(), "nothing is tried a second time");
    }
}
