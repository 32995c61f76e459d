//! Lambda as a function sees it: an API that hands over events and takes answers.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::http::{self, Answer};
use crate::services::Services;

/// How long a function may take.
const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// A function that runs until it is dropped.
pub(crate) struct Function {
    process: Child,
    events: Sender<String>,
    asked: Receiver<Instant>,
    answered: Receiver<(Instant, Vec<u8>)>,
    started_at: Instant,
}

impl Function {
    pub(crate) fn start(binary: &Path, services: &Services) -> Self {
        Self::start_in(binary, services.environment())
    }

    /// Starts one in an environment of its own.
    pub(crate) fn start_in(binary: &Path, environment: Vec<(&'static str, String)>) -> Self {
        let (events, next) = channel::<String>();
        let (asking, asked) = channel();
        let (answering, answered) = channel();
        let next = Mutex::new(next);
        let senders = Mutex::new((asking, answering));
        let address = http::serve(move |request| {
            if request.path.ends_with("/next") {
                let _ = lock(&senders).0.send(Instant::now());
                // A process that is ended asks for one more event than there is.
                let event = lock(&next).recv().unwrap_or_default();
                let deadline = unix_ms() + 90_000;
                let headers = format!(
                    "lambda-runtime-aws-request-id: 1\r\nlambda-runtime-deadline-ms: {deadline}\r\n\
                     lambda-runtime-invoked-function-arn: arn\r\ncontent-type: application/json\r\n"
                );
                return Answer { status: 200, headers, body: event };
            }
            let _ = lock(&senders).1.send((Instant::now(), request.body));
            Answer::from(String::new())
        });
        let started_at = Instant::now();
        let process = Command::new(binary)
            .env_clear()
            .envs(environment)
            .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
        Self { process, events, asked, answered, started_at }
    }

    /// How long it took until it asked for its first event.
    pub(crate) fn init(&self) -> Duration {
        let asked = self.asked.recv_timeout(ANSWERS_WITHIN).expect("the function asks");
        asked - self.started_at
    }

    /// Hands an event over; returns the answer, and how long after the start it came.
    pub(crate) fn invoke(&self, event: &Value) -> (Value, Duration) {
        self.events.send(event.to_string()).expect("the function runs");
        let (at, body) = self.answered.recv_timeout(ANSWERS_WITHIN).expect("the function answers");
        (serde_json::from_slice(&body).unwrap_or_default(), at - self.started_at)
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// The processor time of all its threads so far.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let times = tasks.expect("it runs").flatten().filter_map(|task| {
            let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            stat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(times.sum())
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unix_ms() -> u128 {
    #[expect(clippy::disallowed_methods, reason = "Lambda says when an invocation ends")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}
