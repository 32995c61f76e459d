//! What happens is told to those who listen, as it happens.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::server::Server;

/// How long a test waits for an event.
const WAIT: Duration = Duration::from_secs(30);
const JC: &str = "/jc";

/// A stream that is open.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Opens a stream, and reads until the end of the head.
    fn open(server: &Server, query: &str) -> (u16, Self) {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.set_read_timeout(Some(WAIT)).unwrap();
        let token = server.token.as_deref().unwrap_or_default();
        let head = format!(
            "GET /minutehand/v1/live{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(socket));
        let status = stream.line().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        while stream.line().is_some_and(|line| !line.is_empty()) {}
        (status, stream)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.0.read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads until a line of a field, and returns its value.
    fn until(&mut self, field: &str, wanted: impl Fn(&str) -> bool) -> String {
        while let Some(line) = self.line() {
            if let Some(value) = line.strip_prefix(field).filter(|value| wanted(value)) {
                return value.to_owned();
            }
        }
        panic!("the stream ended before {field}");
    }
}

#[test]
fn a_listener_hears_of_changes_and_attempts_and_goes_on_where_it_stopped() {
    let server = Server::start(["--memory", "--no-auth", "--allow-private-targets"]);
    let (status, mut stream) = Stream::open(&server, "");
    assert_eq!(status, 200);
    let first = stream.until("id: ", |_| true);
    assert_eq!(stream.until("event: ", |_| true), "ready");
    server.must("PUT", JC, "{}");
    assert_eq!(stream.until("event: ", |_| true), "changed");
    let data: serde_json::Value = serde_json::from_str(&stream.until("data: ", |_| true)).unwrap();
    let expected =
        json!({"subscription": "s", "resourceGroup": "g", "collection": "jc", "job": null});
    assert_eq!(data, expected);
    let request = json!({"uri": "http://127.0.0.1:1/", "method": "GET"});
    let action = json!({"type": "Http", "request": request, "retryPolicy": {"retryType": "None"}});
    let job = json!({"properties": {"startTime": "2099-01-01", "action": action}}).to_string();
    server.must("PUT", "/jc/jobs/J", &job);
    server.must("POST", "/jc/jobs/J/run", "");
    for event in ["started", "ended"] {
        stream.until("event: ", |name| name == event);
        assert!(stream.until("data: ", |_| true).ends_with("\"job\":\"j\"}"));
    }
    // All of it again, for who stopped there.
    let (_, mut again) = Stream::open(&server, &format!("?after={first}"));
    assert_eq!(again.until("event: ", |_| true), "changed");
    again.until("event: ", |name| name == "ended");
    let (_, mut other) = Stream::open(&server, "?after=another-7");
    assert_eq!(other.until("event: ", |_| true), "missed");
    // Streams end first: nothing waits for them.
    let ended = server.stop();
    assert!(ended.took < Duration::from_secs(5), "{:?}", ended.took);
    ended.is_clean();
    while stream.line().is_some() {}
}

#[test]
fn a_token_has_two_streams() {
    let token = "0123456789abcdef0123456789abcdef";
    let mut server = Server::start(["--memory", "--token", token]);
    server.token = Some(token.to_owned());
    let streams = [Stream::open(&server, ""), Stream::open(&server, "")];
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(Stream::open(&server, "").0, 503);
    server.stop().is_clean();
}
