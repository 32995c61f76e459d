//! Time limits: a test that waits in vain ends with a message instead of hanging.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a test may take: as in `.config/nextest.toml`, for runs without nextest.
const TEST_MAX: Duration = Duration::from_mins(5);
/// The same for a test that runs hundreds of others.
const TESTS_MAX: Duration = Duration::from_mins(10);
/// How long a process of a test may run. It is less, so that the test still says what it was for.
const PROCESS_MAX: Duration = Duration::from_mins(4);

/// Ends the whole test run if a test has not dropped it in time: only that ends a thread that is blocked.
#[derive(Debug, Clone)]
pub struct TimeLimit(
    #[expect(dead_code, reason = "dropping it tells the thread")] Sender<Infallible>,
);

impl TimeLimit {
    /// Starts when a test does, in its thread.
    #[must_use]
    pub fn start() -> Self {
        Self::of_test(TEST_MAX)
    }

    /// The same for a test that runs hundreds of others.
    #[must_use]
    pub fn of_many_tests() -> Self {
        Self::of_test(TESTS_MAX)
    }

    fn of_test(limit: Duration) -> Self {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        Self::new(limit, move || {
            say(&format!("{test} has not ended after {limit:?}: the test run ends here"));
            std::process::exit(101);
        })
    }

    fn new(limit: Duration, end: impl FnOnce() + Send + 'static) -> Self {
        let (running, dropped): (_, Receiver<Infallible>) = channel();
        std::thread::spawn(move || {
            if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                end();
            }
        });
        Self(running)
    }
}

/// A process that outlives neither its test nor its time limit.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    is_overdue: Arc<AtomicBool>,
    _limits: [TimeLimit; 2],
}

impl Process {
    /// Starts a process.
    ///
    /// # Panics
    ///
    /// If it cannot start.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self::limited(command, PROCESS_MAX)
    }

    #[expect(clippy::panic, reason = "a test says by it what went wrong")]
    #[track_caller]
    fn limited(command: &mut Command, limit: Duration) -> Self {
        let name = format!("{command:?}");
        let child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_overdue = Arc::new(AtomicBool::new(false));
        let kill = {
            let (is_overdue, name, pid) =
                (is_overdue.clone(), name.clone(), Pid::from_child(&child));
            move || {
                is_overdue.store(true, Ordering::SeqCst);
                say(&format!("{name} has not ended after {limit:?}: it is killed"));
                // It may have ended just now.
                let _ = kill_process(pid, Signal::KILL);
            }
        };
        let limits = [TimeLimit::new(limit, kill), TimeLimit::start()];
        Self { child, name, is_overdue, _limits: limits }
    }

    /// The process itself: its pipes, its id.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    ///
    /// If the process runs into its time limit.
    #[expect(clippy::panic, reason = "a test says by it what went wrong")]
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let ended = self.child.wait();
        assert!(!self.is_overdue.load(Ordering::SeqCst), "{} does not end", self.name);
        ended.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Reads what the process writes, and waits for its end.
    ///
    /// # Panics
    ///
    /// If the process runs into its time limit.
    #[must_use]
    #[track_caller]
    pub fn output(mut self) -> Output {
        // A process that still reads its input must see the end of it.
        drop(self.child.stdin.take());
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let errors = std::thread::spawn(move || read(stderr));
        let stdout = read(stdout);
        let stderr = errors.join().unwrap_or_default();
        Output { status: self.wait(), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process has ended already, if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a line past the capture of a test's output: what is captured is lost with the process.
fn say(line: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before a failure is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// Runs commands with a time limit.
pub trait InTime {
    /// Runs a command without input, as [`Command::output`] does.
    ///
    /// # Panics
    ///
    /// If the command cannot start, or runs into its time limit.
    #[track_caller]
    fn output_in_time(&mut self) -> Output;
}

impl InTime for Command {
    #[track_caller]
    fn output_in_time(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Process::start(self).output()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(10);

    fn sleeping() -> Command {
        let mut command = Command::new("sleep");
        command.arg("1000").stdout(Stdio::piped());
        command
    }

    #[test]
    #[should_panic(expected = r#""sleep" "1000" does not end"#)]
    fn a_process_that_does_not_end_is_killed_and_fails_the_test() {
        Process::limited(&mut sleeping(), SOON).wait();
    }

    #[test]
    #[should_panic(expected = "does not end")]
    fn output_that_does_not_end_fails_the_test() {
        drop(Process::limited(&mut sleeping(), SOON).output());
    }

    #[test]
    fn a_process_that_ends_in_time_is_read_to_its_end() {
        let output =
            Command::new("sh").args(["-c", "cat; echo out; echo err >&2; exit 3"]).output_in_time();
        assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_limit_that_is_dropped_does_nothing() {
        let (end, ended) = channel();
        drop(TimeLimit::new(TEST_MAX, move || end.send(()).unwrap()));
        // The thread is gone, with what it would have done.
        assert!(ended.recv().is_err());
    }

    #[test]
    #[ignore = "it hangs: the next test runs it"]
    fn a_test_that_hangs() {
        let _limit = TimeLimit::of_test(SOON);
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn a_test_that_hangs_ends_the_run_with_its_name() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "limit::tests::a_test_that_hangs"]);
        let output = command.output_in_time();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("limit::tests::a_test_that_hangs has not ended after 10ms"),
            "{said}"
        );
        assert_eq!(output.status.code(), Some(101));
    }
}
