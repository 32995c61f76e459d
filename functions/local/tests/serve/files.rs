//! The limit of open files.

use std::fs;
use std::process::Command;

use crate::server::Server;

/// A server that may have this many files open: by itself, and at most.
pub(crate) fn with_files(soft: u32, hard: u32) -> Server {
    let mut command = Command::new("sh");
    let script = format!("ulimit -Sn {soft}; ulimit -Hn {hard}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_minutehand")]).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--memory",
        "--no-auth",
    ]);
    Server::spawn(command)
}

#[test]
fn the_limit_of_open_files_is_raised_to_the_hard_one_and_divided() {
    let mut server = with_files(256, 2_048);
    server.wait_for("open files files=2048 attempts=1080 idle=360 api=480 kept=128");
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid()));
    if let Ok(limits) = limits {
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        assert_eq!(line.split_whitespace().skip(3).take(2).collect::<Vec<_>>(), ["2048", "2048"]);
    }
    let ended = server.stop();
    assert!(!ended.log.contains("few files"), "{}", ended.log);
    ended.is_clean();
}

#[test]
fn few_files_are_warned_of() {
    let mut server = with_files(512, 512);
    server.wait_for("few files may be open: raise the limit files=512 enough=1024");
    server.stop().is_clean();
}
