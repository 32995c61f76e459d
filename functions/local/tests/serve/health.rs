//! `minutehand health`: asks a running server, and tells by its exit code.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use minutehand_testkit::InTime as _;
use rcgen::{CertificateParams, KeyPair};

use crate::server::Server;

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.arg("health").env_remove("MINUTEHAND_URL").stdin(Stdio::null());
    command
}

/// Asks with a time limit that only a machine at a standstill reaches.
fn patient() -> Command {
    let mut command = command();
    command.args(["--timeout", "60"]);
    command
}

fn ask<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    patient().args(arguments).output_in_time()
}

#[track_caller]
fn assert_healthy(url: &str, output: &Output) {
    let line = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(line.starts_with(&format!("{url} is healthy: minutehand ")), "{line}");
    assert_eq!((line.lines().count(), output.stderr.len()), (1, 0), "{output:?}");
}

/// It failed with this code, and one line that holds this.
#[track_caller]
fn assert_fails(output: &Output, code: i32, why: &str) {
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(line.starts_with("error: ") && line.contains(why), "{line}");
    assert_eq!((line.lines().count(), output.stdout.len()), (1, 0), "{output:?}");
}

/// The path of the certificate that a server printed.
fn certificate(server: &Server) -> PathBuf {
    let note = server.notes.iter().find_map(|line| line.strip_prefix("certificate: ")).unwrap();
    note.split_once(" (SHA-256 ").unwrap().0.into()
}

/// A server that answers each connection with this; its URL.
fn other(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn a_server_is_healthy_until_it_ends() {
    let server = Server::start(["--memory", "--token", "secret"]);
    let url = format!("http://{}", server.address);
    assert_healthy(&url, &ask(["--url", &url]));
    let from_environment = patient().env("MINUTEHAND_URL", format!("{url}/")).output_in_time();
    assert_healthy(&url, &from_environment);
    let mut first = patient();
    first.args(["--url", &url]).env("MINUTEHAND_URL", "http://127.0.0.1:1");
    assert_healthy(&url, &first.output_in_time());
    let https = format!("https://{}", server.address);
    assert_fails(&ask(["--url", &https]), 1, "if it does not use TLS, ask for http://");
    server.stop().is_clean();
    assert_fails(&ask(["--url", &url]), 1, "Connection refused");
}

#[test]
fn on_a_loopback_address_any_certificate_will_do_unless_one_is_named() {
    let server = Server::start(["--memory", "--no-auth", "--tls-self-signed"]);
    let url = format!("https://localhost:{}", server.address.port());
    let own = certificate(&server);
    assert_healthy(&url, &ask(["--url", &url]));
    assert_healthy(&url, &ask(["--url".as_ref(), url.as_ref(), "--ca".as_ref(), own.as_os_str()]));

    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other.pem");
    let names = ["localhost".to_owned()];
    let key = KeyPair::generate().unwrap();
    fs::write(&other, CertificateParams::new(names).unwrap().self_signed(&key).unwrap().pem())
        .unwrap();
    let with = |ca: &OsStr| ask(["--url".as_ref(), url.as_ref(), "--ca".as_ref(), ca]);
    assert_fails(&with(other.as_os_str()), 1, "invalid peer certificate");
    fs::write(&other, "none").unwrap();
    assert_fails(&with(other.as_os_str()), 1, "holds no certificate as PEM");
    assert_fails(&with("/nowhere".as_ref()), 1, "cannot read certificates in /nowhere");
    let http = format!("http://{}", server.address);
    assert_fails(&ask(["--url", &http]), 1, "This port uses TLS; use https://.");
    server.stop().is_clean();
}

#[test]
fn an_answer_that_is_not_ready_is_not_healthy() {
    let full = other(
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n\
         {\"error\":{\"code\":\"ServiceUnavailable\",\"message\":\"The disk is full.\"}}",
    );
    let output = ask(["--url", &full]);
    assert_fails(&output, 1, "answers 503 Service Unavailable: The disk is full.");
    let stranger = other("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nIt works!");
    assert_fails(&ask(["--url", &stranger]), 1, "is not a Minutehand server");
    let redirect = other("HTTP/1.1 302 Found\r\nLocation: /\r\nConnection: close\r\n\r\n");
    assert_fails(&ask(["--url", &redirect]), 1, "answers 302 Found");
    let garbage = other("hello\r\n\r\n");
    assert_fails(&ask(["--url", &garbage]), 1, "does not answer in HTTP");
}

#[test]
fn a_server_that_never_answers_has_a_time_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let since = Instant::now();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{}", silent.local_addr().unwrap());
        let output = command().args(["--url", &url, "--timeout", "1"]).output_in_time();
        assert_fails(&output, 1, "does not answer within 1 s");
    }
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let refused = |output: &Output| {
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
    };
    refused(&ask(["--url", "127.0.0.1:7070"]));
    refused(&command().args(["--timeout", "0"]).output_in_time());
    refused(&ask(["--unknown"]));
    let output = command().env("MINUTEHAND_URL", "nonsense").output_in_time();
    assert_fails(&output, 2, "MINUTEHAND_URL: give the http or https URL of a server");
}
