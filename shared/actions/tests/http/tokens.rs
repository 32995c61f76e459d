//! Access tokens of Active Directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minutehand_actions::{ActionSettings, Actions, TargetPolicy};
use minutehand_domain::action::{Authentication, HttpRequest};
use minutehand_domain::secret::Secret;
use serde_json::{Value, json};

use crate::sender::{actions, failed, get, send, settings, succeeded, with};
use crate::server::{Reply, Server, ok, redirect, reply};

const SECRET: &str = "s3cret/+&";

fn oauth(audience: &str) -> Authentication {
    Authentication::ActiveDirectoryOAuth {
        tenant: "contoso/..".to_owned(),
        audience: audience.to_owned(),
        client_id: "client 1".to_owned(),
        secret: Secret::new(SECRET),
    }
}

/// An authority that issues `token-1`, `token-2` and so on, with a lifetime in seconds.
async fn login(expires_in: impl Into<Value>) -> Server {
    let expires_in = expires_in.into();
    let n = AtomicUsize::new(0);
    Server::start(move |_| {
        let n = n.fetch_add(1, Ordering::SeqCst) + 1;
        let token = format!("token-{n}");
        let answer =
            json!({"token_type": "Bearer", "expires_in": expires_in, "access_token": token});
        ok(&answer.to_string())
    })
    .await
}

fn actions_with(login: &Server) -> Actions {
    with(&ActionSettings { authority: login.url_by("http", "login.test", "/base/"), ..settings() })
}

fn sent(server: &Server) -> Vec<String> {
    server.seen().iter().map(|seen| seen.header("authorization").unwrap()).collect()
}

#[tokio::test]
async fn a_token_is_cached_until_it_expires() {
    let login = login("3599").await;
    let server = Server::start(|_| ok("")).await;
    let actions = actions_with(&login);
    for _ in 0..3 {
        let request =
            HttpRequest { authentication: Some(oauth("https://a/")), ..get(server.url("/")) };
        succeeded(send(&actions, request).await);
    }
    assert_eq!(sent(&server), ["Bearer token-1"; 3]);
    let request = login.only();
    assert_eq!(request.line, "POST /base/contoso%2F../oauth2/token HTTP/1.1");
    assert_eq!(
        request.body,
        "grant_type=client_credentials&client_id=client+1&client_secret=s3cret%2F%2B%26\
         &resource=https%3A%2F%2Fa%2F"
    );
    assert_eq!(
        request.header("content-type").as_deref(),
        Some("application/x-www-form-urlencoded")
    );
    // Another audience needs another token.
    let request = HttpRequest { authentication: Some(oauth("https://b/")), ..get(server.url("/")) };
    succeeded(send(&actions, request).await);
    assert_eq!(sent(&server)[3], "Bearer token-2");
}

#[tokio::test]
async fn a_token_that_is_about_to_expire_is_not_cached() {
    for expires_in in [json!(60), json!("0"), json!("soon")] {
        let login = login(expires_in).await;
        let server = Server::start(|_| ok("")).await;
        let actions = actions_with(&login);
        for _ in 0..2 {
            let request =
                HttpRequest { authentication: Some(oauth("https://a/")), ..get(server.url("/")) };
            succeeded(send(&actions, request).await);
        }
        assert_eq!(sent(&server), ["Bearer token-1", "Bearer token-2"]);
    }
}

#[tokio::test]
async fn concurrent_attempts_share_one_request_for_a_token() {
    let login = login(3599).await;
    let server = Server::start(|_| ok("")).await;
    let actions = Arc::new(actions_with(&login));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (actions, uri) = (Arc::clone(&actions), server.url("/"));
            let request = HttpRequest { authentication: Some(oauth("https://a/")), ..get(uri) };
            tokio::spawn(async move { succeeded(send(&actions, request).await) })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(login.seen().len(), 1);
}

#[tokio::test]
async fn a_refused_cached_token_is_replaced_once() {
    let login = login("3599").await;
    let server = Server::start(|seen| match seen.header("authorization").as_deref() {
        Some("Bearer token-1") if seen.path() == "/late" => reply("401 No", "", "no"),
        Some("Bearer token-3") => reply("401 No", "", "no"),
        _ => ok("yes"),
    })
    .await;
    let actions = actions_with(&login);
    let request =
        |path| HttpRequest { authentication: Some(oauth("https://a/")), ..get(server.url(path)) };
    succeeded(send(&actions, request("/")).await);
    succeeded(send(&actions, request("/late")).await);
    assert_eq!(sent(&server), ["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
    // The refusal of a new token is final.
    let fresh = actions_with(&login);
    let message = failed(send(&fresh, request("/")).await);
    assert!(message.contains(": 'Unauthorized' "), "{message}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn without_a_token_the_attempt_fails_with_the_reason() {
    let server = Server::start(|_| ok("")).await;
    for (answer, reason) in [
        (
            r#"{"error":"invalid_client","error_description":"AADSTS7000215: 's3cret/+&' is invalid."}"#,
            "No access token from 'login.test', which answered 'Unauthorized': invalid_client \
             AADSTS7000215: '[redacted]' is invalid.",
        ),
        (
            "<html>",
            "No access token from 'login.test', which answered 'Unauthorized': no token in the answer",
        ),
    ] {
        let login = Server::start(move |_| reply("401 No", "", answer)).await;
        let request =
            HttpRequest { authentication: Some(oauth("https://a/")), ..get(server.url("/")) };
        let message = failed(send(&actions_with(&login), request).await);
        let start = "Http Action - Request to host '127.0.0.1' failed: RequestCanceled ";
        assert_eq!(message, format!("{start}{reason}"));
    }
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn an_authority_that_does_not_answer_is_named() {
    let login = Server::start(|_| Reply::Close(String::new())).await;
    let request = HttpRequest { authentication: Some(oauth("a")), ..get("http://target.test:1/") };
    let message = failed(send(&actions_with(&login), request.clone()).await);
    assert!(
        message.contains(
            "'target.test' failed: ConnectionClosed The authority 'login.test' did not answer: The \
             underlying"
        ),
        "{message}"
    );
    let settings = ActionSettings { authority: "http://unknown.test".to_owned(), ..settings() };
    let message = failed(send(&with(&settings), request).await);
    assert!(
        message.contains("failed: NameResolutionFailure The authority 'unknown.test'"),
        "{message}"
    );
}

#[tokio::test]
async fn concurrent_attempts_share_an_error_of_the_authority() {
    let login = Server::start(|_| reply("400 No", "", "{}")).await;
    let actions = Arc::new(actions_with(&login));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let actions = Arc::clone(&actions);
            let request =
                HttpRequest { authentication: Some(oauth("a")), ..get("http://target.test:1/") };
            tokio::spawn(async move { failed(send(&actions, request).await) })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(login.seen().len(), 1);
}

#[tokio::test]
async fn a_token_is_redacted_and_not_sent_to_another_origin() {
    let login = login("3599").await;
    let elsewhere = Server::start(|seen| {
        reply("200 OK", "", &format!("{:?} token-1", seen.header("authorization")))
    })
    .await;
    let there = elsewhere.url("/");
    let server = Server::start(move |_| redirect("308 Moved", &there)).await;
    let request = HttpRequest { authentication: Some(oauth("https://a/")), ..get(server.url("/")) };
    let message = succeeded(send(&actions_with(&login), request).await);
    assert!(message.ends_with(" Body: None [redacted]"), "{message}");
}

#[tokio::test]
async fn no_token_is_requested_for_a_forbidden_target() {
    let login = login("3599").await;
    let settings = ActionSettings {
        authority: login.url_by("http", "login.test", ""),
        targets: TargetPolicy::PublicOnly,
        ..settings()
    };
    let request = |uri| HttpRequest { authentication: Some(oauth("https://a/")), ..get(uri) };
    failed(send(&with(&settings), request("http://127.0.0.1:1/")).await);
    assert_eq!(login.seen().len(), 0);
    // The authority may be private, since the settings name it.
    failed(send(&with(&settings), request("http://target.test:1/")).await);
    assert_eq!(login.seen().len(), 1);
}

#[tokio::test]
async fn invalid_settings_are_refused() {
    let refused = |settings: ActionSettings| Actions::new(&settings).err().unwrap().to_string();
    assert_eq!(
        refused(ActionSettings { authority: "login".to_owned(), ..settings() }),
        "the authority that issues tokens is not an http or https URL: 'login'"
    );
    assert_eq!(
        refused(ActionSettings { user_agent: "a\n".to_owned(), ..settings() }),
        "the user agent contains characters that are not valid in a header: 'a\n'"
    );
    let extra_pem = "-----BEGIN NOTHING".to_owned();
    assert_eq!(
        refused(ActionSettings {
            roots: minutehand_actions::Roots { system: false, extra_pem },
            ..settings()
        }),
        "the additional certificate authorities are not certificates in PEM"
    );
    drop(actions());
}
