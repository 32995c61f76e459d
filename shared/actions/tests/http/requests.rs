//! Requests as the target receives them.

use minutehand_domain::action::HttpRequest;

use crate::sender::{actions, basic, context, get, headers, post, send, settings, succeeded, with};
use crate::server::{Server, ok};

#[tokio::test]
async fn a_stored_request_is_sent_with_the_headers_of_the_execution() {
    let server = Server::start(|_| ok("")).await;
    let request = HttpRequest {
        headers: Some(headers(&[
            ("ContEnt-TyPe", "application/xml"),
            ("X-One", "1"),
            ("X-Two", "grün"),
            ("x-one", "again"),
        ])),
        ..post(server.url("/a%2db/%2fc?d=e%3df&g#fragment"), "<ä/>")
    };
    succeeded(send(&actions(), request).await);
    let seen = server.only();
    assert_eq!(seen.line, "POST /a%2db/%2fc?d=e%3df&g HTTP/1.1");
    assert_eq!(seen.body, "<ä/>");
    let received: Vec<String> = seen.headers.iter().map(|(n, v)| format!("{n}: {v}")).collect();
    assert_eq!(
        received,
        [
            "Content-Type: application/xml",
            "X-One: 1",
            "X-One: again",
            "X-Two: grün",
            "User-Agent: minutehand/test",
            "X-Ms-Execution-Tag: ee3df7ac4d660980c9bdb874f65a64b1",
            "X-Ms-Client-Request-Id: 5295cf40-efdd-8e38-8f8b-996574088ea7",
            "X-Ms-Scheduler-Expected-Execution-Time: 2016-03-30T20:39:52.6597062Z",
            "X-Ms-Scheduler-Execution-Region: West Europe",
            "X-Ms-Scheduler-Jobid: u1",
            "X-Ms-Scheduler-Jobcollectionid: c1",
            "X-Ms-Scheduler-Execution-Id: u1/3.600000000.m0",
            "X-Minutehand-Job: s/Gr%C3%BCn%2C%201/c/nightly",
            "X-Minutehand-Depth: 1",
            "X-Minutehand-Missed: 0",
            "Accept: */*",
            &format!("Host: {}", server.address),
            "Content-Length: 5",
        ]
    );
}

#[tokio::test]
async fn methods_are_sent_in_upper_case() {
    let server = Server::start(|_| ok("")).await;
    let actions = actions();
    for method in ["get", "PUT", "Post", "delete", "Patch", "options", "HEAD"] {
        for body in [None, Some(String::new()), Some("text".to_owned())] {
            let request = HttpRequest {
                method: method.to_owned(),
                body: body.clone(),
                ..get(server.url("/"))
            };
            succeeded(send(&actions, request).await);
            let seen = server.seen().pop().unwrap();
            assert_eq!(seen.line, format!("{} / HTTP/1.1", method.to_uppercase()));
            assert_eq!(seen.body, body.unwrap_or_default());
            let content_type = (!seen.body.is_empty()).then_some("text/plain; charset=utf-8");
            assert_eq!(seen.header("content-type").as_deref(), content_type);
            assert_eq!(seen.header("transfer-encoding"), None);
            assert_eq!(seen.header("accept-encoding"), None);
        }
    }
}

#[tokio::test]
async fn stored_headers_replace_those_of_the_scheduler() {
    let server = Server::start(|_| ok("")).await;
    let request = HttpRequest {
        headers: Some(headers(&[
            ("host", "virtual.example"),
            ("user-agent", "mine/1"),
            ("accept", "text/html"),
            ("X-MS-Client-Request-Id", "my own"),
        ])),
        ..get(server.url("/"))
    };
    succeeded(send(&actions(), request).await);
    let seen = server.only();
    for (name, value) in [
        ("Host", "virtual.example"),
        ("User-Agent", "mine/1"),
        ("Accept", "text/html"),
        ("X-Ms-Client-Request-Id", "my own"),
    ] {
        assert_eq!(seen.header(name).as_deref(), Some(value));
    }
}

#[tokio::test]
async fn a_repeated_attempt_has_the_same_ids_and_another_attempt_has_others() {
    use minutehand_ports::ActionSender as _;

    let server = Server::start(|_| ok("")).await;
    let actions = actions();
    let target = minutehand_domain::action::Target::Http(get(server.url("/")));
    let mut other = context();
    other.execution_id.push('1');
    for context in [context(), context(), other] {
        succeeded(actions.send(&target, &context).await.unwrap());
    }
    for name in ["x-ms-execution-tag", "x-ms-client-request-id", "x-ms-scheduler-execution-id"] {
        let sent: Vec<_> = server.seen().iter().map(|seen| seen.header(name).unwrap()).collect();
        assert_eq!(sent[0], sent[1]);
        assert_ne!(sent[0], sent[2]);
    }
}

#[tokio::test]
async fn a_target_is_told_what_was_missed_and_how_deep_the_chain_is() {
    use minutehand_ports::ActionSender as _;

    let server = Server::start(|_| ok("")).await;
    let target = minutehand_domain::action::Target::Http(get(server.url("/")));
    let mut after_success = context();
    after_success.missed.occurrences = 3;
    after_success.missed.last_success = chrono::DateTime::from_timestamp(0, 0);
    after_success.depth = minutehand_domain::chain::Depth::new(2);
    for context in [context(), after_success] {
        succeeded(actions().send(&target, &context).await.unwrap());
    }
    let told = |name| server.seen().iter().map(|seen| seen.header(name)).collect::<Vec<_>>();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(told("x-minutehand-missed"), [text("0"), text("3")]);
    assert_eq!(told("x-minutehand-last-success"), [None, text("1970-01-01T00:00:00Z")]);
    assert_eq!(told("x-minutehand-depth"), [text("1"), text("2")]);
}

#[tokio::test]
async fn basic_authentication_replaces_a_stored_header() {
    let server = Server::start(|_| ok("")).await;
    let request = HttpRequest {
        headers: Some(headers(&[("Authorization", "Bearer stored")])),
        authentication: Some(basic("Aladdin", "open sesame")),
        ..get(server.url("/"))
    };
    succeeded(send(&actions(), request).await);
    let sent = server.only().header("authorization");
    assert_eq!(sent.as_deref(), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
}

#[tokio::test]
async fn the_user_agent_names_the_version() {
    let server = Server::start(|_| ok("")).await;
    let settings = minutehand_actions::ActionSettings {
        user_agent: minutehand_actions::ActionSettings::new(
            minutehand_actions::TargetPolicy::PublicOnly,
        )
        .user_agent,
        ..settings()
    };
    succeeded(send(&with(&settings), get(server.url("/"))).await);
    let agent = server.only().header("user-agent").unwrap();
    assert_eq!(agent, concat!("minutehand/", env!("CARGO_PKG_VERSION")));
}
