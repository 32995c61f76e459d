//! Secrets that jobs contain never appear in responses, in the log, or in any file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::server::Server;

const TOKEN: &str = "Planted-Token-0";
const PFX_PASSWORD: &str = "not-a-secret";

fn fixture() -> Vec<u8> {
    let path = "../../shared/pfx/tests/fixtures/recorded.p12";
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn http(authentication: &Value) -> Value {
    json!({"type": "Http", "request": {
        "uri": "http://example.org", "method": "GET", "authentication": authentication,
    }})
}

fn service_bus(kind: &str, place: &str, key: &str) -> Value {
    json!({"type": kind, format!("{}{}Message", &kind[..1].to_lowercase(), &kind[1..]): {
        place: "q", "namespace": "ns", "message": "m",
        "authentication": {"type": "sharedAccessKey", "sasKeyName": "Root", "sasKey": key},
    }})
}

fn storage_queue(token: &str) -> Value {
    json!({"type": "StorageQueue", "queueMessage": {
        "storageAccount": "account", "queueName": "queue", "sasToken": token, "message": "m",
    }})
}

/// One action for each property that contains a secret, and the texts to search for.
fn actions() -> (Vec<Value>, Vec<String>) {
    let pfx = STANDARD.encode(fixture());
    let actions = vec![
        http(&json!({"type": "Basic", "username": "u", "password": "Planted-Basic-1"})),
        http(&json!({"type": "ClientCertificate", "pfx": pfx, "password": PFX_PASSWORD})),
        http(&json!({
            "type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c",
            "secret": "Planted-OAuth-2",
        })),
        storage_queue("sv=1&sig=Planted-Sas-3"),
        service_bus("ServiceBusQueue", "queueName", "Planted-Queue-4"),
        service_bus("ServiceBusTopic", "topicPath", "Planted-Topic-5"),
        json!({"type": "Http", "request": {
            "uri": "http://example.org/?code=Planted-Code-10", "method": "GET",
            "headers": {"Authorization": "Bearer Planted-Header-11"},
        }}),
    ];
    // A piece from the middle of the file, where the key is.
    let piece = pfx[pfx.len() / 2..][..40].to_owned();
    (actions, vec!["Planted-".to_owned(), PFX_PASSWORD.to_owned(), piece])
}

/// Sends all kinds of requests, and returns the responses.
fn ask_everything(server: &Server, actions: &[Value]) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    let mut ask = |method: &str, path: &str, body: &str| {
        let answer = server.ask(method, path, body);
        answers.push((answer.status, answer.whole()));
    };
    ask("PUT", "/jc", "{}");
    ask_of_collections(&mut ask, actions);
    for (n, action) in actions.iter().enumerate() {
        let path = format!("/jc/jobs/j{n}");
        let mut action = action.clone();
        // Each action is also used as an error action.
        action["errorAction"] = actions[(n + 1) % actions.len()].clone();
        let job = json!({"properties": {"startTime": "2050-01-01", "action": action}});
        let text = job.to_string();
        ask("PUT", &path, &text);
        ask("PUT", &path, &text);
        ask("GET", &path, "");
        ask("PATCH", &path, r#"{"properties":{"startTime":"2051-01-01"}}"#);
        ask("PATCH", &path, &text);
        ask("POST", &format!("{path}/run"), "");
        // An error names the property and must not repeat its value.
        ask("PUT", &path, &text[..text.len() - 1]);
        ask("PUT", &path, &text.replace("\"action\"", "\"action\":5,\"action\""));
        ask("PUT", &path, &text.replace("2050-01-01", "never"));
        ask("PUT", &path, &text.replace(PFX_PASSWORD, "Planted-Wrong-6"));
        ask("PUT", &path, &text.replace("\"Planted-", "5,\"Planted-"));
        for place in ["password", "secret", "sasToken", "sasKey", "pfx"] {
            ask("PUT", &path, &text.replace(&format!("\"{place}\":"), "\"Planted-Name-7\":"));
            let value = format!("\"{place}\":[\"Planted-List-8\"],\"was\":");
            ask("PUT", &path, &text.replace(&format!("\"{place}\":"), &value));
        }
        ask(
            "PATCH",
            &path,
            r#"{"properties":{"action":{"request":{"uri":"http://Planted-User:Planted-9@example.com"}}}}"#,
        );
        ask("POST", &path, &text);
        ask("DELETE", "/jc/Planted", &text);
    }
    ask("GET", "/jc/jobs", "");
    ask("GET", "/jc/jobs?$filter=none", "");
    ask("DELETE", "/jc/jobs/j0", "");
    answers
}

/// The same for failure actions of collections.
fn ask_of_collections(ask: &mut impl FnMut(&str, &str, &str), actions: &[Value]) {
    for (n, action) in actions.iter().enumerate() {
        let path = format!("/notifies{n}");
        let mut action = action.clone();
        for content in ["/queueMessage", "/serviceBusQueueMessage", "/serviceBusTopicMessage"] {
            if let Some(Value::Object(payload)) = action.pointer_mut(content) {
                payload.remove("message");
            }
        }
        let text = json!({"properties": {"minutehand": {"onFailure": action}}}).to_string();
        ask("PUT", &path, &text);
        ask("PUT", &path, "{}");
        ask("GET", &path, "");
        ask("PATCH", &path, r#"{"tags":{"a":"b"}}"#);
        ask("PATCH", &path, &text);
        ask("POST", &format!("{path}/disable"), "");
        ask("PUT", &path, &text.replace("\"Planted-", "5,\"Planted-"));
        ask("PUT", &path, &text.replace(PFX_PASSWORD, "Planted-Wrong-6"));
        ask(
            "PATCH",
            &path,
            r#"{"properties":{"minutehand":{"onFailure":{"request":{"uri":"http://Planted-User:Planted-9@example.com"}}}}}"#,
        );
        for place in ["password", "secret", "sasToken", "sasKey", "pfx"] {
            ask("PUT", &path, &text.replace(&format!("\"{place}\":"), "\"Planted-Name-7\":"));
        }
    }
}

fn files(dir: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[track_caller]
fn assert_free_of(secrets: &[String], what: &str, bytes: &[u8]) {
    for secret in secrets {
        let found = bytes.windows(secret.len()).position(|window| window == secret.as_bytes());
        if let Some(at) = found {
            let from = at.saturating_sub(100);
            let around = &bytes[from..bytes.len().min(at + 100)];
            panic!("{secret:?} is in {what}: {}", String::from_utf8_lossy(around));
        }
    }
}

#[test]
fn no_secret_appears_in_a_response_the_log_or_a_file() {
    let (actions, secrets) = actions();
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(
        ["--token", TOKEN, "--log-level", "trace", "--data"]
            .map(AsRef::as_ref)
            .into_iter()
            .chain([dir.path().as_os_str()]),
    );
    server.token = Some(TOKEN.to_owned());
    let answers = ask_everything(&server, &actions);
    assert_eq!(server.status_with(Some("Planted-Wrong-Token")), 401);
    let accepted = answers.iter().filter(|(status, _)| *status < 300).count();
    assert!(accepted > 6 * actions.len(), "{accepted} of {} were accepted", answers.len());
    assert!(answers.iter().any(|(status, _)| *status == 400), "some requests must fail");
    for (_, answer) in &answers {
        assert_free_of(&secrets, "an answer", answer.as_bytes());
    }
    let binary = fixture();
    let piece = &binary[binary.len() / 2..][..32];
    let look = |when: &str| {
        for path in files(dir.path()) {
            let (name, bytes) = (format!("{} {when}", path.display()), fs::read(&path).unwrap());
            assert_free_of(&secrets, &name, &bytes);
            assert!(!bytes.windows(piece.len()).any(|window| window == piece), "{name}");
        }
    };
    look("while the server runs");
    let notes = server.notes.join("\n");
    let ended = server.stop();
    ended.is_clean();
    look("after the shutdown");
    assert_free_of(&secrets, "standard output", notes.as_bytes());
    assert_free_of(&secrets, "the log", ended.log.as_bytes());
    assert!(ended.log.contains("answered a request"));
}
