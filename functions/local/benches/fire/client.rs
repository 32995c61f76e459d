//! A connection to the API that is kept open: the cheapest client there is, so that what is measured
//! is the server.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;

pub(crate) struct Client {
    stream: BufStream<TcpStream>,
    address: SocketAddr,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a connection without delay");
        Self { stream: BufStream::new(stream), address }
    }

    /// Asks, which has to succeed, and reads the answer to its end.
    pub(crate) async fn must(&mut self, method: &str, path: &str, body: &str) {
        self.must_with(method, path, "", body).await;
    }

    /// Asks, which has to succeed, and returns the body of the answer.
    pub(crate) async fn answer_to(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        self.ask(method, path, "", body).await
    }

    /// Asks with more of a query, beginning with `&`.
    pub(crate) async fn must_with(&mut self, method: &str, path: &str, query: &str, body: &str) {
        self.ask(method, path, query, body).await;
    }

    async fn ask(&mut self, method: &str, path: &str, query: &str, body: &str) -> Vec<u8> {
        let (address, length) = (self.address, body.len());
        let request = format!(
            "{method} {path}?api-version=2016-03-01{query} HTTP/1.1\r\nHost: {address}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await.expect("a request");
        self.stream.flush().await.expect("a request");
        let mut status = String::new();
        self.stream.read_line(&mut status).await.expect("a status");
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.expect("a header");
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).await.expect("an answer");
        let is_success = status.split(' ').nth(1).is_some_and(|code| code.starts_with('2'));
        assert!(is_success, "{method} {path}: {status}{}", String::from_utf8_lossy(&answer));
        answer
    }
}

/// The path of a collection.
pub(crate) fn collection(name: &str) -> String {
    format!(
        "/subscriptions/bench/resourceGroups/bench/providers/Microsoft.Scheduler/jobCollections/{name}"
    )
}

/// A job that calls a URL once.
pub(crate) fn job(uri: &str, start: &str) -> String {
    body(uri, &serde_json::json!({"startTime": start}))
}

/// A job that calls a URL every minute.
pub(crate) fn minutely(uri: &str, start: &str) -> String {
    body(uri, &serde_json::json!({"startTime": start, "recurrence": {"frequency": "minute"}}))
}

/// A job that calls a URL every day.
pub(crate) fn daily(uri: &str, start: &str) -> String {
    body(uri, &serde_json::json!({"startTime": start, "recurrence": {"frequency": "day"}}))
}

fn body(uri: &str, timing: &Value) -> String {
    let request = serde_json::json!({
        "uri": uri,
        "method": "POST",
        "headers": {"Content-Type": "application/json"},
        "body": "x".repeat(100),
    });
    let mut properties = timing.clone();
    properties["action"] = serde_json::json!({"type": "Http", "request": request});
    serde_json::json!({ "properties": properties }).to_string()
}
