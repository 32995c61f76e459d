//! A disk that takes no more writes: a process that may not make a file larger.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use minutehand_store_sql::sqlite::{Database, Durability};
use minutehand_testkit::Process;

use crate::world::{add, reads, rows, start};

/// Names the directory that the child process writes to.
const DIR: &str = "STORE_TEST_DIR";
/// How many more rows are tried after the first one that is refused.
const MORE: i64 = 3;

/// The child process is this test itself. Its writes to the log fail with an error of the operating system in
/// the middle of a commit.
#[tokio::test]
async fn a_commit_that_the_disk_refuses_is_not_answered_and_leaves_what_was() {
    if let Some(dir) = std::env::var_os(DIR) {
        return write_until_refused(Path::new(&dir)).await;
    }
    for sync in ["normal", "full"] {
        let dir = tempfile::tempdir().unwrap();
        let (answered, status) = limited(dir.path(), sync, 400);
        assert!(status.success(), "{answered:?}");
        let n_answered = answered.iter().filter(|line| line.starts_with("answered")).count();
        assert!(n_answered > 10, "{answered:?}");
        assert_eq!(answered[n_answered], "refused 4 of 4, read ok", "{answered:?}");
        assert_eq!(start(dir.path()).unwrap(), n_answered);
        // A start that may write nothing is refused, and leaves everything.
        let (answered, status) = limited(dir.path(), sync, 0);
        assert!(!status.success(), "{answered:?}");
        assert_eq!(start(dir.path()).unwrap(), n_answered);
        assert_eq!(rows(dir.path()), n_answered);
    }
}

/// Runs the child with files of at most so many blocks, and returns what it printed.
fn limited(dir: &Path, sync: &str, blocks: u32) -> (Vec<String>, ExitStatus) {
    let name = "refused::a_commit_that_the_disk_refuses_is_not_answered_and_leaves_what_was";
    // The shell lets the write fail, instead of ending the process with a signal.
    let script =
        format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {name} --exact --nocapture");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(DIR, dir.as_os_str())
        .env("STORE_TEST_MODE", sync)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let lines = BufReader::new(process.child().stderr.take().unwrap()).lines();
    let lines = lines.map(Result::unwrap).collect();
    (lines, process.wait())
}

/// Prints each answered row as a line, and what happens after the first one that is refused.
async fn write_until_refused(dir: &Path) {
    let is_full = std::env::var_os("STORE_TEST_MODE").is_some_and(|mode| mode == "full");
    let sync = if is_full { Durability::Full } else { Durability::Normal };
    let (database, threads) = Database::open(dir, sync).unwrap();
    let mut say = std::io::stderr();
    let mut row = 0;
    while add(&database, row).await.is_ok() {
        say.write_all(format!("answered {row}\n").as_bytes()).unwrap();
        row += 1;
    }
    let mut refused = 1;
    for more in 1..=MORE {
        refused += i32::from(add(&database, row + more).await.is_err());
    }
    let read = if reads(&database).await { "ok" } else { "failed" };
    say.write_all(format!("refused {refused} of {}, read {read}\n", MORE + 1).as_bytes()).unwrap();
    drop(database);
    threads.join();
}
