//! A disk that is full: reads succeed and writes fail.
//!
//! The tests simulate it with a limit on the size of files: writes beyond the limit fail as on a full
//! disk.

#![cfg(target_os = "linux")]

use std::process::Command;

use crate::server::{Server, command};

/// Less than the first page of the database's log.
const FULL: &str = "--fsize=1024:";
const ROOM: &str = "--fsize=unlimited:";

fn limit(server: &Server, limit: &str) {
    let pid = server.pid().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, limit]).status().unwrap().success());
}

#[test]
fn healthz_reports_a_full_disk_until_writes_succeed_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut serving = command();
    serving.args(["--listen", "127.0.0.1:0", "--no-auth", "--data"]).arg(dir.path());
    // The signal SIGXFSZ would end the process, so the shell that starts it ignores the signal.
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"trap "" XFSZ; exec "$@""#, "sh"]);
    shell.arg(serving.get_program()).args(serving.get_args()).env_remove("MINUTEHAND_TOKEN");
    let mut server = Server::spawn(shell);
    server.must("PUT", "/jc", "{}");

    limit(&server, FULL);
    let refused = server.send("GET", "/healthz", "");
    assert_eq!(refused.status, 503, "{refused:?}");
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("The disk is full or read-only"), "{message}");
    server.wait_for("the disk refuses a write");
    let is_ready = |server: &Server| {
        server.send("GET", "/metrics", "").body.contains("\nminutehand_ready 1\n")
    };
    assert!(!is_ready(&server));
    // Existing data can be read, and a failed write is reported.
    server.must("GET", "/jc", "");
    assert!(server.ask("PUT", "/other", "{}").status >= 500);
    assert_eq!(server.send("GET", "/healthz", "").status, 503);

    limit(&server, ROOM);
    assert_eq!(server.send("GET", "/healthz", "").status, 200);
    assert!(is_ready(&server));
    server.must("PUT", "/other", "{}");
    server.stop().is_clean();
    let server = Server::open(dir.path());
    for collection in ["/jc", "/other"] {
        server.must("GET", collection, "");
    }
    server.stop().is_clean();
}
