//! A running server process, for tests.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use minutehand_testkit::Process;
use serde_json::json;

use crate::client::{Answer, Request};

/// The path of the collections that tests use.
pub(crate) const GROUP: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
/// Time limit for a shutdown after a signal.
pub(crate) const END_MAX: Duration = Duration::from_secs(10);

/// A running server.
pub(crate) struct Server {
    process: Process,
    /// The start-up lines on standard output.
    pub(crate) notes: Vec<String>,
    pub(crate) address: SocketAddr,
    /// The token to send; at first the one that was printed, if any.
    pub(crate) token: Option<String>,
    rest: JoinHandle<String>,
    log: Receiver<String>,
    logged: Vec<String>,
}

/// A process that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Standard output after the start-up lines.
    pub(crate) rest: String,
    pub(crate) log: String,
    pub(crate) took: Duration,
}

pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    command.arg("serve").stdin(Stdio::null());
    for variable in [
        "MINUTEHAND_TOKEN",
        "MINUTEHAND_DATABASE",
        "MINUTEHAND_KEY",
        "MINUTEHAND_HEARTBEAT_URL",
        "PGPASSWORD",
    ] {
        command.env_remove(variable);
    }
    command
}

impl Server {
    /// Starts with a data directory and without authentication.
    pub(crate) fn open(data: &Path) -> Self {
        Self::start([OsStr::new("--no-auth"), OsStr::new("--data"), data.as_os_str()])
    }

    /// Starts on a free port.
    pub(crate) fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Self {
        let mut command = command();
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let (lines, log) = channel();
        let errors = BufReader::new(process.child().stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in errors.lines() {
                // Fails when the test has ended and nothing reads the log any more.
                let _ = lines.send(line.unwrap());
            }
        });
        let mut out = BufReader::new(process.child().stdout.take().unwrap());
        let mut notes = Vec::new();
        let address = loop {
            let mut line = String::new();
            let length = out.read_line(&mut line).unwrap();
            assert!(length > 0, "the server did not start: {:#?}", log.iter().collect::<Vec<_>>());
            notes.push(line.trim_end().to_owned());
            if let Some((_, address)) =
                line.strip_prefix("listening on ").and_then(|url| url.split_once("://"))
            {
                break address.trim_end().parse().unwrap();
            }
        };
        let token = notes.iter().find_map(|line| line.strip_prefix("token: "));
        let token = token.and_then(|rest| rest.split(' ').next()).map(str::to_owned);
        let rest = std::thread::spawn(move || {
            let mut rest = String::new();
            out.read_to_string(&mut rest).unwrap();
            rest
        });
        Self { process, notes, address, token, rest, log, logged: Vec::new() }
    }

    /// Sends a request with a body and the token that was printed.
    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.try_send(method, path, body).unwrap()
    }

    pub(crate) fn try_send(&self, method: &str, path: &str, body: &str) -> std::io::Result<Answer> {
        Request { method, path, token: self.token.as_deref(), body }.send(self.address)
    }

    /// Sends a request to a path below the collections, with an API version.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, &versioned(path), body)
    }

    /// As [`Self::ask`]; the response must be a success.
    #[track_caller]
    pub(crate) fn must(&self, method: &str, path: &str, body: &str) -> Answer {
        let answer = self.ask(method, path, body);
        assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
        answer
    }

    /// The status of a request with this token.
    pub(crate) fn status_with(&self, token: Option<&str>) -> u16 {
        let path = &versioned("");
        Request { method: "GET", path, token, body: "" }.send(self.address).unwrap().status
    }

    /// Waits for a log line that contains this text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        while let Ok(line) = self.log.recv_timeout(Duration::from_mins(1)) {
            let is_it = line.contains(text);
            self.logged.push(line);
            if is_it {
                return;
            }
        }
        panic!("{text:?} was not logged: {:#?}", self.logged);
    }

    /// The scheme of its URL.
    pub(crate) fn scheme(&self) -> &'static str {
        let is_tls = self.notes.iter().any(|note| note.starts_with("listening on https://"));
        if is_tls { "https" } else { "http" }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Sends SIGTERM and waits for the end of the process.
    pub(crate) fn stop(self) -> Ended {
        self.signal("TERM");
        self.wait()
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(mut self) -> Ended {
        let since = Instant::now();
        let status = self.process.wait();
        let took = since.elapsed();
        let Self { rest, log, mut logged, .. } = self;
        logged.extend(log.iter());
        Ended { status, rest: rest.join().unwrap(), log: logged.join("\n"), took }
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        assert_eq!(self.status.code(), Some(0), "{}", self.log);
        assert!(self.took < END_MAX, "the shutdown took {:?}: {}", self.took, self.log);
        assert_eq!(self.rest, "", "nothing is printed after the address");
    }
}

/// A path below the collections, with the API version.
pub(crate) fn versioned(path: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{GROUP}{path}{sign}api-version=2016-03-01")
}

/// A job in the far future that authenticates with this password.
pub(crate) fn job(password: &str) -> String {
    let authentication = json!({"type": "Basic", "username": "u", "password": password});
    let request =
        json!({"uri": "http://example.org", "method": "GET", "authentication": authentication});
    let action = json!({"type": "Http", "request": request});
    json!({"properties": {"startTime": "2050-01-01", "action": action}}).to_string()
}
