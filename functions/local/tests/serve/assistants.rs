//! Assistants at `/mcp`. The official client is in `tests/clients/mcp`.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;

use minutehand_testkit::InTime as _;
use serde_json::{Value, json};

use crate::client::{Answer, read_answer};
use crate::server::Server;

/// Sends a message with these headers.
fn send(server: &Server, headers: &str, path: &str, message: &str) -> Answer {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let length = message.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    // The server may refuse before it has read everything.
    let _ = stream.write_all(format!("{head}{message}").as_bytes());
    read_answer(stream).unwrap()
}

/// A server with a token for each of these limits, and the tokens.
fn with_tokens<const N: usize>(limits: [&[&str]; N]) -> (tempfile::TempDir, Server, [String; N]) {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    let tokens = limits.map(|limits| {
        let made = Command::new(env!("CARGO_BIN_EXE_minutehand"))
            .args(["token", "create"])
            .args(limits)
            .output_in_time();
        let made = String::from_utf8(made.stdout).unwrap();
        let field = |name: &str| made.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        lines.extend([field("line: "), "\n"]);
        field("token: ").to_owned()
    });
    let file = dir.path().join("tokens");
    fs::write(&file, lines).unwrap();
    let server = Server::start(["--memory", "--token-file", file.to_str().unwrap()]);
    (dir, server, tokens)
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

fn result(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].take()
}

fn tools(server: &Server, token: &str) -> Vec<String> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let listed = result(&send(server, &bearer(token), "/mcp", &message));
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Calls a tool; returns its answer, or its error.
fn call(server: &Server, token: &str, tool: &str, arguments: &Value) -> Result<Value, String> {
    let params = json!({"name": tool, "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut called = result(&send(server, &bearer(token), "/mcp", &message.to_string()));
    if called["isError"] == true {
        return Err(called["content"][0]["text"].as_str().unwrap().to_owned());
    }
    Ok(called["structuredContent"].take())
}

#[test]
fn a_token_has_the_same_scope_for_tools_as_for_the_api() {
    let (_dir, server, [read, run, all]) =
        with_tokens([&["--scope", "read"], &["--scope", "run"], &["--name", "chief"]]);
    let [few, more, most] = [&read, &run, &all].map(|token| tools(&server, token));
    assert!(
        few.contains(&"failures".to_owned()) && !few.contains(&"run_job".to_owned()),
        "{few:?}"
    );
    let added: Vec<_> = more.iter().filter(|tool| !few.contains(tool)).collect();
    assert_eq!(added, ["run_job", "redrive", "cancel", "test_alert"]);
    let added: Vec<_> = most.iter().filter(|tool| !more.contains(tool)).collect();
    let changing = [
        "create_collection",
        "update_collection",
        "create_job",
        "update_job",
        "ping_url",
        "rotate_ping",
        "delete_job",
    ];
    assert_eq!(added, changing);

    let job = json!({"name": "ops/a", "every": "1h", "url": "http://127.0.0.1:1/", "overlap": "skip",
        "pause_after": 3, "retry_factor": 1.5, "exclude_date": ["2099-12-24"]});
    let refused = call(&server, &read, "create_job", &job).unwrap_err();
    assert!(refused.contains("may only read\nuse a token with a larger scope"), "{refused}");
    let refused = call(&server, &all, "create_job", &job).unwrap_err();
    assert!(refused.contains("`create_collection` creates it"), "{refused}");
    call(&server, &all, "create_collection", &json!({"name": "ops", "max_concurrent": 2})).unwrap();
    let made = call(&server, &all, "create_job", &job).unwrap();
    assert_eq!(made["name"], "ops/a", "{made}");
    let found = call(&server, &read, "get_job", &json!({"name": "ops/a"})).unwrap();
    let own = &found["properties"]["minutehand"];
    assert_eq!((&own["overlap"]["policy"], &own["retry"]["factor"]), (&json!("skip"), &json!(1.5)));
    let journal = call(&server, &read, "journal", &json!({"collection": "ops"})).unwrap();
    assert_eq!(journal["entries"][0]["who"], "chief", "{journal}");
    let off = json!({"name": "ops", "state": "disabled", "alert_after": 2});
    let refused = call(&server, &all, "update_collection", &off).unwrap_err();
    assert!(refused.contains("onFailure"), "{refused}");
    call(&server, &all, "update_collection", &json!({"name": "ops", "state": "disabled"})).unwrap();
    let listed = call(&server, &read, "list_collections", &json!({})).unwrap();
    assert_eq!(listed["collections"][0]["state"], "Disabled", "{listed}");
    call(&server, &all, "update_collection", &json!({"name": "ops", "snooze": "1d"})).unwrap();
    call(&server, &all, "update_job", &json!({"name": "ops/a", "snooze": "2h"})).unwrap();
    for tool in [
        json!({"tool": "get_collection", "name": "ops"}),
        json!({"tool": "get_job", "name": "ops/a"}),
    ] {
        let found =
            call(&server, &read, tool["tool"].as_str().unwrap(), &json!({"name": tool["name"]}));
        let found = found.unwrap();
        assert!(found["properties"]["minutehand"]["snoozedUntil"].is_string(), "{found}");
    }
    let long = json!({"name": "ops/a", "snooze": "31d"});
    let refused = call(&server, &all, "update_job", &long).unwrap_err();
    assert!(refused.contains("at most 30 days ahead"), "{refused}");
    server.stop().is_clean();
}

#[test]
fn a_limited_token_reaches_no_more_through_tools() {
    let (_dir, server, [all, own]) = with_tokens([&[], &["--collections", "mine-*"]]);
    for collection in ["mine-a", "other"] {
        call(&server, &all, "create_collection", &json!({"name": collection})).unwrap();
        let job = json!({"name": format!("{collection}/a"), "every": "1h", "url": "http://127.0.0.1:1/",
            "retry": 0});
        call(&server, &all, "create_job", &job).unwrap();
        let ran = json!({"name": format!("{collection}/a"), "wait": true});
        let ran = call(&server, &all, "run_job", &ran).unwrap();
        assert!(ran["message"]["fromTarget"].is_string(), "{ran}");
    }
    let listed = call(&server, &own, "list_collections", &json!({})).unwrap();
    assert_eq!(listed["collections"].as_array().unwrap().len(), 1, "{listed}");
    let found = call(&server, &own, "find_jobs", &json!({"text": "A"})).unwrap();
    assert_eq!(found["jobs"][0]["name"], "mine-a/a", "{found}");
    assert_eq!((found["jobs"].as_array().unwrap().len(), &found["isWhole"]), (1, &json!(true)));
    let wall = call(&server, &own, "wall", &json!({"back": 1})).unwrap();
    assert_eq!(wall["collections"].as_array().unwrap().len(), 1, "{wall}");
    assert_eq!(wall["collections"][0]["name"], "mine-a", "{wall}");
    assert_eq!(wall["collections"][0]["due"], 6, "{wall}");
    let refused = call(&server, &own, "wall", &json!({"back": 169})).unwrap_err();
    assert!(refused.contains("use a number from 1 to 168"), "{refused}");
    let failures = call(&server, &own, "failures", &json!({})).unwrap();
    let found: Vec<_> = failures["failures"].as_array().unwrap().iter().collect();
    assert!(found.iter().all(|failure| failure["name"] == "mine-a/a"), "{failures}");
    assert!(found[0]["message"]["fromTarget"].is_string(), "{failures}");
    call(&server, &own, "job_history", &json!({"name": "mine-a/a"})).unwrap();
    for (tool, arguments) in [
        ("get_collection", json!({"name": "other"})),
        ("list_jobs", json!({"collection": "other"})),
        ("get_job", json!({"name": "other/a"})),
        ("job_history", json!({"name": "other/a"})),
        ("why", json!({"name": "other/a"})),
        ("failures", json!({"collection": "other"})),
        ("journal", json!({"collection": "other"})),
        ("alerts", json!({"collection": "other"})),
        ("run_job", json!({"name": "other/a"})),
        ("delete_job", json!({"name": "other/a"})),
        ("update_job", json!({"name": "other/a", "disabled": true})),
        ("create_collection", json!({"name": "new"})),
        ("update_collection", json!({"name": "other", "state": "disabled"})),
    ] {
        let refused = call(&server, &own, tool, &arguments);
        assert!(refused.is_err(), "{tool} {arguments}: {refused:?}");
    }
    assert_eq!(
        call(&server, &all, "get_job", &json!({"name": "other/a"})).unwrap()["state"],
        "enabled"
    );
    server.stop().is_clean();
}

#[test]
fn what_is_no_message_of_an_assistant_is_refused() {
    let (_dir, server, [all]) = with_tokens([&[]]);
    let (known, list) = (bearer(&all), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let foreign = format!("{known}Origin: https://evil.example\r\n");
    let own = format!("{known}Origin: http://localhost\r\n");
    let long = format!("{list}{}", " ".repeat(300 << 10));
    for (why, headers, path, message, status, says) in [
        ("no token", "", "/mcp", list, 401, "send 'Authorization: Bearer"),
        ("a wrong token", "Authorization: Bearer x\r\n", "/mcp", list, 401, "no valid token"),
        ("a page", &*foreign, "/mcp", list, 403, "pages of other origins"),
        ("a page of the server", &*own, "/mcp", list, 200, "create_job"),
        ("a query", &known, "/mcp?collection=a", list, 400, "subscription=NAME"),
        ("another place", &known, "/mcp/?group=ops", list, 200, "create_job"),
        ("too long", &known, "/mcp", &long, 413, "more than 262144 bytes"),
        ("no message", &known, "/mcp", "{", 400, "not a message of the Model Context Protocol"),
    ] {
        let answer = send(&server, headers, path, message);
        assert_eq!(answer.status, status, "{why}: {answer:?}");
        assert!(answer.body.contains(says), "{why}: {answer:?}");
    }
    let get = server.send("GET", "/mcp", "");
    assert_eq!(get.status, 401, "{get:?}");
    server.stop().is_clean();
}
