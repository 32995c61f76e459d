//! Kills a process while it sends and receives.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use minutehand_embedded::{DataDir, Queue, SyncMode};
use minutehand_ports::{Deliveries as _, DispatchQueue as _};
use minutehand_testkit::Process;
use tokio::task::JoinSet;

use crate::world::{ManualClock, at, counts, message, name};

/// Names the directory that the child process writes to.
const DIR: &str = "QUEUE_TEST_DIR";
/// Selects the sync mode of the child process: `normal` or `full`.
const MODE: &str = "QUEUE_TEST_MODE";

const N_SENDERS: usize = 16;
/// Messages of one send.
const BATCH: usize = 5;
/// Answered sends after which the process is killed.
const N_ANSWERED: usize = 300;

/// The child process is this test itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_every_message_whose_send_was_answered() {
    if let Some(dir) = std::env::var_os(DIR) {
        let is_full = std::env::var_os(MODE).is_some_and(|mode| mode == "full");
        let sync = if is_full { SyncMode::Full } else { SyncMode::Normal };
        return send_until_killed(Path::new(&dir), sync).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut answered = HashSet::new();
    for mode in ["normal", "full", "normal"] {
        let more = kill_a_sender(dir.path(), mode);
        assert!(more.len() >= N_ANSWERED);
        answered.extend(more);

        let data_dir = DataDir::open(dir.path()).unwrap();
        let queue = Queue::open(&data_dir, SyncMode::Normal, ManualClock::new()).unwrap();
        drop(data_dir);
        let [visible, delayed, hidden, dead] = counts(&queue).await;
        assert_eq!([delayed, hidden, dead], [0; 3], "deliveries of the killed process are void");
        let mut of_send: HashMap<String, usize> = HashMap::new();
        let mut receipts = HashSet::new();
        while receipts.len() < usize::try_from(visible).unwrap() {
            for delivery in queue.receive(1_000).await.unwrap() {
                assert_eq!(delivery.receive_count, 1);
                *of_send.entry(name(&delivery).to_owned()).or_default() += 1;
                assert!(receipts.insert(delivery.receipt));
            }
        }
        for (send, n_messages) in &of_send {
            assert_eq!(*n_messages, BATCH, "{send}: a request is one transaction");
        }
        for send in &answered {
            assert!(of_send.contains_key(send), "{send} was answered and is lost");
        }
        queue.close().await;
    }
}

/// Starts a sender, kills it between sends, and returns the answered sends.
fn kill_a_sender(dir: &Path, mode: &str) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["killed::a_killed_process_leaves_every_message_whose_send_was_answered", "--exact"])
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

/// Prints each answered send as a line, in a single write, so that no line is cut.
async fn send_until_killed(dir: &Path, sync: SyncMode) {
    let queue = Queue::open(&DataDir::open(dir).unwrap(), sync, ManualClock::new()).unwrap();
    let mut tasks = JoinSet::new();
    for sender in 0..N_SENDERS {
        let queue = queue.clone();
        tasks.spawn(async move {
            for n in 0.. {
                let send = format!("{}-{sender}-{n}", std::process::id());
                let messages = [(); BATCH].map(|()| message(&send, 0));
                queue.send(&messages, at(0)).await.unwrap();
                std::io::stderr().write_all(format!("{send}\n").as_bytes()).unwrap();
            }
        });
    }
    // A receiver that finishes nothing.
    tasks.spawn(async move {
        loop {
            queue.receive(7).await.unwrap();
        }
    });
    tasks.join_all().await;
}
