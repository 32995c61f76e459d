//! A PostgreSQL of a test's own, where one is installed: in a directory that goes with it, on a free port
//! of this machine.
//!
//! Where none is installed, a test that needs one says so and passes; with `REQUIRE_ALL=1` it fails. The
//! variable `MINUTEHAND_POSTGRES_BIN` names the folder of the server's programs if they are somewhere else.
//! The server refuses to run as root: then it runs as the user `postgres`.
//!
//! The variable `MINUTEHAND_POSTGRES` gives the address of a server that runs, for tests that need no server
//! of their own: `tests/it/postgres.rs` starts one for many tests.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::TimeLimit;

/// The address of a database for tests, as `postgres://user@host:port/database`, whose user may create
/// schemas.
const OTHER: &str = "MINUTEHAND_POSTGRES";
/// Names the folder of the programs of a server.
const BIN: &str = "MINUTEHAND_POSTGRES_BIN";
/// Versions, the newest first.
const VERSIONS: [u32; 5] = [18, 17, 16, 15, 14];
/// Where systems put the programs of a version.
const PLACES: [&str; 4] = [
    "/usr/lib/postgresql/{}/bin",
    "/usr/pgsql-{}/bin",
    "/opt/homebrew/opt/postgresql@{}/bin",
    "/usr/local/opt/postgresql@{}/bin",
];
/// Where systems put PgBouncer.
const BOUNCERS: [&str; 3] =
    ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"];
/// Data that a crash of the machine may damage, which no test has to survive.
const SETTINGS: [&str; 9] = [
    "deadlock_timeout=50ms",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "max_connections=300",
    "shared_buffers=32MB",
    "log_min_messages=warning",
    "lc_messages=C",
];
/// The database of all tests.
const DATABASE: &str = "tests";
/// What the server logs when it can be used.
const READY: &str = "database system is ready to accept";
/// The lines of its log that a failed test shows.
const LINES_SHOWN: usize = 40;

/// A server, which ends with this value, or with the process of the test.
#[derive(Debug)]
pub struct PostgresServer {
    programs: Programs,
    dir: TempDir,
    port: u16,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    settings: Vec<String>,
    limit: TimeLimit,
}

/// How programs of the server are started.
#[derive(Debug)]
struct Programs {
    bin: PathBuf,
    /// The user and the group as which they run, if this one is root.
    user: Option<(u32, u32)>,
}

#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
impl PostgresServer {
    /// Starts a server. `None`, and a line that says so, where none is installed.
    ///
    /// # Panics
    ///
    /// If the server does not start; or, with `REQUIRE_ALL=1`, if none is installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with(|_| Vec::new())
    }

    /// The same with more settings, which may name files that are made in the server's directory.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(more: impl FnOnce(&Path) -> Vec<String>) -> Option<Self> {
        let programs = Programs::find().map_err(|why| skip(&why)).ok()?;
        let dir = tempfile::tempdir().unwrap();
        let mut settings = SETTINGS.map(str::to_owned).to_vec();
        settings.extend(more(dir.path()));
        for file in std::fs::read_dir(dir.path()).unwrap() {
            programs.give(&file.unwrap().path());
        }
        programs.give(dir.path());
        let data = dir.path().join("data");
        let mut init = programs.command(&programs.bin.join("initdb"));
        init.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]);
        let made = init.arg("--locale=C").arg("--pgdata").arg(&data).output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let log = Arc::new(Mutex::new(Vec::new()));
        let child = serve(&programs, &data, port, (&settings, &log));
        let limit = TimeLimit::start();
        let server = Self { programs, dir, port, child, log, settings, limit };
        // Version 14, and a server that was built without ICU, know one order of texts only.
        let of_a_language =
            ["--locale-provider=icu", "--icu-locale=en-US", "-T", "template0", DATABASE];
        let created = server.create_database(&of_a_language);
        created.or_else(|_| server.create_database(&[DATABASE])).unwrap();
        Some(server)
    }

    /// Gives it the time of hundreds of tests.
    pub fn serves_many_tests(&mut self) {
        self.limit = TimeLimit::of_many_tests();
    }

    /// The address of its database, as a host of this name.
    #[must_use]
    pub fn address(&self, host: &str) -> String {
        format!("postgres://postgres@{host}:{}/{DATABASE}", self.port)
    }

    fn create_database(&self, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(self.programs.client("createdb"));
        command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &self.port.to_string()]);
        run(command.args(arguments))
    }

    /// Runs statements in its database.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    pub fn sql(&self, text: &str) {
        let psql = self.programs.bin.join("psql");
        let address = self.address("127.0.0.1");
        run(Command::new(psql).args(["-q", "-v", "ON_ERROR_STOP=1", "-d", &address, "-c", text]))
            .unwrap();
    }

    /// Ends the server, and starts it again as a standby, which only reads.
    ///
    /// # Panics
    ///
    /// If it does not start again.
    pub fn become_standby(&mut self) {
        self.quit();
        let signal = self.dir.path().join("data").join("standby.signal");
        std::fs::write(&signal, "").unwrap();
        self.programs.give(&signal);
        self.start_again();
    }

    /// Starts the server again that was ended, on the same port.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        let data = self.dir.path().join("data");
        self.child = serve(&self.programs, &data, self.port, (&self.settings, &self.log));
    }

    /// Ends the server at once, as if it crashed.
    pub fn quit(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(Pid::from_child(&self.child), Signal::QUIT);
        let _ = self.child.wait();
    }
}

/// Where tests get places of their own: a server that runs, or one that this process starts.
#[derive(Debug)]
pub struct PostgresPlaces {
    address: String,
    psql: PathBuf,
    _own: Option<PostgresServer>,
}

#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
impl PostgresPlaces {
    /// The server that the environment names, or one of this process. `None`, and a line that says so, where
    /// none is installed.
    ///
    /// # Panics
    ///
    /// As [`PostgresServer::start`].
    #[must_use]
    pub fn find() -> Option<Self> {
        if let Some(other) = Self::other() {
            return Some(other);
        }
        let own = PostgresServer::start()?;
        let (address, psql) = (own.address("127.0.0.1"), own.programs.client("psql"));
        Some(Self { address, psql, _own: Some(own) })
    }

    /// The server that the environment names.
    ///
    /// # Panics
    ///
    /// If no programs of PostgreSQL are installed.
    #[must_use]
    pub fn other() -> Option<Self> {
        let address = variable(OTHER)?;
        let psql = Programs::find().unwrap().client("psql");
        Some(Self { address, psql, _own: None })
    }

    /// The address of an empty place: a schema that nothing else uses.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[must_use]
    pub fn place(&self) -> String {
        let name = format!("test_{:016x}", getrandom::u64().unwrap());
        let create = format!("CREATE SCHEMA {name}");
        run(Command::new(&self.psql).args(["-q", "-d", &self.address, "-c", &create])).unwrap();
        format!("{}?options=-csearch_path%3D{name}", self.address)
    }
}

/// Runs a program to its end; an error is what it says.
fn run(command: &mut Command) -> Result<(), String> {
    let ran = command.output().map_err(|error| error.to_string())?;
    if ran.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&ran.stderr).into_owned())
    }
}

/// Says why a test does nothing; with `REQUIRE_ALL=1`, that is a failure.
///
/// # Panics
///
/// With `REQUIRE_ALL=1`.
pub fn skip(why: &str) {
    assert!(variable("REQUIRE_ALL").as_deref() != Some("1"), "{why}");
    let _ = writeln!(std::io::stderr(), "skip PostgreSQL: {why}");
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.quit();
        if thread::panicking() {
            let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            let shown = log.len().saturating_sub(LINES_SHOWN);
            for line in log.iter().skip(shown) {
                let _ = writeln!(std::io::stderr(), "PostgreSQL: {line}");
            }
        }
    }
}

#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
impl Programs {
    fn find() -> Result<Self, String> {
        let mut places = variable(BIN).map(PathBuf::from).into_iter().chain(installed());
        let bin = places.find(|bin| bin.join("postgres").exists() && bin.join("initdb").exists());
        let bin =
            bin.ok_or_else(|| format!("PostgreSQL is not installed, and {BIN} names none"))?;
        if !geteuid().is_root() {
            return Ok(Self { bin, user: None });
        }
        let id = |what| {
            let found = Command::new("id").args([what, "postgres"]).output().ok()?;
            String::from_utf8(found.stdout).ok()?.trim().parse::<u32>().ok()
        };
        let user = id("-u").zip(id("-g"));
        let has_setpriv = Command::new("setpriv").arg("--version").output().is_ok();
        match user.filter(|_| has_setpriv) {
            Some(user) => Ok(Self { bin, user: Some(user) }),
            None => Err(
                "PostgreSQL does not run as root, and there is no user `postgres` or no `setpriv`"
                    .into(),
            ),
        }
    }

    /// A program that asks the server, of another version if its own folder has none.
    fn client(&self, name: &str) -> PathBuf {
        let mut folders = std::iter::once(self.bin.clone()).chain(installed());
        let found = folders.find_map(|folder| Some(folder.join(name)).filter(|it| it.exists()));
        found.unwrap_or_else(|| name.into())
    }

    /// Gives a directory to the user as which the programs run.
    fn give(&self, dir: &Path) {
        if let Some((user, group)) = self.user {
            chown(dir, Some(user), Some(group)).unwrap();
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={group}"));
                // The server ends with the test, however that ends.
                command.args(["--clear-groups", "--pdeathsig=QUIT", "--"]).arg(program);
                command
            }
        };
        command.current_dir("/").stdin(Stdio::null());
        command
    }
}

/// The folders in which systems have a server, the newest version first.
fn installed() -> impl Iterator<Item = PathBuf> {
    VERSIONS.iter().flat_map(|version| {
        PLACES.iter().map(move |place| PathBuf::from(place.replace("{}", &version.to_string())))
    })
}

/// Starts the server on a data directory, and waits until it can be used.
fn serve(
    programs: &Programs,
    data: &Path,
    port: u16,
    (settings, log): (&[String], &Arc<Mutex<Vec<String>>>),
) -> Child {
    let mut command = programs.command(&programs.bin.join("postgres"));
    command.arg("-D").arg(data).arg("-p").arg(port.to_string());
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    start_until(READY, &mut command, log)
}

/// Starts a program, keeps what it logs, and waits until that has a text.
#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
fn start_until(text: &'static str, command: &mut Command, log: &Arc<Mutex<Vec<String>>>) -> Child {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (ready, is_ready) = channel();
    let (errors, kept) = (child.stderr.take().unwrap(), log.clone());
    let keep = move |errors: ChildStderr| {
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            if line.contains(text) {
                // Whoever waited may have gone.
                let _ = ready.send(());
            }
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        drop(ready);
    };
    thread::spawn(move || keep(errors));
    // If the program ends before it is ready, so does its log.
    let is_ready = is_ready.recv().is_ok();
    assert!(is_ready, "{command:?} has not started: {:?}, {log:?}", child.wait());
    child
}

/// A PgBouncer in front of a server, which gives a connection to one transaction after another.
#[derive(Debug)]
pub struct PgBouncer {
    child: Child,
    port: u16,
    _dir: TempDir,
}

#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
impl PgBouncer {
    /// Starts it. `None`, and a line that says so, where it is not installed.
    ///
    /// # Panics
    ///
    /// If it does not start; or, with `REQUIRE_ALL=1`, if it is not installed.
    #[must_use]
    pub fn start(server: &PostgresServer) -> Option<Self> {
        let mut programs = BOUNCERS.iter().map(PathBuf::from);
        let Some(program) = programs.find(|program| program.exists()) else {
            skip("PgBouncer is not installed");
            return None;
        };
        let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
        let [settings, users] = ["settings", "users"].map(|name| dir.path().join(name));
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 10\n",
            server.port,
            users.display(),
        );
        for (path, text) in [(&settings, text.as_str()), (&users, "\"postgres\" \"\"\n")] {
            std::fs::write(path, text).unwrap();
            server.programs.give(path);
        }
        server.programs.give(dir.path());
        let log = Arc::default();
        let mut command = server.programs.command(&program);
        let child = start_until("process up", command.arg(&settings), &log);
        Some(Self { child, port, _dir: dir })
    }

    /// The address of a database of the server, through this.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::unwrap_used, reason = "a test says what it expects by panicking")]
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[expect(clippy::disallowed_methods, reason = "a test has no other way to be told")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
