//! Start, start-up lines, log, and shutdown.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use minutehand_testkit::InTime as _;
use serde_json::json;

use crate::client::{Request, read_answer};
use crate::server::{Server, command, job, versioned};

fn memory() -> Server {
    Server::start(["--memory", "--no-auth"])
}

/// Begins a request to create a collection: the server waits for its body, `{}`.
fn begun(server: &Server) -> TcpStream {
    const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let path = versioned("/jc");
    let request = Request { method: "PUT", path: &path, token: None, body: "{}" }.text();
    let head = request.replace("\r\n\r\n{}", "\r\nExpect: 100-continue\r\n\r\n");
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = [0; GO_ON.len()];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, GO_ON);
    stream
}

#[test]
fn the_server_prints_its_address_reports_its_version_and_stops_on_a_signal() {
    for signal in ["TERM", "INT", "HUP"] {
        let server = memory();
        let address = server.address;
        let console = format!("console: http://{address}/console/");
        assert_eq!(server.notes, [console, format!("listening on http://{address}")]);
        let health = server.send("GET", "/healthz", "");
        assert_eq!(health.status, 200);
        let health = health.json();
        assert_eq!(health["status"], "ready");
        assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
        assert!(health["store"].as_str().unwrap().starts_with("SQLite 3."), "{health}");
        for name in ["commit", "timeZones"] {
            assert!(health[name].as_str().is_some_and(|text| !text.is_empty()), "{health}");
        }
        server.signal(signal);
        server.wait().is_clean();
    }
}

#[test]
fn a_request_in_progress_is_answered_before_the_shutdown() {
    let mut server = memory();
    let mut stream = begun(&server);
    server.signal("TERM");
    server.wait_for("shutting down");
    stream.write_all(b"{}").unwrap();
    assert_eq!(read_answer(stream).unwrap().status, 201);
    let address = server.address;
    server.wait().is_clean();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn an_idle_connection_does_not_delay_the_shutdown() {
    let server = memory();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    server.stop().is_clean();
}

#[test]
fn a_request_that_never_ends_is_cancelled_when_the_time_to_drain_is_over() {
    let mut server = Server::start(["--memory", "--no-auth", "--drain", "1"]);
    let _stream = begun(&server);
    server.signal("TERM");
    server.wait_for("the time of --drain is over: closing the remaining connections");
    let ended = server.wait();
    ended.is_clean();
    assert!(ended.took < Duration::from_secs(1 + 3), "{:?}", ended.took);
}

#[test]
fn half_a_head_does_not_use_up_the_time_to_drain() {
    let server = Server::start(["--memory", "--no-auth", "--drain", "30"]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nX-Slow: ").unwrap();
    // The server has accepted the connection when it answers a later one.
    assert_eq!(server.send("GET", "/healthz", "").status, 200);
    server.stop().is_clean();
}

#[test]
fn an_action_that_takes_longer_than_the_drain_is_interrupted_and_sent_again() {
    let dir = tempfile::tempdir().unwrap();
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let start = |drain: &str| {
        let mut command = command();
        command.args(["--listen", "127.0.0.1:0", "--no-auth", "--drain", drain, "--data"]);
        command.arg(dir.path());
        Server::spawn(command)
    };
    let mut server = start("0");
    server.must("PUT", "/jc", "{}");
    let uri = format!("http://{}/", target.local_addr().unwrap());
    let action = json!({"type": "Http", "request": {"uri": uri, "method": "POST"}});
    server.must("PUT", "/jc/jobs/j", &json!({"properties": {"action": action}}).to_string());
    let (_silent, _) = target.accept().unwrap();
    server.signal("TERM");
    server.wait_for("interrupting actions; they will be sent again at the next start");
    let ended = server.wait();
    ended.is_clean();
    assert!(ended.took < Duration::from_secs(3), "{:?}", ended.took);
    assert!(ended.log.contains("actions=1"), "{}", ended.log);

    // The next start sends it again, and this time the drain is long enough.
    let mut server = start("70");
    let (stream, _) = target.accept().unwrap();
    server.signal("TERM");
    server.wait_for("shutting down: waiting for actions under way");
    (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    let ended = server.wait();
    ended.is_clean();
    assert!(!ended.log.contains("interrupting"), "{}", ended.log);
}

#[test]
fn a_hang_up_is_no_second_signal_and_nohup_is_respected() {
    let mut server = Server::start(["--memory", "--no-auth", "--drain", "70"]);
    let mut stream = begun(&server);
    server.signal("TERM");
    server.wait_for("shutting down");
    server.signal("HUP");
    stream.write_all(b"{}").unwrap();
    assert_eq!(read_answer(stream).unwrap().status, 201);
    server.wait().is_clean();

    if cfg!(target_os = "linux") {
        let serving = command();
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"trap "" HUP; exec "$@""#, "sh"]);
        shell.arg(serving.get_program()).args(["serve", "--memory", "--no-auth"]);
        shell.args(["--listen", "127.0.0.1:0"]).env_remove("MINUTEHAND_TOKEN");
        let server = Server::spawn(shell);
        server.signal("HUP");
        assert_eq!(server.send("GET", "/healthz", "").status, 200);
        server.stop().is_clean();
    }
}

#[test]
fn a_second_signal_stops_the_server_immediately() {
    let mut server = memory();
    let _stream = begun(&server);
    server.signal("TERM");
    server.wait_for("shutting down");
    server.signal("INT");
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.took.as_secs() < 5, "{:?}", ended.took);
    assert!(
        ended.log.ends_with("\nerror: stopped immediately by a second signal, SIGINT"),
        "{}",
        ended.log
    );
}

#[test]
fn a_204_response_has_no_content_length() {
    let server = memory();
    let group = server.send("HEAD", "/subscriptions/s/resourceGroups/g?api-version=2016-09-01", "");
    assert_eq!((group.status, group.header("content-length")), (204, None));
    server.must("PUT", "/jc", "{}");
    let gone = server.must("DELETE", "/jc", "");
    assert_eq!((gone.status, gone.body.as_str()), (200, ""));
    assert_eq!(gone.header("content-type"), None);
    server.stop().is_clean();
}

#[test]
fn a_second_process_cannot_use_the_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let mut second = command();
    second.arg("--data").arg(dir.path()).args(["--listen", "127.0.0.1:0"]);
    let second = second.output_in_time();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(said.contains("is in use by process"), "{said}");
    assert_eq!(second.stdout, b"");
    // It does not start after the lock's file was removed, either: the directory is locked, too.
    fs::remove_file(dir.path().join("lock")).unwrap();
    let mut third = command();
    third.arg("--data").arg(dir.path()).args(["--listen", "127.0.0.1:0"]);
    let third = third.output_in_time();
    let said = String::from_utf8(third.stderr).unwrap();
    assert_eq!(third.status.code(), Some(1));
    assert!(said.contains("is in use by another process"), "{said}");
    // The first process is not affected.
    assert_eq!(server.send("GET", "/healthz", "").status, 200);
    server.stop().is_clean();
    Server::open(dir.path()).stop().is_clean();
}

#[test]
fn a_server_in_memory_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    for extra in [&["--log", "json"][..], &["--tls-self-signed"]] {
        let mut command = command();
        command.args(["--memory", "--listen", "127.0.0.1:0"]).args(extra);
        let server = Server::spawn({
            command.current_dir(dir.path()).env("TMPDIR", dir.path());
            command
        });
        if extra.len() == 2 {
            server.must("PUT", "/jc", "{}");
            server.must("PUT", "/jc/jobs/j", &job("p"));
        }
        server.stop().is_clean();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{extra:?}");
    }
}

#[test]
fn the_default_data_directory_is_in_the_working_directory() {
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = command();
        command.args(["--no-auth", "--listen", "127.0.0.1:0"]).current_dir(dir.path());
        Server::spawn(command)
    };
    let first = start();
    let data = dir.path().canonicalize().unwrap().join(".minutehand");
    assert_eq!(first.notes[0], format!("new data directory: {}", data.display()));
    first.stop().is_clean();
    assert!(data.join("minutehand.db").exists());
    let again = start();
    assert_eq!(again.notes[0], format!("data: {}", data.display()));
    again.stop().is_clean();
}

#[test]
fn the_log_can_be_json() {
    let server = Server::start(["--memory", "--no-auth", "--log", "json"]);
    for path in ["/healthz", "/metrics", "/nowhere"] {
        server.send("GET", path, "");
    }
    let ended = server.stop();
    ended.is_clean();
    let lines: Vec<serde_json::Value> =
        ended.log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut requests = lines.iter().filter(|line| line["message"] == "answered a request");
    // Probes and scrapes are not logged while they succeed.
    let request = requests.next().unwrap();
    assert_eq!(request["path"], "/nowhere");
    assert_eq!(request["status"], 404);
    assert!(requests.next().is_none());
    assert_eq!(request["request.id"].as_str().unwrap().len(), 36);
}
