//! Secrets in the answers of targets.

use minutehand_domain::action::HttpRequest;
use minutehand_domain::secret::Secret;

use crate::sender::{actions, basic, failed, get, headers, send, succeeded};
use crate::server::{Server, redirect, reply};

/// A server that answers with the request's headers, in its headers and in its body.
async fn echo() -> Server {
    Server::start(|seen| {
        let received: Vec<_> = seen.headers.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let authorization = seen.header("authorization").unwrap_or_default();
        let cookie = seen.header("cookie").unwrap_or_default();
        let headers = format!("X-Echo: {authorization}\r\nX-Cookie: {cookie}\r\n");
        let received = received.join(" ");
        // The password again, with the escapes of a JSON writer.
        let body = format!(r#"received={received} {{"p":"pa\"ss\u00e9"}}"#);
        reply("200 OK", &headers, &body)
    })
    .await
}

#[tokio::test]
async fn secrets_in_an_echo_are_redacted() {
    let server = echo().await;
    let request = HttpRequest {
        headers: Some(headers(&[("Cookie", "session=s3cr3t"), ("X-Other", "plain")])),
        authentication: Some(basic("alice", "pa\"ssé")),
        ..get(server.url("/"))
    };
    let message = succeeded(send(&actions(), request).await);
    assert!(message.contains("X-Echo: Basic [redacted]\r\nX-Cookie: [redacted]\r\n"), "{message}");
    assert!(message.contains("\"p\":\"[redacted]\"}"), "{message}");
    assert!(message.contains("X-Other=plain"), "{message}");
    for secret in ["YWxpY2U6", "s3cr3t", "ssé", "ss\\u00e9"] {
        assert!(!message.contains(secret), "{message}");
    }
}

#[tokio::test]
async fn the_url_of_a_receiver_of_alerts_is_redacted() {
    // As frameworks do for a path that they do not know, and as ntfy answers.
    let server = Server::start(|seen| {
        reply("404 Not Found", "", &format!("Cannot {}, topic \"t0p1\"", seen.line))
    })
    .await;
    let uri = server.url("/services/T0AAAAAAA/B0AAAAAAA/hunter2hunter2?sig=abcdefgh");
    let request = HttpRequest { sealed_uri: Some(Secret::new(&*uri)), ..get(&*uri) };
    let message = failed(send(&actions(), request).await);
    for secret in ["T0AAAAAAA", "hunter2", "abcdefgh"] {
        assert!(!message.contains(secret), "{message}");
    }
    let topic =
        HttpRequest { sealed_uri: Some(Secret::new(server.url("/t0p1"))), ..get(server.url("/")) };
    let message = failed(send(&actions(), topic).await);
    assert!(!message.contains("t0p1"), "{message}");
}

#[tokio::test]
async fn a_stored_token_is_redacted() {
    let server = echo().await;
    let request = HttpRequest {
        headers: Some(headers(&[
            ("Authorization", "Bearer abc.def.ghi"),
            ("X-Api-Key", "k-123456"),
        ])),
        ..get(server.url("/"))
    };
    let message = succeeded(send(&actions(), request).await);
    assert!(!message.contains("abc.def.ghi"), "{message}");
    assert!(!message.contains("k-123456"), "{message}");
}

#[tokio::test]
async fn a_secret_in_a_location_is_redacted() {
    let server = Server::start(|_| redirect("302 Found", "gopher://x/?p=hunter22")).await;
    let request =
        HttpRequest { authentication: Some(basic("u", "hunter22")), ..get(server.url("/")) };
    let message = failed(send(&actions(), request).await);
    assert!(
        message.ends_with("'gopher://x/?p=[redacted]', which is not an http or https URL."),
        "{message}"
    );
}

#[tokio::test]
async fn a_secret_in_the_host_of_a_location_is_redacted() {
    let server = Server::start(|_| redirect("302 Found", "http://hunter22.test:1/")).await;
    let request =
        HttpRequest { authentication: Some(basic("u", "Hunter22")), ..get(server.url("/")) };
    let message = failed(send(&actions(), request).await);
    assert_eq!(
        message,
        "Http Action - Request to host '[redacted].test' failed: NameResolutionFailure The remote \
         name could not be resolved: '[redacted].test'"
    );
}

#[tokio::test]
async fn credentials_in_headers_and_queries_are_redacted() {
    let server = Server::start(|seen| {
        let key = seen.header("x-reports-key").unwrap_or_default();
        reply("200 OK", "", &format!(r#"{{"key":"{key}","path":"{}"}}"#, seen.path()))
    })
    .await;
    let request = HttpRequest {
        headers: Some(headers(&[("X-Reports-Key", "k-123456")])),
        ..get(server.url("/?x=1&code=c%2Bode%2F1"))
    };
    let message = succeeded(send(&actions(), request).await);
    let body = r#"Body: {"key":"[redacted]","path":"/?x=1&code=[redacted]"}"#;
    assert!(message.ends_with(body), "{message}");
}
