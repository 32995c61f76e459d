//! A server, a home directory, and commands that are run there.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use minutehand_testkit::Process;
use serde_json::Value;
use tempfile::TempDir;

/// A server, and a home directory.
pub(crate) struct World {
    server: Server,
    pub(crate) home: TempDir,
}

/// A server that does not outlive its test.
pub(crate) struct Server {
    _process: Process,
    pub(crate) url: String,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Server {
    pub(crate) fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        let own = ["serve", "--listen", "127.0.0.1:0", "--log-level", "error"];
        let arguments: Vec<S> = arguments.into_iter().collect();
        Self::run(own.map(OsStr::new).into_iter().chain(arguments.iter().map(AsRef::as_ref)))
    }

    /// Starts one whose jobs may send to AWS, with keys that are none.
    pub(crate) fn for_aws() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
        let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, "minutehand"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--memory", "--no-auth", "--aws"])
            .args(["--log-level", "error"])
            .envs(keys)
            .env("AWS_REGION", "eu-west-1");
        Self::of(command)
    }

    /// Runs a command that serves.
    pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
        command.args(arguments);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        command.env_remove("MINUTEHAND_TOKEN").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut lines = BufReader::new(process.child().stdout.take().unwrap()).lines();
        let url =
            lines.find_map(|line| Some(line.unwrap().strip_prefix("listening on ")?.to_owned()));
        // Nothing more is printed.
        std::thread::spawn(move || lines.count());
        Self { _process: process, url: url.expect("the server did not start") }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            server: Server::start(["--memory", "--no-auth"]),
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// A command in the home directory, for the server.
    pub(crate) fn command(&self) -> Command {
        let mut command = at_home(self.home.path());
        command.env("MINUTEHAND_URL", self.url());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ended {
        self.run_with(&words(line), "")
    }

    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, arguments: &[S], input: &str) -> Ended {
        run(self.command().args(arguments), input)
    }

    /// Sends a request to the server; returns the status and the body of its answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let address = self.url().strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Runs a command that has to succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn must(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended.out
    }

    /// Runs a command that has to succeed, and returns the JSON that it printed.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        let out = self.must(line);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line}: {error}: {out}"))
    }
}

/// A command without anything from the environment of the test.
pub(crate) fn at_home(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
    command
}

pub(crate) fn run(command: &mut Command, input: &str) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start(command);
    // A command that reads nothing may end before.
    let _ = process.child().stdin.take().unwrap().write_all(input.as_bytes());
    let output = process.output();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The words of a line; quotes hold spaces together.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        if n % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// A target that answers every request with this status.
pub(crate) fn target(status: u16) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            // The requests of these tests fit into one read.
            let _ = stream.read(&mut head);
            let answer = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}
