//! Targets that fail, and targets that must not be called.

use serde_json::{Value, json};

use crate::jobs::{history, in_memory, job, until};
use crate::target::{Reply, Target, status};

/// Runs a job once, and returns its history's only item.
fn executed(arguments: &[&str], url: &str) -> Value {
    let server = in_memory(arguments);
    let none = json!({"action": {"retryPolicy": {"retryType": "None"}}});
    server.must("PUT", "/jc/jobs/j", &job(url, &none));
    until(&server, "/jc/jobs/j", |now| now["state"] != "enabled");
    let mut history = history(&server, "/jc/jobs/j");
    assert_eq!(history.len(), 1, "{history:?}");
    server.stop().is_clean();
    history.remove(0)
}

fn message(item: &Value) -> &str {
    item["message"].as_str().unwrap()
}

#[test]
fn a_202_response_is_a_success() {
    let target = Target::start(|_| status("202 Accepted"));
    let item = executed(&[], &target.url("/"));
    assert!(item.get("status").is_none(), "{item}");
    assert!(message(&item).contains("Accepted"), "{item}");
}

#[test]
fn a_target_that_closes_the_connection_is_a_failure() {
    let target = Target::start(|_| Reply::HangUp);
    let item = executed(&[], &target.url("/"));
    assert_eq!(item["status"], "failed", "{item}");
    assert!(message(&item).contains(&target.address.ip().to_string()), "{item}");
}

#[test]
fn a_target_that_does_not_listen_is_a_failure() {
    let address = Target::ok().address;
    let item = executed(&[], &format!("http://{address}/"));
    assert_eq!(item["status"], "failed", "{item}");
}

#[test]
fn endless_redirects_are_a_failure_with_a_reason() {
    let target = Target::start(|_| Reply::Answer {
        status: "302 Found",
        headers: "Location: /again\r\n".to_owned(),
        body: String::new(),
    });
    let item = executed(&[], &target.url("/"));
    assert_eq!(item["status"], "failed", "{item}");
    assert!(message(&item).to_lowercase().contains("redirect"), "{item}");
    assert_eq!(target.rest().len(), 6, "the first request and five redirects");
}

#[test]
fn a_local_address_is_not_called_if_only_public_targets_are_allowed() {
    let target = Target::ok();
    let port = target.address.port();
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let item = executed(&["--public-targets-only"], &format!("http://{host}:{port}/"));
        assert_eq!(item["status"], "failed", "{item}");
        println!("{}", message(&item));
        assert!(message(&item).contains("allow-private-targets"), "{item}");
    }
    assert_eq!(target.rest().len(), 0, "the target received nothing");
}

#[test]
fn the_address_of_the_metadata_service_is_never_called() {
    let item = executed(&["--allow-private-targets"], "http://169.254.169.254/latest/meta-data");
    assert_eq!(item["status"], "failed", "{item}");
    println!("{}", message(&item));
}

#[test]
fn oauth_tokens_come_from_the_given_authority() {
    let authority = Target::start(|_| Reply::Answer {
        status: "200 OK",
        headers: "Content-Type: application/json\r\n".to_owned(),
        body: r#"{"token_type":"Bearer","expires_in":"3600","access_token":"one-token"}"#
            .to_owned(),
    });
    let target = Target::ok();
    let server = in_memory(&["--oauth-authority", &authority.url("")]);
    let authentication = json!({
        "type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "s",
    });
    let more = json!({"action": {"request": {"authentication": authentication}}});
    server.must("PUT", "/jc/jobs/j", &job(&target.url("/"), &more));
    assert_eq!(target.next().header("authorization"), "Bearer one-token");
    assert_eq!(authority.next().path, "/t/oauth2/token");
    server.stop().is_clean();
}
