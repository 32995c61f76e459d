//! Kills a process while it writes.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use minutehand_embedded::{DataDir, Store, SyncMode};
use minutehand_testkit::Process;
use tokio::task::JoinSet;

use crate::table::{INDEX, TABLE, create, get, put_new, s};

/// Names the directory that the child process writes to.
const DIR: &str = "STORE_TEST_DIR";
/// Selects the sync mode of the child process: `normal` or `full`.
const MODE: &str = "STORE_TEST_MODE";

const N_WRITERS: usize = 16;
/// Answered writes after which the process is killed.
const N_ANSWERED: usize = 300;

/// The child process is this test itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_every_write_that_was_answered() {
    if let Some(dir) = std::env::var_os(DIR) {
        let is_full = std::env::var_os(MODE).is_some_and(|mode| mode == "full");
        let sync = if is_full { SyncMode::Full } else { SyncMode::Normal };
        return write_until_killed(Path::new(&dir), sync).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&DataDir::open(dir.path()).unwrap(), SyncMode::Normal).unwrap();
    create(&store.client()).await;
    store.close().await;

    for mode in ["normal", "full", "normal"] {
        let answered = kill_a_writer(dir.path(), mode);
        assert!(answered.len() >= N_ANSWERED);
        let store = Store::open(&DataDir::open(dir.path()).unwrap(), SyncMode::Normal).unwrap();
        let client = store.client();
        for pk in answered {
            assert!(get(&client, &pk, "T").await.is_some(), "{pk} was answered and is lost");
        }
        // An item and its entry in the index are written in one transaction.
        let all = count(client.scan().table_name(TABLE)).await;
        let due = count(client.scan().table_name(TABLE).index_name(INDEX)).await;
        assert_eq!(all, due);
        store.close().await;
    }
}

async fn count(scan: ScanFluentBuilder) -> i32 {
    let mut pages = scan.into_paginator().send();
    let mut n_items = 0;
    while let Some(page) = pages.next().await {
        n_items += page.unwrap().count();
    }
    n_items
}

/// Starts a writer, kills it between writes, and returns the answered writes.
fn kill_a_writer(dir: &Path, mode: &str) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["killed::a_killed_process_leaves_every_write_that_was_answered", "--exact"])
        .arg("--nocapture")
        .env(DIR, dir.as_os_str())
        .env(MODE, OsStr::new(mode))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let child = process.child();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut answered: Vec<_> = lines.by_ref().take(N_ANSWERED).collect();
    child.kill().unwrap();
    answered.extend(lines);
    assert!(!process.wait().success());
    answered
}

/// Prints each answered write as a line, in a single write, so that no line is cut.
async fn write_until_killed(dir: &Path, sync: SyncMode) {
    let store = Store::open(&DataDir::open(dir).unwrap(), sync).unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..N_WRITERS {
        let client = store.client();
        writers.spawn(async move {
            for n in 0.. {
                let pk = format!("{}-{writer}-{n}", std::process::id());
                let put = put_new(&client, &pk, "T").item("due_shard", s("7"));
                put.item("due_at", s(pk.clone())).send().await.unwrap();
                std::io::stderr().write_all(format!("{pk}\n").as_bytes()).unwrap();
            }
        });
    }
    writers.join_all().await;
}
