//! Others, with the same burst against the same target: BullMQ on Redis, which keeps its jobs on the
//! disk once a second, and APScheduler, which keeps them in memory.
//!
//! They are installed below the build's own folder, in the versions named here. What cannot be
//! installed stands in the table with its error.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::burst::{describe, new_run};
use crate::disk::new_dir;
use crate::figures::Figures;
use crate::target::Target;

const BULLMQ: &str = "5.47.3";
const APSCHEDULER: &str = "3.11.3";
const N: usize = 10_000;
/// How long a peer may take until it has noticed that everything was done.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn measure(figures: &mut Figures, target: &Target) {
    let run = new_run();
    let ran = tokio::task::block_in_place(|| bullmq(&base(target, run)));
    let what = format!("BullMQ {BULLMQ}, Redis, AOF everysec: {N} at one instant");
    figures.add(&what, figure(target, run, ran).await, "", "");
    let run = new_run();
    let ran = tokio::task::block_in_place(|| apscheduler(&base(target, run)));
    let what = format!("APScheduler {APSCHEDULER}, in memory: {N} at one instant");
    figures.add(&what, figure(target, run, ran).await, "", "");
}

async fn figure(target: &Target, run: u32, ran: io::Result<String>) -> String {
    let due = ran.and_then(|printed| {
        let millis = printed.trim().parse().map_err(io::Error::other)?;
        DateTime::<Utc>::from_timestamp_millis(millis).ok_or_else(|| io::Error::other("no instant"))
    });
    match due {
        Ok(due) => describe(&target.came(run, &vec![due; N], PATIENCE).await, N),
        Err(error) => error.to_string(),
    }
}

fn base(target: &Target, run: u32) -> String {
    format!("http://{}/{run}", target.address)
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/fire/peers")
}

fn installed(name: &str) -> io::Result<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers").join(name);
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}

fn bullmq(base: &str) -> io::Result<String> {
    let dir = installed("bullmq")?;
    let package = format!("bullmq@{BULLMQ}");
    if !dir.join("node_modules/bullmq").exists() {
        let npm = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
        run(Command::new("npm").args(npm).arg(&dir).arg(package))?;
    }
    // Modules are looked for beside the script.
    let script = dir.join("bullmq.mjs");
    std::fs::copy(scripts().join("bullmq.mjs"), &script)?;
    let redis = Redis::start()?;
    let port = redis.port.to_string();
    run(Command::new("node").args([script.as_os_str(), port.as_ref(), base.as_ref()]).arg(count()))
}

fn apscheduler(base: &str) -> io::Result<String> {
    let dir = installed("apscheduler")?;
    let python = dir.join("bin/python");
    if !dir.join("installed").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(pip).arg(format!("apscheduler=={APSCHEDULER}")))?;
        std::fs::write(dir.join("installed"), APSCHEDULER)?;
    }
    let script = scripts().join("apscheduler_burst.py");
    run(Command::new(python).args([script.as_os_str(), OsStr::new(base)]).arg(count()))
}

fn count() -> String {
    N.to_string()
}

/// The output of a command; if the command fails, the last line of its error output.
fn run(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(io::Error::other(last.to_owned()))
}

/// A Redis on loopback, with a directory of its own.
struct Redis {
    child: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Redis {
    fn start() -> io::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let dir = new_dir();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "everysec", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::other(format!("redis-server: {error}")))?;
        let redis = Self { child, port, _dir: dir };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > until {
                return Err(io::Error::other("redis-server does not listen"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
