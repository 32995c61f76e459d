//! Mistakes that people make at first, in one table: each answer says what to change, and nothing is
//! ignored in silence. A port that is taken and a store that is damaged are in `refused`; an address that is
//! never called in `fire/targets`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use minutehand_testkit::Process;
use serde_json::Value;

use crate::client::Request;
use crate::server::Server;

/// Command lines, what is on standard input, the exit code, and what the error says. They run in a
/// directory with the files of [`prepare`].
const COMMANDS: &[(&str, &str, i32, &[&str])] = &[
    ("start", "", 2, &["tip: the commands are serve, demo, preview"]),
    (
        "serve --port 8080",
        "",
        2,
        &["tip: the port is a part of --listen, like --listen 127.0.0.1:"],
    ),
    (
        "serve --listen nonsense --clock-rate=0.01 --drain 71 --roles api,foo",
        "",
        2,
        &[
            "'nonsense' for '--listen <ADDRESS>': give an IP address and a port",
            "'0.01' for '--clock-rate <N>'",
            "'71' for '--drain <SECONDS>'",
            "'foo' for '--roles <ROLES>'",
        ],
    ),
    ("serve --data a-file", "", 1, &["a-file is not a directory: give one with --data"]),
    (
        "serve --data documents",
        "",
        1,
        &["it contains other files, such as thesis.txt: choose an empty"],
    ),
    (
        "serve --data /proc/x",
        "",
        1,
        &["cannot create the data directory /proc/x; choose one", "with --data"],
    ),
    ("serve --memory --tls-cert a-file --tls-key a-file", "", 1, &["a-file", "BEGIN CERTIFICATE"]),
    ("serve --memory --token-file sums", "", 1, &["sums", "line 1", "64 hexadecimal digits"]),
    ("preview -", "0 9 * * 1-5", 2, &["is only a text", "minutehand job create x --cron"]),
    ("preview -", "", 2, &["the input is empty", r#"{"frequency":"day"}"#]),
    ("preview - --limit 0", "{}", 2, &["from 1 to 100000"]),
];

/// Requests, the status, and what the message says.
const REQUESTS: &[(&str, &str, &str, u16, &[&str])] = &[
    ("GET", "/", "", 404, &["Nothing exists at this path", "'/openapi.json' lists all paths"]),
    ("GET", "C/jobz/j", "", 404, &["did you mean", "/jobs/j"]),
    ("GET", "/subscriptions/s", "", 404, &["'/openapi.json' lists all paths"]),
    ("PUT", "C/jobs/x", "{", 400, &["line 1 column", "JSON"]),
    (
        "PUT",
        "C/jobs/x",
        r#"{"properties":{"action":{"type":"Http","request":{"uri":"http://a/","method":"GET","header":{}}}}}"#,
        400,
        &["'action.request.header' is not a property; did you mean 'headers'?"],
    ),
    (
        "PUT",
        "C/jobs/x",
        r#"{"properties":{"recurence":{"frequency":"day"},"action":{"type":"Http","request":{"uri":"http://a/","method":"GET"}}}}"#,
        400,
        &["'recurence' is not a property; did you mean 'recurrence'?"],
    ),
    (
        "PATCH",
        "C/jobs/j",
        r#"{"properties":{"retryPolicy":{"retryType":"none"}}}"#,
        400,
        &["'retryPolicy' belongs inside 'action'"],
    ),
    (
        "PATCH",
        "C/jobs/j",
        r#"{"properties":{"errorAction":{"type":"Http"}}}"#,
        400,
        &["'errorAction' belongs inside 'action'"],
    ),
    (
        "PATCH",
        "C/jobs/j",
        r#"{"properties":{"timeZone":"Europe/Berlin"}}"#,
        400,
        &["'timeZone' belongs inside 'recurrence'"],
    ),
    (
        "PATCH",
        "C/jobs/j",
        r#"{"properties":{"startTime":"2050-06-01","recurrence":{"frequency":"day","endTime":"2050-05-31"}}}"#,
        400,
        &["'recurrence.endTime'", "use an instant that is not before 'startTime'"],
    ),
    ("PUT", "N/jobs/x", JOB, 404, &["Create the job collection first, with a PUT"]),
    (
        "POST",
        "C/jobs/j/disable",
        "",
        404,
        &["send a PATCH of the job with", r#""state":"disabled""#],
    ),
    ("POST", "C", "{}", 405, &["use GET, HEAD, PUT"]),
];

const JOB: &str = r#"{"properties":{"startTime":"2050-01-01","action":{"type":"Http","request":{"uri":"http://a/","method":"GET"}}}}"#;

fn prepare(dir: &Path) {
    fs::write(dir.join("a-file"), "not PEM\n").unwrap();
    fs::create_dir(dir.join("documents")).unwrap();
    fs::write(dir.join("documents/thesis.txt"), "").unwrap();
    fs::write(dir.join("sums"), format!("{}  -\n", "ab".repeat(31))).unwrap();
}

#[test]
fn what_is_wrong_on_a_command_line_says_what_to_change() {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let mut problems = Vec::new();
    for &(line, input, code, says) in COMMANDS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
        command.args(line.split(' ')).current_dir(dir.path()).env_remove("MINUTEHAND_TOKEN");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        // A command that reads nothing may end before.
        let _ = process.child().stdin.take().unwrap().write_all(input.as_bytes());
        let ended = process.output();
        let said = String::from_utf8(ended.stderr).unwrap();
        if ended.status.code() != Some(code) || !says.iter().all(|words| said.contains(words)) {
            problems.push(format!("{line}: {code} and {says:?} are expected: {said}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_is_wrong_in_a_request_says_what_to_change() {
    let server = Server::start(["--memory", "--no-auth", "--plan-limits", "on"]);
    server.must("PUT", "/jc", r#"{"properties":{"quota":{"maxJobCount":1}}}"#);
    server.must("PUT", "/jc/jobs/j", JOB);
    let mut problems = Vec::new();
    for &(method, path, body, status, says) in REQUESTS {
        let answer = match (path.strip_prefix('C'), path.strip_prefix('N')) {
            (Some(below), _) => server.ask(method, &format!("/jc{below}"), body),
            (_, Some(below)) => server.ask(method, &format!("/none{below}"), body),
            (None, None) => server.send(method, path, body),
        };
        let document: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let message = document["error"]["message"].as_str().unwrap_or_default();
        if answer.status != status || !says.iter().all(|words| message.contains(words)) {
            problems.push(format!("{method} {path} {body}: {status} and {says:?}: {answer:?}"));
        }
    }
    // A collection that is full says how to have more.
    let full = server.ask("PUT", "/jc/jobs/second", JOB);
    if full.status != 409 || !full.body.contains("quota.maxJobCount") {
        problems.push(format!("{full:?}"));
    }
    // A body that is too long names the limit.
    let long = server.ask("PUT", "/jc/jobs/x", &" ".repeat(200 * 1024));
    if long.status != 413 || !long.body.contains("65536") {
        problems.push(format!("{long:?}"));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_is_wrong_with_a_token_says_what_to_send() {
    let server = Server::start(["--memory", "--token", "right"]);
    let path = crate::server::versioned("");
    for token in [None, Some("wrong")] {
        let answer = Request { method: "GET", path: &path, token, body: "" }.send(server.address);
        let answer = answer.unwrap();
        assert_eq!(answer.status, 401, "{answer:?}");
        assert!(answer.body.contains("Authorization: Bearer"), "{answer:?}");
    }
}

#[test]
fn http_on_the_port_of_tls_is_answered_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start([
        "--no-auth".as_ref(),
        "--tls-self-signed".as_ref(),
        "--data".as_ref(),
        dir.path().join("d").as_os_str(),
    ]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    // The server may close before everything is read.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.contains("https://"), "{answer}");
}
