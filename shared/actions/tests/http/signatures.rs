//! Signed requests, as the official library of Standard Webhooks verifies them.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue};
use minutehand_domain::action::{HttpRequest, Target};
use minutehand_domain::secret::Secret;
use minutehand_domain::sign::Signing;
use minutehand_ports::{ActionSender as _, AttemptContext, SignedAs};
use standardwebhooks::Webhook;

use crate::sender::{actions, context, failed, get, headers, post, succeeded};
use crate::server::{Seen, Server, ok, redirect, reply};

const NEW: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

/// An attempt that is sent now.
#[expect(clippy::disallowed_methods, reason = "the library refuses a signature that is old")]
fn signed(secrets: &[&str]) -> AttemptContext {
    let secrets = secrets.iter().map(|secret| Secret::new(*secret)).collect();
    let signed = SignedAs { message_id: "msg_u1_3_60".to_owned(), signing: Signing(secrets) };
    AttemptContext { sent_at: SystemTime::now().into(), signed: Some(signed), ..context() }
}

fn is_verified(seen: &Seen, secret: &str) -> bool {
    let mut headers = HeaderMap::new();
    for (name, value) in &seen.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    Webhook::new(secret).unwrap().verify(seen.body.as_bytes(), &headers).is_ok()
}

#[tokio::test]
async fn the_official_library_verifies_each_of_two_secrets() {
    let server = Server::start(|_| ok("")).await;
    let stored = Some(headers(&[("Content-Type", "application/json")]));
    for (secrets, body) in [
        (vec![NEW], "{\"amount\":1.5,\"to\":\"Zürich\"}"),
        (vec![NEW, OLD], "a\r\nb"),
        (vec![OLD], ""),
    ] {
        let request = HttpRequest { headers: stored.clone(), ..post(server.url("/"), body) };
        let context = signed(&secrets);
        succeeded(actions().send(&Target::Http(request), &context).await.unwrap());
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.header("webhook-id").as_deref(), Some("msg_u1_3_60"));
        for secret in [NEW, OLD] {
            assert_eq!(is_verified(&seen, secret), secrets.contains(&secret), "{body}");
        }
        let forged = Seen { body: format!("{body} "), ..seen };
        assert!(!is_verified(&forged, secrets[0]));
    }
}

#[tokio::test]
async fn a_request_without_secrets_has_no_signature() {
    let server = Server::start(|_| ok("")).await;
    let target = Target::Http(post(server.url("/"), "text"));
    succeeded(actions().send(&target, &context()).await.unwrap());
    let is_signature = |(name, _): &(String, String)| name.to_lowercase().starts_with("webhook-");
    assert!(!server.only().headers.iter().any(is_signature));
}

#[tokio::test]
async fn what_a_redirect_leads_to_is_signed_as_it_is_sent_at_the_same_origin_only() {
    let elsewhere = Server::start(|_| ok("")).await;
    for (status, body) in [("307 Again", "text"), ("302 Found", "")] {
        let away = elsewhere.url("/to");
        let server = Server::start(move |seen| match seen.path() {
            "/from" => redirect(status, "/to"),
            "/to" => redirect(status, &away),
            _ => ok(""),
        })
        .await;
        let target = Target::Http(post(server.url("/from"), "text"));
        succeeded(actions().send(&target, &signed(&[NEW])).await.unwrap());
        let seen = server.seen();
        assert_eq!(seen[1].body, body);
        assert!(seen.iter().all(|seen| is_verified(seen, NEW)), "{status}");
        assert_eq!(elsewhere.seen().pop().unwrap().header("webhook-signature"), None);
    }
}

#[tokio::test]
async fn a_signing_secret_that_a_target_repeats_is_not_kept() {
    let server = Server::start(|_| reply("500 Error", "", &format!("my secret is {NEW}"))).await;
    let target = Target::Http(get(server.url("/")));
    let message = failed(actions().send(&target, &signed(&[NEW])).await.unwrap());
    assert!(message.contains("my secret is [redacted]"), "{message}");
}
