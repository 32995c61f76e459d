//! More connections than the server's limit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use minutehand_testkit::InTime as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::files::with_files;
use crate::server::Server;

/// The server's limit.
const CONNECTIONS: usize = 512;
/// Far less than the time that a connection may be idle.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn at_the_limit_a_new_connection_replaces_the_longest_idle_one() {
    let server = Server::start(["--memory", "--no-auth"]);
    let mut idle: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
            stream
        })
        .collect();
    let since = Instant::now();
    for _ in 0..3 {
        assert_eq!(server.send("GET", "/healthz", "").status, 200);
    }
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    let mut rest = String::new();
    // The first connection is closed, and the last one is still open.
    idle[0].read_to_string(&mut rest).unwrap();
    let last = idle.last_mut().unwrap();
    last.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    last.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.matches("HTTP/1.1 200").count(), 1, "{rest}");
    server.stop().is_clean();
}

#[test]
fn at_the_limit_requests_that_are_never_finished_make_room() {
    let server = Server::start(["--memory", "--no-auth"]);
    let tls = Server::start(["--memory", "--no-auth", "--tls-self-signed"]);
    for (server, begun) in [
        (&server, &b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "[..]),
        (&server, b""),
        // The beginning of a handshake.
        (&tls, b"\x16\x03\x01"),
    ] {
        let mut slow: Vec<TcpStream> = (0..2 * CONNECTIONS)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address).unwrap();
                stream.write_all(begun).unwrap();
                stream
            })
            .collect();
        let since = Instant::now();
        let url = format!("{}://{}", server.scheme(), server.address);
        let mut asking = Command::new(env!("CARGO_BIN_EXE_minutehand"));
        asking.args(["health", "--url", &url, "--timeout", "60"]);
        let asked = asking.output_in_time();
        assert!(asked.status.success(), "{asked:?}");
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        // The first of them is closed.
        let mut rest = Vec::new();
        assert!(matches!(slow[0].read_to_end(&mut rest), Ok(0) | Err(_)), "{rest:?}");
    }
    server.stop().is_clean();
    tls.stop().is_clean();
}

/// Half a head of a request.
const HALF: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ";

#[test]
fn two_thousand_halves_of_heads_do_not_keep_the_server_from_answering_at_once() {
    const AT_ONCE: Duration = Duration::from_secs(1);
    // This process holds the other ends.
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    for files in [1_024, 8_192] {
        let server = with_files(files, files);
        let mut slow: Vec<TcpStream> = (0..2_000)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address).unwrap();
                stream.write_all(HALF).unwrap();
                stream
            })
            .collect();
        for _ in 0..3 {
            let since = Instant::now();
            assert_eq!(server.send("GET", "/healthz", "").status, 200);
            let took = since.elapsed();
            assert!(took < AT_ONCE, "{files} files: {took:?}");
        }
        // The first are closed, and the last one can still become a request.
        let mut rest = Vec::new();
        assert!(matches!(slow[0].read_to_end(&mut rest), Ok(0) | Err(_)), "{rest:?}");
        let last = slow.last_mut().unwrap();
        last.write_all(b"\r\nConnection: close\r\n\r\n").unwrap();
        last.read_to_end(&mut rest).unwrap();
        assert!(rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
        let ended = server.stop();
        assert!(!ended.log.contains("Too many open files"), "{}", ended.log);
        ended.is_clean();
    }
}

/// The head of a request whose body never comes.
fn half_body(request: &str, token: &str) -> String {
    format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: 1000\r\n\r\n"
    )
}

#[test]
fn requests_without_their_bodies_do_not_keep_others_out() {
    const JOB: &str = "/minutehand/v1/subscriptions/s/resourceGroups/g/jobCollections/c/jobs/j";
    let dir = tempfile::tempdir().unwrap();
    let tokens = dir.path().join("tokens");
    // The hash of `token`.
    let hash = "3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0";
    std::fs::write(&tokens, format!("{hash}  - scope=read\n")).unwrap();
    let mut server =
        Server::start(["--memory".as_ref(), "--token-file".as_ref(), tokens.as_os_str()]);
    server.token = Some("token".to_owned());
    for request in ["GET /healthz", "POST /minutehand/v1/preview", &format!("POST {JOB}/check")] {
        let half = half_body(request, "token");
        // All of them are open until the end, unless the server closes them.
        let slow: Vec<TcpStream> = (0..CONNECTIONS - 1)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address).unwrap();
                stream.write_all(half.as_bytes()).unwrap();
                stream
            })
            .collect();
        for path in ["/healthz", "/minutehand/v1/zones"] {
            for n in 0..100 {
                let answer = server.try_send("GET", path, "");
                assert_eq!(
                    answer.map(|answer| answer.status).ok(),
                    Some(200),
                    "{request} {path} {n}"
                );
            }
        }
        drop(slow);
    }
    server.stop().is_clean();
}

#[test]
fn a_public_page_is_answered_without_the_body_of_its_request() {
    let server = Server::start(["--memory", "--no-auth"]);
    for path in ["/healthz", "/openapi.json"] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(half_body(&format!("GET {path}"), "").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    server.stop().is_clean();
}
