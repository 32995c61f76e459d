//! The cause of each kind of failure, of real servers and of services.

use std::time::Duration;

use minutehand_actions::{ActionSettings, Aws, Roots, SendLimits, TargetPolicy};
use minutehand_domain::action::{Sqs, Target};
use minutehand_ports::{ActionSender as _, AttemptContext};

use crate::authority::Authority;
use crate::sender::{actions, context, get, send, settings, with};
use crate::server::{Reply, Server, ok, redirect, reply};

/// The words and the kind of the cause of a failure.
async fn cause(settings: &ActionSettings, uri: impl Into<String>) -> (String, &'static str) {
    let ended = send(&with(settings), get(uri)).await;
    let cause = ended.cause.expect("it failed");
    (cause.to_string(), cause.kind.name())
}

#[tokio::test]
async fn what_went_wrong_at_a_target_is_said_in_a_few_words() {
    let broken = Server::start(|_| reply("500 Broken", "", "")).await;
    let slow = Server::start(|_| Reply::Stall(String::new())).await;
    let cut = Server::start(|_| Reply::Close("HTTP/1.1 200 OK\r\nContent-".to_owned())).await;
    let strange = Server::start(|_| Reply::Stall("220 smtp.example ESMTP\r\n".to_owned())).await;
    let astray = Server::start(|_| redirect("302 Found", "ftp://x/y")).await;
    let inward = Server::start(|_| redirect("302 Found", "http://169.254.169.254/")).await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let own = settings();
    let limits = SendLimits { total: Duration::from_millis(300), ..SendLimits::DEFAULT };
    let short = ActionSettings { limits, ..settings() };
    let public = ActionSettings { targets: TargetPolicy::PublicOnly, ..settings() };
    for (settings, uri, text, kind) in [
        (&own, broken.url("/"), "HTTP 500", "httpStatus"),
        (&short, slow.url("/"), "timeout after 0.3 s", "timeout"),
        (&own, format!("http://{closed}/"), "connection refused", "connectionRefused"),
        (&own, "http://nowhere.test/".to_owned(), "no such name", "noSuchName"),
        (&own, cut.url("/"), "connection closed", "connectionClosed"),
        (&own, strange.url("/"), "invalid answer", "invalidAnswer"),
        (&own, astray.url("/"), "redirect refused", "redirectRefused"),
        (&own, inward.url("/"), "redirect refused", "redirectRefused"),
        (&public, broken.url("/"), "address not allowed", "addressNotAllowed"),
        (&own, broken.url_by("https", "target.test", "/"), "TLS failed", "tlsFailed"),
    ] {
        assert_eq!(cause(settings, uri.clone()).await, (text.to_owned(), kind), "{uri}");
    }
    let well = Server::start(|_| ok("")).await;
    assert_eq!(send(&actions(), get(well.url("/"))).await.cause, None);
}

#[tokio::test]
async fn a_certificate_that_is_not_accepted_has_its_own_cause() {
    let (trusted, other) = (Authority::new("trusted"), Authority::new("other"));
    let roots = Roots { system: false, extra_pem: trusted.pem() };
    let settings = ActionSettings { roots, ..settings() };
    for (config, text) in [
        (trusted.server("target.test", 2021), "certificate expired"),
        (trusted.server("other.test", 2100), "certificate for another name"),
        (other.server("target.test", 2100), "unknown authority"),
    ] {
        let server = Server::start_tls(config, |_| ok("")).await;
        let uri = server.url_by("https", "target.test", "/");
        assert_eq!(cause(&settings, uri).await.0, text);
    }
}

#[tokio::test]
async fn the_error_of_a_service_has_a_meaning() {
    let queue = Target::Sqs(Sqs {
        queue_url: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders".to_owned(),
        message: "text".to_owned(),
        attributes: None,
        group_id: None,
    });
    for (status, error, text) in [
        ("400 Bad Request", "com.amazonaws.sqs#QueueDoesNotExist", "queue not found"),
        ("400 Bad Request", "com.amazonaws.sqs#RequestThrottled", "throttled"),
        ("403 Forbidden", "com.amazon.coral.service#AccessDeniedException", "access denied"),
        ("400 Bad Request", "com.amazonaws.sqs#InvalidMessageContents", "message too large"),
        ("500 Internal Server Error", "com.amazonaws.sqs#InternalFailure", "InternalFailure"),
    ] {
        let body = format!(r#"{{"__type":"{error}","message":"m"}}"#);
        let service = Server::start(move |_| reply(status, "", &body)).await;
        let endpoint = Some(service.url("/").parse().unwrap());
        let aws = Aws::with_keys(endpoint, "eu-west-1", "AKIDEXAMPLE", "Planted-Secret", None);
        let settings = ActionSettings { aws: Some(aws), ..settings() };
        let ended = with(&settings).send(&queue, &context()).await.unwrap();
        assert_eq!(ended.cause.unwrap().to_string(), text, "{error}");
    }
    let ended = actions().send(&queue, &context()).await.unwrap();
    assert_eq!(ended.cause.unwrap().to_string(), "no credentials");
}

#[tokio::test]
async fn a_job_may_give_its_action_less_time() {
    let slow = Server::start(|_| Reply::Stall(String::new())).await;
    let time_max = Some(Duration::from_millis(200));
    let context = AttemptContext { time_max, ..context() };
    let target = Target::Http(get(slow.url("/")));
    let ended = actions().send(&target, &context).await.unwrap();
    assert_eq!(ended.cause.unwrap().to_string(), "timeout after 0.2 s");
}
