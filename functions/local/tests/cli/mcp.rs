//! `minutehand mcp` as lines of the protocol. The official client is in `tests/clients/mcp`.

use serde_json::{Value, json};

use crate::world::{Ended, World, at_home, run, words};

/// What a client says first.
fn greeting() -> Vec<Value> {
    let about = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

/// Calls a tool in a session of its own, and returns the answer to the call.
fn call(world: &World, line: &str, tool: &str, arguments: &Value) -> Value {
    let mut messages = greeting();
    let params = json!({"name": tool, "arguments": arguments});
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let ended = session(world, line, &messages);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    answer(&ended, 1)
}

fn session(world: &World, line: &str, messages: &[Value]) -> Ended {
    let lines: Vec<String> = messages.iter().map(|message| format!("{message}\n")).collect();
    world.run_with(&words(line), &lines.concat())
}

fn answer(ended: &Ended, id: u64) -> Value {
    let answers = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut answers = answers.filter(|answer| answer["id"] == id);
    answers.next().unwrap_or_else(|| panic!("no answer {id}: {ended:?}"))["result"].take()
}

#[test]
fn the_last_request_is_answered_after_the_input_has_ended() {
    let world = World::new();
    world.must("job create a --every 1h --url http://127.0.0.1:1/");
    let answer = call(&world, "mcp", "list_jobs", &json!({}));
    let jobs = &answer["structuredContent"]["jobs"];
    assert_eq!(jobs[0]["name"], "default/a", "{answer}");
    assert_eq!(jobs[0]["sentence"], "every hour", "{answer}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answer["structuredContent"]);
}

#[test]
fn nothing_is_written_without_permission() {
    let world = World::new();
    let job = json!({"name": "a", "every": "1h", "url": "http://127.0.0.1:1/"});
    let answer = call(&world, "mcp", "create_job", &job);
    assert_eq!(answer["isError"], true, "{answer}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("minutehand mcp --allow-writes"), "{text}");
    assert_eq!(world.run("job show a").code, Some(3));

    let answer = call(&world, "mcp --allow-writes", "create_job", &job);
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(answer["structuredContent"]["sentence"], "every hour", "{answer}");
    world.must("job show a");
}

#[test]
fn an_assistant_reads_the_journal_and_tries_alerts() {
    let world = World::new();
    world.must("collection create ops --alert slack=http://127.0.0.1:1/x");
    world.must("job create ops/a --every 1h --url http://127.0.0.1:1/");
    world.must("job run ops/a");
    let ops = json!({"collection": "ops"});
    let journal = call(&world, "mcp", "journal", &json!({"collection": "ops", "job": "a"}));
    let journal = journal["structuredContent"].clone();
    let entries = journal["entries"].as_array().unwrap();
    let told: Vec<_> = entries.iter().map(|entry| entry["operation"].as_str()).collect();
    assert_eq!(told, [Some("ran"), Some("created")]);
    assert_eq!(journal["more"], false);
    let alerts = call(&world, "mcp", "alerts", &ops)["structuredContent"].clone();
    assert_eq!(alerts, json!({"isSet": true, "trouble": null}));
    let alerts = call(&world, "mcp", "alerts", &json!({"collection": "ops", "job": "a"}));
    assert_eq!(alerts["structuredContent"], json!({"isSet": true, "state": null}));
    assert_eq!(call(&world, "mcp", "test_alert", &ops)["isError"], true);
    let tested = call(&world, "mcp --allow-writes", "test_alert", &ops);
    assert_eq!(tested["structuredContent"]["arrived"], false, "{tested}");
}

#[test]
fn an_argument_is_never_a_file_of_this_machine() {
    let world = World::new();
    let mut messages = greeting();
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let listed = answer(&session(&world, "mcp --allow-writes", &messages), 1);
    for tool in listed["tools"].as_array().unwrap() {
        for (name, argument) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(argument["description"].is_string(), "{} {name}", tool["name"]);
            assert!(!name.contains("file"), "{} {name}", tool["name"]);
        }
    }
    let file = world.home.path().join("secret");
    std::fs::write(&file, "s3cret").unwrap();
    for arguments in [
        json!({"body_file": file}),
        json!({"header_file": [format!("X={}", file.display())]}),
        json!({"user": "u", "password_file": file}),
    ] {
        let mut job = json!({"name": "a", "every": "1h", "url": "http://127.0.0.1:1/"});
        job.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let answer = call(&world, "mcp --allow-writes", "create_job", &job);
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("create_job has no argument '"), "{text}");
    }
    let body = json!({"name": "a", "every": "1h", "url": "http://127.0.0.1:1/", "body": "@secret"});
    call(&world, "mcp --allow-writes", "create_job", &body);
    let shown = world.must("job show a --json");
    assert!(shown.contains("@secret") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn an_assistant_that_leaves_ends_the_command() {
    let world = World::new();
    let ended = world.run("mcp");
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let ended =
        session(&world, "mcp", &[json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("io.modelcontextprotocol/protocolVersion"), "{ended:?}");
}

#[test]
fn a_server_that_does_not_run_is_an_error_of_the_tool() {
    let home = tempfile::tempdir().unwrap();
    let mut messages = greeting();
    let params = json!({"name": "list_jobs", "arguments": {}});
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let lines: Vec<String> = messages.iter().map(|message| format!("{message}\n")).collect();
    let line = words("mcp --server http://127.0.0.1:1");
    let ended = run(at_home(home.path()).args(line), &lines.concat());
    let answer = answer(&ended, 1);
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("cannot reach http://127.0.0.1:1: "), "{text}");
}
