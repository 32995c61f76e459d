//! Kills a process while it writes, and while it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use minutehand_store_sql::script::{Script, Statement, Turn, Urgency, Value};
use minutehand_store_sql::sqlite::{Database, Durability};
use minutehand_testkit::Process;
use rusqlite::Connection;
use tokio::task::JoinSet;

use crate::world::DATABASE;

/// Names the directory that the child process writes to.
const DIR: &str = "STORE_TEST_DIR";
/// What the child process does: `normal`, `full`, or `ends`.
const MODE: &str = "STORE_TEST_MODE";

const WRITERS: usize = 16;

/// The child process is this test itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_every_write_that_was_answered_and_none_by_half() {
    if let Some(dir) = std::env::var_os(DIR) {
        return write_until_killed(Path::new(&dir)).await;
    }
    let dir = tempfile::tempdir().unwrap();
    for (mode, killed_after) in
        [("normal", 300), ("full", 300), ("ends", 7), ("ends", 20), ("normal", 1_000)]
    {
        let answered = kill_a_writer(dir.path(), mode, killed_after);
        assert!(answered.len() >= killed_after);
        // It starts, ends, and everything is in the one file.
        let (database, threads) = Database::open(dir.path(), Durability::Normal).unwrap();
        drop(database);
        threads.join();
        let connection = Connection::open(dir.path().join(DATABASE)).unwrap();
        let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        for key in answered {
            let sql = format!("SELECT count(*) FROM subscriptions WHERE key = '{key}'");
            assert_eq!(count(&sql), 1, "{key} was answered and is lost");
        }
        // Both rows of a write are there.
        let all = "SELECT count(*) FROM subscriptions";
        let both = "SELECT count(*) FROM subscriptions JOIN messages ON body = key";
        assert_eq!(count(all), count(both));
        assert_eq!(count(all), count("SELECT count(*) FROM messages"));
        let check: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }
}

/// Starts a writer, kills it between writes, and returns the answered writes.
fn kill_a_writer(dir: &Path, mode: &str, killed_after: usize) -> Vec<String> {
    let name = "killed::a_killed_process_leaves_every_write_that_was_answered_and_none_by_half";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([name, "--exact", "--nocapture"])
        .env(DIR, dir.as_os_str())
        .env(MODE, mode)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let child = process.child();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut answered: Vec<_> = lines.by_ref().take(killed_after).collect();
    child.kill().unwrap();
    answered.extend(lines);
    assert!(!process.wait().success());
    answered
}

/// Prints each answered write as a line, in a single write, so that no line is cut.
async fn write_until_killed(dir: &Path) {
    let mode = std::env::var_os(MODE).unwrap();
    if mode == "ends" {
        for n in 0.. {
            let (database, threads) = Database::open(dir, Durability::Normal).unwrap();
            write(&database, &format!("{}-{n}", std::process::id())).await;
            drop(database);
            threads.join();
        }
    }
    let sync = if mode == "full" { Durability::Full } else { Durability::Normal };
    let (database, _threads) = Database::open(dir, sync).unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let database = database.clone();
        writers.spawn(async move {
            for n in 0.. {
                write(&database, &format!("{}-{writer}-{n}", std::process::id())).await;
            }
        });
    }
    writers.join_all().await;
}

async fn write(database: &Database, key: &str) {
    let text = || Value::Text(key.to_owned());
    let statements = vec![
        Statement::new(
            "INSERT INTO subscriptions (key, name) VALUES (?1, ?2)",
            vec![text(), text()],
        ),
        Statement::new(
            "INSERT INTO messages (due_at, sent_at, body) VALUES (0, 0, ?1)",
            vec![text()],
        ),
    ];
    let script = Script::new(Urgency::Rest, Turn::default(), statements);
    database.perform(script).await.unwrap();
    std::io::stderr().write_all(format!("{key}\n").as_bytes()).unwrap();
}
