//! Bodies of failures, which are kept beyond what a message shows.

use minutehand_actions::{ActionSettings, Actions};
use minutehand_domain::attempt::{BODY_BYTES_MAX, Outcome};
use minutehand_ports::{Bytes, FailureBody};

use crate::sender::{actions, basic, get, send, settings, with};
use crate::server::{Reply, Server, ok, reply};

fn keeping() -> Actions {
    with(&ActionSettings { keep_bodies: true, ..settings() })
}

fn read(body: impl Into<Bytes>) -> FailureBody {
    FailureBody::Read(body.into())
}

#[tokio::test]
async fn only_the_body_of_a_failure_is_read_to_be_kept() {
    let body = "why ".repeat(20_000);
    let answered = body.clone();
    let server = Server::start(move |seen| match seen.path() {
        "/ok" => ok(&answered),
        "/empty" => reply("500 Broken", "", ""),
        "/moved" => reply("302 Found", "Location: /fails\r\n", "moved"),
        _ => reply("500 Broken", "", &answered),
    })
    .await;
    let keeping = keeping();
    for (path, expected) in [
        ("/ok", None),
        ("/empty", None),
        ("/fails", Some(read(body.clone()))),
        ("/moved", Some(read(body.clone()))),
    ] {
        let sent = send(&keeping, get(server.url(path))).await;
        assert_eq!(sent.body, expected, "{path}");
        // The message is the same whether the body is kept or not.
        let other = send(&actions(), get(server.url(path))).await;
        assert_eq!((other.body, other.message, other.outcome), (None, sent.message, sent.outcome));
    }
}

#[tokio::test]
async fn a_longer_body_is_cut_and_the_attempt_does_not_wait_for_its_end() {
    let (line, head) =
        ("x".repeat(1_000), "HTTP/1.1 500 Broken\r\nContent-Length: 9000000\r\n\r\n");
    let half = BODY_BYTES_MAX / 2;
    let begun = format!("{head}{}", "y".repeat(half));
    let server = Server::start(move |seen| match seen.path() {
        "/endless" => Reply::Endless(head.to_owned(), line.clone()),
        // The connection breaks.
        "/close" => Reply::Close(begun.clone()),
        _ => Reply::Stall(begun.clone()),
    })
    .await;
    for (path, length) in [("/endless", BODY_BYTES_MAX), ("/close", half), ("/stall", half)] {
        let sent = send(&keeping(), get(server.url(path))).await;
        assert_eq!(sent.outcome, Outcome::Failed);
        assert!(sent.message.contains("'InternalServerError'"), "{path}: {}", sent.message);
        let Some(FailureBody::Read(body)) = sent.body else { panic!("{path}: {:?}", sent.body) };
        assert_eq!(body.len(), length, "{path}");
    }
}

#[tokio::test]
async fn a_secret_that_a_target_sends_back_as_it_was_is_not_kept() {
    let server = Server::start(|seen| {
        let sent = seen.header("authorization").unwrap();
        reply(
            "401 Unauthorized",
            "",
            &format!("{{\"sent\":\"{sent}\",\"password\":\"sesame-open\"}}"),
        )
    })
    .await;
    let mut request = get(server.url("/"));
    request.authentication = Some(basic("u", "sesame-open"));
    let sent = send(&keeping(), request).await;
    let expected = r#"{"sent":"Basic [redacted]","password":"[redacted]"}"#;
    assert_eq!(sent.body, Some(read(expected)));
}
