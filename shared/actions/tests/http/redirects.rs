//! Redirects.

use minutehand_actions::{ActionSettings, Roots};
use minutehand_domain::action::{HttpRequest, Target};
use minutehand_ports::ActionSender as _;

use crate::authority::Authority;
use crate::sender::{
    actions, basic, context, failed, get, headers, post, send, settings, succeeded, with,
};
use crate::server::{Reply, Server, ok, redirect, reply};

#[tokio::test]
async fn the_status_decides_whether_a_redirect_repeats_the_request() {
    let actions = actions();
    for (status, method, expected, body) in [
        ("301 Moved", "POST", "GET", ""),
        ("302 Found", "PUT", "GET", ""),
        ("303 See Other", "DELETE", "GET", ""),
        ("303 See Other", "GET", "GET", ""),
        ("307 Again", "POST", "POST", "text"),
        ("308 Again", "PUT", "PUT", "text"),
    ] {
        let server = Server::start(move |seen| match seen.path() {
            "/a/from" => redirect(status, "../b/to?x=1#part"),
            _ => Reply::Keep("HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
        })
        .await;
        let request = HttpRequest {
            method: method.to_owned(),
            headers: Some(headers(&[("Content-Type", "text/x"), ("X-Mine", "1")])),
            ..post(server.url("/a/from"), "text")
        };
        succeeded(send(&actions, request).await);
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.line, format!("{expected} /b/to?x=1 HTTP/1.1"), "{status} {method}");
        assert_eq!(seen.body, body);
        assert_eq!(seen.header("content-type").is_some(), !body.is_empty());
        assert_eq!(seen.header("x-mine").as_deref(), Some("1"));
        assert!(seen.header("x-ms-execution-tag").is_some());
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_on_a_connection_that_may_be_closing() {
    let server = Server::start(|seen| match (seen.path(), seen.connection) {
        ("/from", _) => redirect("307 Again", "/to"),
        // The server has closed this one, and did not say so.
        (_, 0) => Reply::Close(String::new()),
        _ => ok("there"),
    })
    .await;
    let message = succeeded(send(&actions(), post(server.url("/from"), "text")).await);
    assert!(message.contains("there"), "{message}");
    let seen: Vec<_> = server.seen().into_iter().map(|seen| (seen.line, seen.connection)).collect();
    let expected = [("POST /from HTTP/1.1", 0), ("POST /to HTTP/1.1", 1)];
    assert_eq!(seen, expected.map(|(line, connection)| (line.to_owned(), connection)));
}

#[tokio::test]
async fn a_head_request_stays_a_head_request() {
    let server = Server::start(|seen| match seen.path() {
        "/" => Reply::Keep("HTTP/1.1 303 Other\r\nLocation: /b\r\n\r\n".to_owned()),
        _ => Reply::Keep("HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
    })
    .await;
    let request = HttpRequest { method: "head".to_owned(), ..get(server.url("/")) };
    succeeded(send(&actions(), request).await);
    assert_eq!(server.seen()[1].line, "HEAD /b HTTP/1.1");
}

#[tokio::test]
async fn a_redirect_with_an_endless_body_is_followed() {
    let head = "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 9\r\n\r\n";
    let server = Server::start(move |seen| match seen.path() {
        "/to" => ok(""),
        "/stalled" => Reply::Stall(head.to_owned()),
        _ => Reply::Endless(head.replace('9', "99999999999"), "x".repeat(1_000)),
    })
    .await;
    let actions = actions();
    for path in ["/stalled", "/endless"] {
        succeeded(send(&actions, get(server.url(path))).await);
    }
}

#[tokio::test]
async fn at_most_five_redirects_are_followed() {
    let server = Server::start(|seen| {
        let n: u32 = seen.path().trim_start_matches('/').parse().unwrap();
        if n == 0 { ok("there") } else { redirect("302 Found", &format!("/{}", n - 1)) }
    })
    .await;
    let actions = actions();
    let message = succeeded(send(&actions, get(server.url("/5"))).await);
    assert!(message.ends_with(" Body: there"), "{message}");
    assert_eq!(server.seen().len(), 6);
    let message = failed(send(&actions, get(server.url("/6"))).await);
    assert_eq!(
        message,
        "Http Action - Request to host '127.0.0.1' failed: ProtocolError Too many automatic \
         redirections were attempted; 5 are followed."
    );
    assert_eq!(server.seen().len(), 12);
}

#[tokio::test]
async fn a_redirect_without_a_valid_location_is_a_failure() {
    for (header, reason) in [
        ("", "The answer 'Found' is a redirect, but has no Location header."),
        (
            "Location: ftp://x/y\r\n",
            "The answer 'Found' redirects to 'ftp://x/y', which is not an http or https URL.",
        ),
        (
            "Location: http://[::\r\n",
            "The answer 'Found' redirects to 'http://[::', which is not an http or https URL.",
        ),
    ] {
        let server = Server::start(move |_| reply("302 Found", header, "")).await;
        let message = failed(send(&actions(), get(server.url("/"))).await);
        let start = "Http Action - Request to host '127.0.0.1' failed: ProtocolError ";
        assert_eq!(message, format!("{start}{reason}"));
    }
}

const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "x-api-key", "host"];

fn with_credentials(uri: String) -> HttpRequest {
    HttpRequest {
        headers: Some(headers(&[
            ("Cookie", "session=1"),
            ("X-Api-Key", "key"),
            ("Host", "virtual.test"),
            ("X-Other", "2"),
        ])),
        authentication: Some(basic("u", "password")),
        ..post(uri, "text")
    }
}

#[tokio::test]
async fn credentials_are_sent_only_to_the_origin() {
    let elsewhere = Server::start(|_| ok("")).await;
    let there = elsewhere.url("/there");
    let server = Server::start(move |seen| match seen.path() {
        "/1" => redirect("307 Again", "/2"),
        _ => redirect("307 Again", &there),
    })
    .await;
    succeeded(send(&actions(), with_credentials(server.url("/1"))).await);
    for seen in server.seen() {
        assert!(CREDENTIALS.iter().all(|name| seen.header(name).is_some()), "{seen:?}");
        assert_eq!(seen.header("host").as_deref(), Some("virtual.test"));
    }
    let seen = elsewhere.only();
    assert_eq!(seen.header("host"), Some(elsewhere.address.to_string()));
    assert!(CREDENTIALS[..3].iter().all(|name| seen.header(name).is_none()), "{seen:?}");
    assert_eq!(seen.header("x-other").as_deref(), Some("2"));
    assert_eq!(seen.body, "text");
}

#[tokio::test]
async fn credentials_are_not_restored_if_a_redirect_returns_to_the_origin() {
    let server = Server::start(|seen| {
        let port = seen.header("x-port").unwrap();
        match seen.path() {
            "/1" => redirect("307 Again", &format!("http://elsewhere.test:{port}/2")),
            "/2" => redirect("307 Again", &format!("http://target.test:{port}/3")),
            _ => ok(""),
        }
    })
    .await;
    let mut request = with_credentials(server.url_by("http", "target.test", "/1"));
    let port = server.address.port().to_string();
    request.headers.as_mut().unwrap().push(("X-Port".to_owned(), port));
    succeeded(send(&actions(), request).await);
    let sent: Vec<_> = server.seen().iter().map(|s| s.header("authorization").is_some()).collect();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test]
async fn a_user_name_and_password_in_a_location_are_not_sent() {
    let elsewhere = Server::start(|_| ok("")).await;
    let there = format!("http://mallory:pass@{}/", elsewhere.address);
    let server = Server::start(move |_| redirect("302 Found", &there)).await;
    succeeded(send(&actions(), get(server.url("/"))).await);
    assert_eq!(elsewhere.only().header("authorization"), None);
}

#[tokio::test]
async fn a_redirect_from_https_to_http_drops_credentials_and_fails_for_type_https() {
    let authority = Authority::new("trusted");
    let plain = Server::start(|_| ok("")).await;
    let there = plain.url_by("http", "target.test", "/there");
    let location = there.clone();
    let secure = Server::start_tls(authority.server("target.test", 2100), move |_| {
        redirect("307 Again", &location)
    })
    .await;
    let roots = Roots { system: false, extra_pem: authority.pem() };
    let actions = with(&ActionSettings { roots, ..settings() });
    let request = with_credentials(secure.url_by("https", "target.test", "/"));
    let message = failed(actions.send(&Target::Https(request.clone()), &context()).await.unwrap());
    assert_eq!(
        message,
        format!(
            "Http Action - Request to host 'target.test' failed: ProtocolError The answer \
             'TemporaryRedirect' redirects to '{there}', but an action of type Https requires https."
        )
    );
    assert_eq!(plain.seen().len(), 0);
    succeeded(send(&actions, request).await);
    assert!(CREDENTIALS[..3].iter().all(|name| plain.only().header(name).is_none()));
}

#[tokio::test]
async fn the_message_names_the_host_of_the_last_request() {
    let server = Server::start(|_| redirect("302 Found", "http://nowhere.test/")).await;
    let message = failed(send(&actions(), get(server.url("/"))).await);
    assert!(message.contains("Request to host 'nowhere.test' failed: NameResolution"), "{message}");
}
