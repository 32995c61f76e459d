//! `console`: the console on this machine, whose calls go to a server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

use minutehand_testkit::Process;
use serde_json::Value;

use crate::world::{Server, at_home};

const TOKEN: &str = "the-token-of-the-server";
const COLLECTION: &str = "/subscriptions/me/resourceGroups/dev/providers/Microsoft.Scheduler\
                          /jobCollections/c?api-version=2016-03-01";

/// A `minutehand console` that does not outlive its test.
struct Console {
    _process: Process,
    address: SocketAddr,
    secret: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

impl Console {
    fn start(url: &str, token: &str, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = at_home(home.path());
        command
            .env("MINUTEHAND_URL", url)
            .env("MINUTEHAND_TOKEN", token)
            .arg("console")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = Process::start(&mut command);
        let mut printed = String::new();
        BufReader::new(process.child().stdout.take().unwrap()).read_line(&mut printed).unwrap();
        assert!(!printed.contains(token), "{printed}");
        let link = printed.trim_end().strip_prefix("console: http://").unwrap();
        let (address, secret) = link.split_once("/console/#token=").unwrap();
        Self { _process: process, address: address.parse().unwrap(), secret: secret.to_owned() }
    }

    fn with(&self, method: &str, path: &str, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{head}\r\nConnection: close\r\nContent-Type: \
             application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let head = format!("Host: {}\r\nAuthorization: Bearer {}", self.address, self.secret);
        self.with(method, path, &head, body)
    }
}

fn server() -> Server {
    Server::start(["--memory", "--token", TOKEN])
}

#[test]
fn the_secret_of_the_link_opens_the_server_and_its_token_stays_in_the_process() {
    let server = server();
    let console = Console::start(&server.url, TOKEN, &[]);
    let here = format!("Host: {}", console.address);
    let page = console.with("GET", "/console/", &here, "");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    for credential in
        ["X: none", "Authorization: Bearer wrong", &format!("Authorization: Bearer {TOKEN}")]
    {
        let answer =
            console.with("GET", "/minutehand/v1/me", &format!("{here}\r\n{credential}"), "");
        assert_eq!(answer.status, 401, "{credential}");
        assert!(answer.message().starts_with("Open the link"), "{}", answer.body);
    }
    let me = console.ask("GET", "/minutehand/v1/me", "");
    assert_eq!(me.status, 200, "{}", me.body);
    assert_eq!(me.json()["may"], serde_json::json!(["read", "run", "write"]));
    assert!(me.head.contains("etag:"), "{}", me.head);
    let made = console.ask("PUT", COLLECTION, "{}");
    assert_eq!(made.status, 201, "{}", made.body);
    for answer in [page, me, made] {
        assert!(!answer.head.contains(TOKEN) && !answer.body.contains(TOKEN));
    }
    assert_eq!(console.ask("GET", "/metrics", "").status, 404);
}

#[test]
fn a_page_under_another_name_gets_nothing() {
    let server = server();
    let console = Console::start(&server.url, TOKEN, &[]);
    let head = format!("Host: evil.example\r\nAuthorization: Bearer {}", console.secret);
    for path in ["/console/", "/minutehand/v1/me"] {
        assert_eq!(console.with("GET", path, &head, "").status, 421, "{path}");
    }
}

#[test]
fn read_only_lets_through_what_reads() {
    let server = server();
    let console = Console::start(&server.url, TOKEN, &["--read-only"]);
    assert_eq!(
        console.ask("GET", "/minutehand/v1/me", "").json()["may"],
        serde_json::json!(["read"])
    );
    let preview = r#"{"recurrence":{"frequency":"day"},"startTime":"2027-01-01T00:00:00Z"}"#;
    assert_eq!(console.ask("POST", "/minutehand/v1/preview", preview).status, 200);
    let refused = console.ask("PUT", COLLECTION, "{}");
    assert_eq!(refused.status, 403);
    assert!(refused.message().contains("--read-only"), "{}", refused.body);
}

#[test]
fn a_server_that_refuses_or_is_gone_is_named() {
    let server = server();
    let console = Console::start(&server.url, "another", &[]);
    let refused = console.ask("GET", "/minutehand/v1/me", "");
    assert_eq!(refused.status, 403);
    assert!(refused.message().contains("minutehand login"), "{}", refused.body);
    let url = server.url.clone();
    drop(server);
    let gone = console.ask("GET", "/minutehand/v1/me", "");
    assert_eq!(gone.status, 502);
    assert!(gone.message().contains(&url), "{}", gone.body);
}
