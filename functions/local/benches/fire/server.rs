//! The binary, started on a new data directory, watched and ended.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tempfile::TempDir;

use crate::disk::new_dir;

/// The kernel counts a process's time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: Child,
    dir: TempDir,
    sync: String,
    files: String,
}

impl Server {
    pub(crate) fn start(sync: &str) -> Self {
        Self::with_files(sync, "$(ulimit -Hn)")
    }

    /// A server that may have so many files open.
    pub(crate) fn with_files(sync: &str, files: &str) -> Self {
        let dir = new_dir();
        let (child, address) = spawn(dir.path(), sync, files);
        Self { address, child, dir, sync: sync.to_owned(), files: files.to_owned() }
    }

    /// Ends it as its user would, waits until an instant, and starts it again. Returns how long it took until
    /// it listened.
    pub(crate) fn restart(&mut self, at: DateTime<Utc>) -> Duration {
        self.end();
        let left = (at - minutehand_runtime::system_now()).to_std();
        std::thread::sleep(left.expect("it ended in time"));
        let start = Instant::now();
        (self.child, self.address) = spawn(self.dir.path(), &self.sync, &self.files);
        start.elapsed()
    }

    /// The memory in use, and its highest value so far.
    pub(crate) fn memory(&self) -> String {
        let mib = |name: &str| self.status(name) / 1_024;
        format!("{} MiB, at most {}", mib("VmRSS:"), mib("VmHWM:"))
    }

    /// A line of what the kernel knows of its memory, in KiB.
    fn status(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim_end_matches("kB").trim().parse().ok());
        kib.unwrap_or(0)
    }

    /// The memory in use, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The length of a file in its data directory; 0 if there is none.
    pub(crate) fn file_bytes(&self, name: &str) -> u64 {
        let path = self.dir.path().join("data").join(name);
        fs::metadata(path).map_or(0, |file| file.len())
    }

    /// The time it has used of processors.
    pub(crate) fn cpu(&self) -> Duration {
        cpu_of(&self.child.id().to_string())
    }

    /// Ends it as its user would.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.child.wait();
    }
}

/// Starts it, and waits until it listens.
fn spawn(dir: &Path, sync: &str, files: &str) -> (Child, SocketAddr) {
    let log = File::options().create(true).append(true).open(dir.join("log")).expect("a log");
    let binary = std::env::var_os("BENCH_BINARY");
    let script = format!("ulimit -Sn {files}; ulimit -Hn {files}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .arg(binary.unwrap_or(env!("CARGO_BIN_EXE_minutehand").into()))
        .args(["serve", "--listen", "127.0.0.1:0", "--no-auth", "--plan-limits", "off"])
        .args(["--sync", sync, "--data"])
        .arg(dir.join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("the binary");
    let out = BufReader::new(child.stdout.take().expect("its output"));
    let address = out.lines().find_map(|line| {
        let line = line.ok()?;
        line.strip_prefix("listening on http://")?.parse().ok()
    });
    (child, address.expect("where it listens"))
}

/// The time that a process has used of processors.
pub(crate) fn cpu_of(process: &str) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = after_name.split(' ').skip(11).take(2).filter_map(|it| it.parse::<u32>().ok());
    TICK * ticks.sum()
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, if nothing went wrong.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
