//! `--heartbeat-url`: another watcher is told that jobs fire.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use crate::server::{Server, command};

#[test]
fn another_watcher_is_pinged_while_jobs_fire() {
    let watcher = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hush?of=me", watcher.local_addr().unwrap());
    let mut command = command();
    command.args(["--listen", "127.0.0.1:0", "--memory", "--no-auth"]);
    let mut server = Server::spawn({
        command.env("MINUTEHAND_HEARTBEAT_URL", url);
        command
    });
    let (mut stream, _) = watcher.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "GET /hush?of=me HTTP/1.1");
    while !lines.next().unwrap().is_empty() {}
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK").unwrap();
    server.wait_for("--heartbeat-url: pings arrive");
    let page = server.send("GET", "/metrics", "").body;
    assert!(page.contains("\nminutehand_heartbeat_ok 1\n"), "{page}");
    let ended = server.stop();
    assert!(!ended.log.contains("hush"), "{}", ended.log);
    ended.is_clean();
}
