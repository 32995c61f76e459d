//! Messages about answers.

use minutehand_domain::action::HttpRequest;

use crate::sender::{actions, failed, get, send, succeeded};
use crate::server::{Reply, Server, ok, reply};

#[tokio::test]
async fn the_message_has_the_form_of_azure() {
    let server = Server::start(|_| {
        reply(
            "200 Whatever",
            "content-type: text/html\r\nSet-Cookie: a=1\r\nX-MSEDGE-REF: r\r\nSet-Cookie: b=2\r\n",
            "<p>\u{1F511}\0</p>",
        )
    })
    .await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert_eq!(
        message,
        "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: \
         Content-Length: 12\r\nContent-Type: text/html\r\nSet-Cookie: a=1, b=2\r\n\
         X-MSEdge-Ref: r\r\n Body: <p>\u{1F511}\u{FFFD}</p>"
    );
}

#[tokio::test]
async fn only_statuses_of_2xx_are_successes() {
    let actions = actions();
    for (status, is_success, name) in [
        ("200 OK", true, "OK"),
        ("201 Created", true, "Created"),
        ("202 Accepted", true, "Accepted"),
        ("299 Odd", true, "299"),
        ("300 Choices", false, "MultipleChoices"),
        ("304 Not Modified", false, "NotModified"),
        ("400 Bad Request", false, "BadRequest"),
        ("401 Unauthorized", false, "Unauthorized"),
        ("405 Method Not Allowed", false, "MethodNotAllowed"),
        ("418 Teapot", false, "418"),
        ("503 Service Unavailable", false, "ServiceUnavailable"),
        ("999 Mine", false, "999"),
    ] {
        let server = Server::start(move |_| reply(status, "", "")).await;
        let sent = send(&actions, get(server.url("/"))).await;
        let message = if is_success { succeeded(sent) } else { failed(sent) };
        let start = format!("Http Action - Response from host '127.0.0.1': '{name}' ");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.ends_with(" Body: "), "{message}");
    }
}

fn body_of(message: &str) -> &str {
    message.split_once(" Body: ").unwrap().1
}

#[tokio::test]
async fn the_message_has_at_most_1024_characters_of_a_body() {
    let actions = actions();
    for (sent, expected) in [
        ("€".repeat(1_024), "€".repeat(1_024)),
        ("€".repeat(1_025), "€".repeat(1_024)),
        ("x".repeat(60_000), "x".repeat(1_024)),
        ("\u{1F511}".repeat(250_000), "\u{1F511}".repeat(1_024)),
    ] {
        let server = Server::start(move |_| ok(&sent)).await;
        let message = succeeded(send(&actions, get(server.url("/"))).await);
        assert_eq!(body_of(&message), expected);
    }
}

#[tokio::test]
async fn an_endless_body_is_a_success() {
    let chunk = format!("1000\r\n{}\r\n", "y".repeat(0x1000));
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = Server::start(move |_| Reply::Endless(head.to_owned(), chunk.clone())).await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert_eq!(body_of(&message), "y".repeat(1_024));
}

#[tokio::test]
async fn a_body_that_stalls_after_the_part_in_the_message_is_a_success() {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{}", "z".repeat(6_000));
    let server = Server::start(move |_| Reply::Stall(head.clone())).await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert_eq!(body_of(&message), "z".repeat(1_024));
}

#[tokio::test]
async fn a_body_can_end_with_the_connection() {
    let server =
        Server::start(|_| Reply::Close("HTTP/1.1 200 OK\r\n\r\nall of it".to_owned())).await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert_eq!(body_of(&message), "all of it");
}

#[tokio::test]
async fn a_compressed_body_is_not_decompressed() {
    let server = Server::start(|_| reply("200 OK", "Content-Encoding: gzip\r\n", "\u{1f}gz")).await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert_eq!(body_of(&message), "\u{FFFD}gz");
}

#[tokio::test]
async fn an_answer_to_head_has_no_body() {
    let server =
        Server::start(|_| Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n".to_owned()))
            .await;
    let request = HttpRequest { method: "HEAD".to_owned(), ..get(server.url("/")) };
    let message = succeeded(send(&actions(), request).await);
    assert_eq!(body_of(&message), "");
}

#[tokio::test]
async fn an_interim_answer_is_not_the_final_answer() {
    let server = Server::start(|_| {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        Reply::Keep(format!("{interim}HTTP/1.1 204 No Content\r\n\r\n"))
    })
    .await;
    let message = succeeded(send(&actions(), get(server.url("/"))).await);
    assert!(message.contains("'NoContent'"), "{message}");
}
