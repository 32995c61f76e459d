//! Helpers to create jobs and to read their state through the API.

use std::time::Instant;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::server::Server;
use crate::target::PATIENCE;

/// A server in memory without authentication, with the collection `jc`.
pub(crate) fn in_memory(arguments: &[&str]) -> Server {
    let server = Server::start(["--memory", "--no-auth"].iter().chain(arguments));
    with_collection(server)
}

/// A server on a data directory without authentication, with more arguments.
pub(crate) fn on(data: &std::path::Path, arguments: &[&str]) -> Server {
    let first = ["--no-auth", "--data", data.to_str().unwrap()];
    Server::start(first.iter().chain(arguments))
}

pub(crate) fn with_collection(server: Server) -> Server {
    server.must("PUT", "/jc", r#"{"properties":{"sku":{"name":"P20Premium"}}}"#);
    server
}

/// A job that calls a URL; `more` adds properties.
pub(crate) fn job(url: &str, more: &Value) -> String {
    let mut properties = json!({"action": http(url)});
    merge(&mut properties, more);
    json!({"properties": properties}).to_string()
}

pub(crate) fn http(url: &str) -> Value {
    json!({"type": "Http", "request": {"uri": url, "method": "GET"}})
}

fn merge(into: &mut Value, from: &Value) {
    for (name, value) in from.as_object().unwrap() {
        match &mut into[name] {
            known @ Value::Object(_) if value.is_object() => merge(known, value),
            place => *place = value.clone(),
        }
    }
}

pub(crate) fn format_instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

pub(crate) fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap_or_else(|| panic!("{value} is an instant")).parse().unwrap()
}

/// The properties of a job's history items, newest first.
#[track_caller]
pub(crate) fn history(server: &Server, job: &str) -> Vec<Value> {
    let list = server.must("GET", &format!("{job}/history"), "").json();
    let items = list["value"].as_array().unwrap().iter();
    items.map(|item| item["properties"].clone()).collect()
}

#[track_caller]
pub(crate) fn properties(server: &Server, job: &str) -> Value {
    server.must("GET", job, "").json()["properties"].clone()
}

/// Reads a job until its properties match.
#[track_caller]
pub(crate) fn until(server: &Server, job: &str, matches: impl Fn(&Value) -> bool) -> Value {
    let since = Instant::now();
    loop {
        let now = properties(server, job);
        if matches(&now) {
            return now;
        }
        assert!(since.elapsed() < PATIENCE, "{job} stays {now}");
    }
}

/// Reads a job until it is in this state.
#[track_caller]
pub(crate) fn until_state(server: &Server, job: &str, state: &str) -> Value {
    until(server, job, |now| now["state"] == state)
}

/// The counters of a job: executions, failures, faults.
pub(crate) fn counters(properties: &Value) -> [u64; 3] {
    ["executionCount", "failureCount", "faultedCount"]
        .map(|name| properties["status"][name].as_u64().unwrap_or_default())
}
