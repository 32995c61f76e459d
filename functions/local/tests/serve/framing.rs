//! Requests that two programs could understand differently: where they end, and which host they name.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::server::Server;

/// Everything that the server sends until it closes the connection.
fn answers(server: &Server, sent: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    answers
}

/// The status codes of these answers.
fn statuses(answers: &str) -> Vec<&str> {
    answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
}

/// A last request, after which the server closes the connection.
const LAST: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn a_request_names_exactly_one_host() {
    let server = Server::start(["--memory", "--no-auth"]);
    for (hosts, expected, reason) in [
        ("", ["400", "200"], "no 'Host' header"),
        ("Host: a\r\nHost: a\r\n", ["400", "200"], "several 'Host' headers"),
        ("Host: a\r\n", ["200", "200"], ""),
    ] {
        let answers = answers(&server, &format!("GET /healthz HTTP/1.1\r\n{hosts}\r\n{LAST}"));
        assert_eq!(statuses(&answers), expected, "{hosts}: {answers}");
        assert!(answers.contains(reason), "{answers}");
    }
    // An older version does not have the header.
    let answers = answers(&server, "GET /healthz HTTP/1.0\r\n\r\n");
    assert!(answers.starts_with("HTTP/1.0 200"), "{answers}");
    server.stop().is_clean();
}

#[test]
fn nothing_is_read_after_a_request_with_a_transfer_encoding() {
    let server = Server::start(["--memory", "--no-auth"]);
    for lengths in [
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let answers = answers(
            &server,
            &format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{lengths}\r\n0\r\n\r\n{LAST}"),
        );
        assert_eq!(statuses(&answers), ["200"], "{lengths}: {answers}");
        assert!(answers.contains("connection: close"), "{answers}");
    }
    server.stop().is_clean();
}

#[test]
fn ends_that_are_unclear_are_refused() {
    let server = Server::start(["--memory", "--no-auth"]);
    for (head, body) in [
        ("Content-Length: 1\r\nContent-Length: 2\r\n", "a"),
        ("Content-Length: +1\r\n", "a"),
        ("Content-Length: 1, 2\r\n", "a"),
        ("Content-Length : 1\r\n", "a"),
        ("Transfer-Encoding: gzip\r\n", "a"),
        ("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"),
    ] {
        let answers =
            answers(&server, &format!("POST / HTTP/1.1\r\nHost: x\r\n{head}\r\n{body}{LAST}"));
        assert_eq!(statuses(&answers), ["400"], "{head}: {answers}");
    }
    // The end of a line without a carriage return: in a head it has one meaning, in chunks it had
    // several.
    let answers_to_head = answers(&server, &LAST.replace("\r\n", "\n"));
    assert_eq!(statuses(&answers_to_head), ["200"], "{answers_to_head}");
    for chunks in ["1\na\r\n0\r\n\r\n", "1;x\na\r\n0\r\n\r\n", "1\r\na\n0\r\n\r\n"] {
        let path = crate::server::versioned("/C");
        let answers = answers(
            &server,
            &format!(
                "PUT {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}{LAST}"
            ),
        );
        assert_eq!(statuses(&answers), ["400"], "{chunks:?}: {answers}");
    }
    server.stop().is_clean();
}
