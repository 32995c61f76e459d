//! dynoxide on its SQLite connection, and what makes that connection durable.
//!
//! dynoxide's own entry point, `Database`, hides the connection. Its `Storage` and the functions in its
//! `actions` are public too. This module uses those, because durability needs the connection:
//! `synchronous`, checkpoints, and the number of changes.
//!
//! SQLite runs at `synchronous = NORMAL` in both modes; [`SyncMode::Full`](crate::SyncMode) adds a
//! [`Log::sync`] before an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dynoxide::DynoxideError;
use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use dynoxide::storage::Storage;
use rusqlite::{Transaction, TransactionBehavior};

use crate::data_dir::DataDir;
use crate::database_file;
use crate::direct::{Direct, Performed};
use crate::error::OpenError;
use crate::identity;
use crate::log::{self, Log, NoWrites};
use crate::operation::{self, OperationAnswer};
use crate::shared_transaction::SharedTransaction;

/// The page cache of SQLite in KiB: its default of 2 MiB is meant for small devices.
const CACHE_KIB: i32 = 16 * 1024;
/// Compiled statements that are kept: several for each table and index. The default is 16.
const STATEMENTS_MAX: usize = 64;
/// The name of the store in errors, and of its thread.
pub(crate) const STORE: &str = "store";

/// The status and the body of an answer.
#[derive(Debug)]
pub(crate) struct StoreAnswer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl From<OperationAnswer> for StoreAnswer {
    fn from(answer: OperationAnswer) -> Self {
        match answer {
            Ok(body) => Self { status: 200, body },
            Err((status, body)) => Self { status, body },
        }
    }
}

pub(crate) struct Database {
    // The order of the fields matters: SQLite closes its files before the directory is released.
    storage: Storage,
    direct: Direct,
    shared: SharedTransaction,
    log: Log,
    /// A parameter of dynoxide's table operations; no table here has a vector index.
    vectors: VectorIndexLifecycle,
}

impl Database {
    pub(crate) fn in_memory() -> Result<Self, OpenError> {
        let storage = Storage::memory()
            .map_err(|source| OpenError::Memory { what: STORE, source: source.into() })?;
        Ok(Self::new(storage, Log::in_memory()))
    }

    pub(crate) fn open(data_dir: &DataDir) -> Result<Self, OpenError> {
        let path = data_dir.store_file();
        let in_file = |error: DynoxideError| match error {
            DynoxideError::SqliteError(error) => OpenError::of_sqlite(STORE, &path, error),
            other => OpenError::Database { what: STORE, path: path.clone(), source: other.into() },
        };
        let io = |source| OpenError::Io { what: STORE, path: path.clone(), source };
        let text = path.to_str().ok_or_else(|| OpenError::Path { path: path.clone() })?;
        database_file::prepare(STORE, &path)?;
        let storage = Storage::new(text).map_err(in_file)?;
        let connection = storage.conn();
        log::configure(connection, CACHE_KIB).map_err(|error| in_file(error.into()))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        let log = Log::open(connection, &path, data_dir).map_err(io)?;
        Ok(Self::new(storage, log))
    }

    fn new(storage: Storage, log: Log) -> Self {
        let shared = SharedTransaction::on(storage.conn());
        Self {
            storage,
            direct: Direct::default(),
            shared,
            log,
            vectors: VectorIndexLifecycle::new(),
        }
    }

    /// The identity of the directory that the database belongs to.
    pub(crate) fn identity(&self) -> rusqlite::Result<Option<String>> {
        identity::of_database(self.storage.conn())
    }

    /// Writes the identity into a database that has none.
    pub(crate) fn add_identity(&self, id: &str) -> rusqlite::Result<()> {
        identity::add_to_database(self.storage.conn(), id)
    }

    /// Returns whether a table was ever created: then there is a queue, too.
    pub(crate) fn has_tables(&self) -> rusqlite::Result<bool> {
        let sql = "SELECT count(*) > 0 FROM _tables";
        self.storage.conn().query_row(sql, [], |row| row.get(0))
    }

    /// Performs one request. Its writes are committed to the log when this returns.
    pub(crate) fn answer(&self, operation: &str, body: &[u8]) -> StoreAnswer {
        if self.log.has_failed() {
            return Self::failed();
        }
        self.perform(operation, body).into()
    }

    /// Performs requests in one transaction, which is committed to the log when this returns. If it is
    /// not committed, nothing was written, and each request is performed alone: then only those fail
    /// that SQLite refuses by themselves.
    ///
    /// None of them may change a table: dynoxide caches what it knows of tables, and would not learn
    /// that the transaction was rolled back.
    pub(crate) fn answer_together(&self, requests: &[(&str, &[u8])]) -> Vec<StoreAnswer> {
        let answers = self.try_together(requests).unwrap_or_else(|| {
            requests.iter().map(|(operation, body)| self.answer(operation, body)).collect()
        });
        if answers.iter().any(|answer| answer.status >= 500) {
            self.log.doubt();
        }
        answers
    }

    /// Performs requests in one transaction. Returns `None` if they have to be performed alone.
    fn try_together(&self, requests: &[(&str, &[u8])]) -> Option<Vec<StoreAnswer>> {
        let only_reads = requests.iter().all(|(operation, _)| operation::only_reads(operation));
        // A read alone needs no transaction.
        let can_share = (requests.len() > 1 || !only_reads)
            && !self.log.has_failed()
            && !requests.iter().any(|(operation, _)| operation::changes_table(operation));
        let behavior =
            if only_reads { TransactionBehavior::Deferred } else { TransactionBehavior::Immediate };
        let begin = || Transaction::new_unchecked(self.storage.conn(), behavior);
        // A disk that refuses writes may refuse to begin. It still answers reads.
        let transaction = can_share.then(begin)?.ok()?;
        let answers = self.perform_together(transaction, requests).ok()?;
        Some(answers.into_iter().map(StoreAnswer::from).collect())
    }

    fn perform_together(
        &self,
        transaction: Transaction<'_>,
        requests: &[(&str, &[u8])],
    ) -> rusqlite::Result<Vec<OperationAnswer>> {
        self.shared.perform(transaction, requests, |(operation, body), undo| {
            match self.directly(operation, body)? {
                Performed::Answered(answer) => Ok(answer),
                Performed::Left { to_learn } if operation::only_reads(operation) => {
                    Ok(self.with_dynoxide(operation, body, to_learn))
                }
                Performed::Left { to_learn } => {
                    undo.if_failed(|| self.with_dynoxide(operation, body, to_learn))
                }
            }
        })
    }

    /// Performs one request outside of a shared transaction.
    fn perform(&self, operation: &str, body: &[u8]) -> OperationAnswer {
        if operation::only_reads(operation) {
            return self.read(operation, body);
        }
        if operation::changes_table(operation) {
            self.direct.forget_tables();
        }
        // A direct write would need a transaction; dynoxide begins one by itself.
        self.with_dynoxide(operation, body, false)
    }

    fn read(&self, operation: &str, body: &[u8]) -> OperationAnswer {
        match self.directly(operation, body) {
            Ok(Performed::Answered(answer)) => answer,
            Ok(Performed::Left { to_learn }) => self.with_dynoxide(operation, body, to_learn),
            Err(error) => Err(operation::internal_error(&error.to_string())),
        }
    }

    /// Performs a request without dynoxide, if that is possible. After a panic the writes of the
    /// transaction are unknown, so it is an error of the transaction.
    fn directly(&self, operation: &str, body: &[u8]) -> rusqlite::Result<Performed> {
        let perform = || self.direct.perform(&self.storage, operation, body);
        catch_unwind(AssertUnwindSafe(perform)).unwrap_or(Err(rusqlite::Error::UnwindingPanic))
    }

    /// Returns whether a request would be performed directly. It is performed, and undone.
    #[cfg(test)]
    pub(crate) fn is_performed_directly(&self, operation: &str, body: &[u8]) -> bool {
        let _undone = self.storage.conn().unchecked_transaction();
        matches!(self.directly(operation, body), Ok(Performed::Answered(_)))
    }

    fn with_dynoxide(&self, operation: &str, body: &[u8], to_learn: bool) -> OperationAnswer {
        let answer =
            self.guard(|| operation::perform(&self.storage, &self.vectors, operation, body));
        if to_learn {
            self.direct.learn(operation, body, &answer);
        }
        answer
    }

    /// Performs a request. A panic in dynoxide fails this request only.
    fn guard(&self, perform: impl FnOnce() -> OperationAnswer) -> OperationAnswer {
        let outcome = catch_unwind(AssertUnwindSafe(perform)).unwrap_or_else(|_| {
            Err(operation::internal_error("the embedded store panicked on this request"))
        });
        // A transaction that stays open would contain the requests that follow. A refused commit may
        // leave one open, too. In a shared transaction this does nothing; the request has a savepoint.
        if outcome.is_err() && !self.storage.conn().is_autocommit() {
            let _ = self.storage.rollback();
        }
        outcome
    }

    /// Returns the answer of a store whose disk has failed.
    pub(crate) fn failed() -> StoreAnswer {
        Err(operation::internal_error(&NoWrites::Failed.to_string())).into()
    }

    /// Returns whether a power cut would lose commits.
    pub(crate) fn is_ahead_of_disk(&self) -> bool {
        self.log.is_ahead_of_disk(self.storage.conn())
    }

    /// Returns whether a checkpoint would have anything to do.
    pub(crate) fn is_ahead_of_checkpoint(&self) -> bool {
        self.log.is_ahead_of_checkpoint(self.storage.conn())
    }

    /// Writes everything that was committed to the disk. Returns false if the disk fails; the store
    /// has failed then.
    #[must_use]
    pub(crate) fn sync(&mut self) -> bool {
        self.log.sync(self.storage.conn())
    }

    /// Moves the log into the database.
    pub(crate) fn checkpoint(&mut self) {
        self.log.checkpoint(self.storage.conn());
    }

    /// Checks whether the disk accepts writes.
    pub(crate) fn accepts_writes(&mut self) -> Result<(), NoWrites> {
        self.log.accepts_writes(self.storage.conn())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use rusqlite::Connection;

    pub(crate) const CREATE: &str = r#"{
        "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]
    }"#;
    pub(crate) const PUT: &str = r#"{"TableName": "table", "Item": {"pk": {"S": "a"}}}"#;
    pub(crate) const OTHER_PUT: &str = r#"{"TableName": "table", "Item": {"pk": {"S": "b"}}}"#;
    pub(crate) const GET: &str = r#"{"TableName": "table", "Key": {"pk": {"S": "a"}}}"#;

    pub(crate) fn with_table(dir: &Path) -> Database {
        let database = Database::open(&DataDir::open(dir).unwrap()).unwrap();
        assert_eq!(database.answer("CreateTable", CREATE.as_bytes()).status, 200);
        database
    }

    pub(crate) fn connection(database: &Database) -> &Connection {
        database.storage.conn()
    }

    #[cfg(unix)]
    pub(crate) fn break_disk(database: &mut Database) {
        database.log.break_disk();
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
    fn after_a_checkpoint_the_database_does_not_need_its_log() {
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
    fn what_a_reader_in_another_process_holds_back_is_durable_in_the_log() {
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
    fn sqlite_does_not_wait_for_the_disk_on_a_commit() {
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

    fn put(database: &Database, n: usize, text: &str) {
        let item = format!(
            r#"{{"TableName":"table","Item":{{"pk":{{"S":"{n}"}},"text":{{"S":"{text}"}}}}}}"#
        );
        assert_eq!(database.answer("PutItem", item.as_bytes()).status, 200);
    }

    fn delete(database: &Database, n: usize) {
        let key = format!(r#"{{"TableName":"table","Key":{{"pk":{{"S":"{n}"}}}}}}"#);
        assert_eq!(database.answer("DeleteItem", key.as_bytes()).status, 200);
    }

    #[test]
    fn a_log_that_has_grown_is_cut_after_a_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        let log_bytes = || fs::metadata(dir.path().join("store.db-wal")).unwrap().len();
        let text = "x".repeat(300_000);
        for n in 0..80 {
            put(&database, n, &text);
        }
        assert!(log_bytes() > 20_000_000, "{}", log_bytes());
        database.checkpoint();
        put(&database, 0, "small");
        assert!(log_bytes() <= 16 * 1024 * 1024, "{}", log_bytes());
    }

    fn file_has(dir: &Path, text: &str) -> bool {
        let bytes = fs::read(dir.join("store.db")).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[test]
    fn what_is_deleted_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        for n in 0..100 {
            put(&database, n, "a-canary-in-the-store");
        }
        database.checkpoint();
        assert!(file_has(dir.path(), "a-canary-in-the-store"));
        for n in 0..100 {
            delete(&database, n);
        }
        database.checkpoint();
        assert!(!file_has(dir.path(), "a-canary-in-the-store"));
    }

    #[test]
    fn the_space_of_what_is_deleted_is_given_back_in_steps() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        let text = "x".repeat(40_000);
        for n in 0..100 {
            put(&database, n, &text);
        }
        database.checkpoint();
        let size = || fs::metadata(dir.path().join("store.db")).unwrap().len();
        let full = size();
        assert!(full > 4_000_000, "{full}");
        for n in 0..100 {
            delete(&database, n);
        }
        let (mut n_steps, mut before) = (0, full);
        // No request comes, and still each checkpoint asks for the next.
        while database.is_ahead_of_checkpoint() {
            database.checkpoint();
            let step = before - size();
            assert!(step <= 1_000_000, "one checkpoint gave back {step} bytes");
            before = size();
            n_steps += 1;
            assert!(n_steps < 100);
        }
        assert!((6..=20).contains(&n_steps), "{n_steps}");
        assert!(size() < 1_500_000, "{}", size());
    }

    #[test]
    fn a_store_of_an_earlier_version_gives_space_back_too() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = DataDir::open(dir.path()).unwrap();
        database_file::prepare(STORE, &data_dir.store_file()).unwrap();
        let old = Storage::new(data_dir.store_file().to_str().unwrap()).unwrap();
        let mode = |storage: &Storage| -> i64 {
            storage.conn().pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap()
        };
        assert_eq!(mode(&old), 0);
        drop(old);
        let database = Database::open(&data_dir).unwrap();
        assert_eq!(mode(&database.storage), 2);
        assert_eq!(database.answer("CreateTable", CREATE.as_bytes()).status, 200);
    }

    #[test]
    fn a_panic_in_a_transaction_rolls_back_only_that_transaction() {
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

    /// Performs requests in one transaction, and returns their statuses and the items after that.
    fn together(database: &Database, requests: &[(&str, &str)]) -> (Vec<u16>, Vec<String>) {
        let requests: Vec<_> =
            requests.iter().map(|(name, body)| (*name, body.as_bytes())).collect();
        let answers = database.answer_together(&requests);
        (answers.iter().map(|answer| answer.status).collect(), keys(database))
    }

    /// Returns the keys of all items, in order.
    fn keys(database: &Database) -> Vec<String> {
        let sql = "SELECT substr(pk, 3) FROM \"table\" ORDER BY pk";
        let mut statement = database.storage.conn().prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_request_that_is_refused_undoes_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let put_new = |pk: &str| {
            format!(
                r#"{{"TableName": "table", "Item": {{"pk": {{"S": "{pk}"}}}},
                    "ConditionExpression": "attribute_not_exists(pk)"}}"#
            )
        };
        let (a, c, d) = (put_new("a"), put_new("c"), put_new("d"));
        let transaction =
            format!(r#"{{"TransactItems": [{{"Put": {c}}}, {{"Put": {a}}}, {{"Put": {d}}}]}}"#);
        let (statuses, keys) = together(
            &database,
            &[
                ("PutItem", &a),
                ("PutItem", &a),
                ("TransactWriteItems", &transaction),
                ("PutItem", "no JSON"),
                ("PutItem", OTHER_PUT),
                ("GetItem", GET),
            ],
        );
        assert_eq!(statuses, [200, 400, 400, 400, 200, 200]);
        assert_eq!(keys, ["a", "b"]);
    }

    #[test]
    fn a_panic_in_a_shared_transaction_undoes_only_its_request() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let transaction = database.storage.conn().unchecked_transaction().unwrap();
        let answers = database.shared.perform(transaction, &["a", "panics", "b"], |pk, undo| {
            undo.if_failed(|| {
                database.guard(|| {
                    let put = format!(r#"{{"TableName":"table","Item":{{"pk":{{"S":"{pk}"}}}}}}"#);
                    let answer = database.perform("PutItem", put.as_bytes());
                    assert_ne!(*pk, "panics", "as dynoxide would");
                    answer
                })
            })
        });
        let statuses = answers.unwrap().into_iter().map(|answer| StoreAnswer::from(answer).status);
        assert_eq!(statuses.collect::<Vec<_>>(), [200, 500, 200]);
        assert_eq!(keys(&database), ["a", "b"]);
    }

    #[test]
    fn after_a_refused_commit_each_request_is_performed_alone() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let requests = [("PutItem", PUT), ("GetItem", GET), ("PutItem", OTHER_PUT)];
        let connection = database.storage.conn();
        connection.commit_hook(Some(|| true));
        assert_eq!(together(&database, &requests), (vec![500, 200, 500], vec![]));
        assert!(connection.is_autocommit());
        connection.commit_hook(None::<fn() -> bool>);
        assert_eq!(together(&database, &requests), (vec![200; 3], vec!["a".into(), "b".into()]));
    }

    #[test]
    fn a_write_that_sqlite_refuses_does_not_fail_others() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let refuse = "CREATE TRIGGER refuse INSERT ON \"table\" WHEN new.pk = 'S:b' \
                      BEGIN SELECT raise(FAIL, 'refused'); END";
        database.storage.conn().execute_batch(refuse).unwrap();
        let other = PUT.replace("\"a\"", "\"c\"");
        let requests = [("PutItem", PUT), ("PutItem", OTHER_PUT), ("PutItem", &other)];
        assert_eq!(
            together(&database, &requests),
            (vec![200, 500, 200], vec!["a".into(), "c".into()])
        );
    }

    #[test]
    fn after_a_full_disk_has_ended_a_transaction_only_what_has_no_room_fails() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let connection = database.storage.conn();
        connection.pragma_update(None, "max_page_count", 1).unwrap();
        let large = format!(
            r#"{{"TableName":"table","Item":{{"pk":{{"S":"c"}},"x":{{"S":"{}"}}}}}}"#,
            "x".repeat(100_000)
        );
        let requests =
            [("PutItem", PUT), ("PutItem", &large), ("PutItem", OTHER_PUT), ("GetItem", GET)];
        let kept = vec!["a".into(), "b".into()];
        assert_eq!(together(&database, &requests), (vec![200, 500, 200, 200], kept));
        assert!(connection.is_autocommit());
    }

    #[test]
    fn nothing_is_written_after_a_request_in_which_sqlite_rolled_back() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        let connection = database.storage.conn();
        let insert = "INSERT OR ROLLBACK INTO \"table\" (pk, sk, item_json, item_size, hash_prefix) \
                      VALUES (?1, '', '{}', 2, '')";
        let transaction = connection.unchecked_transaction().unwrap();
        let inserted = Cell::new(0);
        // The third insertion fails and rolls back, and its error is not returned.
        let outcome =
            database.shared.perform(transaction, &["S:a", "S:b", "S:a", "S:c"], |pk, _| {
                inserted.set(inserted.get() + connection.execute(insert, [pk]).unwrap_or(0));
                Ok(())
            });
        assert_eq!(inserted.get(), 2);
        assert!(outcome.is_err());
        assert!(connection.is_autocommit());
        assert_eq!(keys(&database), Vec::<String>::new());
    }

    #[test]
    fn a_disk_that_refuses_a_shared_transaction_still_answers_reads() {
        let dir = tempfile::tempdir().unwrap();
        let database = with_table(dir.path());
        database.storage.conn().pragma_update(None, "query_only", true).unwrap();
        let requests = [("GetItem", GET), ("PutItem", PUT), ("GetItem", GET)];
        assert_eq!(together(&database, &requests), (vec![200, 500, 200], vec![]));
    }

    #[test]
    fn refused_writes_are_reported_until_a_write_succeeds() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        let refuses = |database: &Database, refuses: bool| {
            database.storage.conn().pragma_update(None, "query_only", refuses).unwrap();
        };
        refuses(&database, true);
        assert!(matches!(database.accepts_writes(), Err(NoWrites::Refused(_))));
        assert!(!has_item(&database), "reads still succeed");
        assert_eq!(database.answer("PutItem", PUT.as_bytes()).status, 500);
        assert!(database.accepts_writes().is_err(), "each check tries a write");
        refuses(&database, false);
        database.accepts_writes().unwrap();
        assert_eq!(database.answer("PutItem", PUT.as_bytes()).status, 200);
        assert!(has_item(&database));

        // A recent success is not checked again.
        refuses(&database, true);
        database.accepts_writes().unwrap();
        assert!(Database::in_memory().unwrap().accepts_writes().is_ok());
    }

    #[test]
    fn a_check_for_writes_moves_the_log_into_the_database() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        database.answer("PutItem", PUT.as_bytes());
        database.accepts_writes().unwrap();
        assert!(!database.is_ahead_of_checkpoint());
        assert!(!database.is_ahead_of_disk());
    }

    #[test]
    fn a_refused_write_is_reported_although_another_one_succeeded_a_moment_ago() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        database.accepts_writes().unwrap();
        database.storage.conn().pragma_update(None, "query_only", true).unwrap();
        assert_eq!(together(&database, &[("PutItem", PUT)]), (vec![500], vec![]));
        assert!(matches!(database.accepts_writes(), Err(NoWrites::Refused(_))));
    }

    #[cfg(unix)]
    #[test]
    fn after_a_failed_sync_every_request_fails_and_the_files_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let mut database = with_table(dir.path());
        database.checkpoint();
        put(&database, 1, "in the log");
        break_disk(&mut database);
        assert!(!database.sync());
        let files =
            || ["store.db", "store.db-wal"].map(|name| fs::read(dir.path().join(name)).unwrap());
        let before = files();
        assert_eq!(database.answer("GetItem", GET.as_bytes()).status, 500);
        assert!(!database.is_ahead_of_checkpoint(), "a failed disk is not used again");
        assert!(matches!(database.accepts_writes(), Err(NoWrites::Failed)));
        // As the thread does, for which one was due before.
        database.checkpoint();
        drop(database);
        assert!(before == files());
    }
}
