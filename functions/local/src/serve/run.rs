//! One run of `serve`: builds the parts, starts the tasks, waits for a signal, and shuts down.

use std::io::{self, IsTerminal as _, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use minutehand_recurrence::zone;
use minutehand_rest::{Access, BuildInfo, Rest, Scheme};
use minutehand_runtime::start_log;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::args::ServeRole;
use super::beat::beat;
use super::build_info::{COMMIT, VERSION};
use super::console::with_console;
use super::expire::expire;
use super::files::FileShares;
use super::first_job::first_job;
use super::http::{Clients, ServerTls, listen, prepare_tls};
use super::live::follow_others;
use super::mcp::with_tools;
use super::parts::Parts;
use super::places::SharedPlaces;
use super::secrets::{CERTIFICATES, GeneratedToken, Kind, TOKENS, WatchedFile, access_of};
use super::settings::{Auth, ServeSettings, Tls};
use super::signals::Signals;
use super::signs::sign;
use super::state_count::count_states;
use super::sweep::{Sweeping, sweep};
use super::tasks::Tasks;
use super::worker::work;
use crate::archive::Archiver;
use crate::data_dir::DataDir;
use crate::zones::TakenZones;

/// How long the store may take to close. With the time to cancel tasks it stays below the three
/// seconds within which the process promises to exit after `--drain`.
const CLOSING_MAX: Duration = Duration::from_secs(2);

/// Connections that may wait to be accepted. A client beyond them tries again after a second, so a burst
/// of others would hold it up.
const BACKLOG: u32 = 4_096;

/// An address to try if the port is in use: port 0 takes a free one.
const LISTEN_HINT: &str = "127.0.0.1:0";

/// Serves until a signal ends the process.
///
/// # Errors
///
/// If the server cannot start, or stops for another reason than a signal.
pub fn serve(settings: ServeSettings) -> Result<()> {
    serve_beside(settings, |_, _| ())
}

/// As [`serve`], and once the server listens, `start` may start tasks beside those of the server.
pub(super) fn serve_beside(
    settings: ServeSettings,
    start: impl FnOnce(SocketAddr, &mut Tasks),
) -> Result<()> {
    start_log(settings.log, settings.log_level);
    // Before anything looks up a zone.
    if let Some(dir) = &settings.zones {
        TakenZones::take(dir)?.log();
    }
    let files = FileShares::claim();
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let ended = threads.block_on(run(settings, files, start));
    // Tasks had their time to stop; whatever still runs must not delay the exit.
    threads.shutdown_background();
    ended
}

async fn run(
    settings: ServeSettings,
    files: FileShares,
    start: impl FnOnce(SocketAddr, &mut Tasks),
) -> Result<()> {
    let mut signals = Signals::install().context("cannot handle signals")?;
    // The port comes first: a start that fails for it leaves nothing behind.
    let listener = bind(&settings)?;
    let parts = Parts::open(&settings).await?;
    parts.forget_secrets(&settings).await?;
    let archiver = open_archive(&parts, &settings).await?;
    if let Some(dir) = &parts.home.dir {
        let new = if dir.is_new { "new data directory" } else { "data" };
        print_line(&format!("{new}: {}", dir.path().display()));
    }
    let (mut tasks, drain) = (Tasks::new(), settings.drain);
    if let Some(peers) = &parts.condition.peers {
        print_line(&format!("database: shared, as process {}", peers.name));
        tasks.start_dropped("peers", peers.clone().watch(parts.clock.clone()));
    }
    if let Some(url) = settings.heartbeat.clone() {
        tasks.start_dropped("heartbeat", parts.watcher(url).ping());
    }
    if settings.roles.contains(&ServeRole::Api) {
        // Before any worker asks who was there.
        parts.presence.begin().await.context("cannot note that the API begins")?;
        let (presence, clock) = (parts.presence.clone(), parts.clock.clone());
        tasks.start("signs", |stop| sign(presence, clock, stop));
    }
    start_firing(&parts, &settings, archiver, files, &mut tasks)?;
    let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let _tls = start_api(&parts, settings, listener, files.connections, &mut tasks)?;
    if let Some(address) = address {
        start(address, &mut tasks);
    }
    let ended = run_until_shutdown(tasks, drain, &parts, &mut signals).await;
    let closed = timeout(CLOSING_MAX, parts.home.close()).await;
    ended?;
    closed.context("the store did not close in time")?;
    tracing::info!("stopped");
    Ok(())
}

/// The archive, if there is one.
async fn open_archive(parts: &Parts, settings: &ServeSettings) -> Result<Option<Archiver>> {
    let Some(objects) = settings.archive.clone() else {
        return Ok(None);
    };
    let dir = parts.home.dir.as_ref().map(DataDir::path);
    let mut archiver = Archiver::open(objects, dir, parts.ids.new_id(), settings.history).await?;
    archiver.backups = parts.backups(settings);
    Ok(Some(archiver))
}

/// Starts the executor, the sweeper, and the archive with its backups and the removal of expired history.
fn start_firing(
    parts: &Parts,
    settings: &ServeSettings,
    archiver: Option<Archiver>,
    files: FileShares,
    tasks: &mut Tasks,
) -> Result<()> {
    let clock = || parts.clock.clone();
    if settings.roles.contains(&ServeRole::Executor) {
        let (worker, heartbeat) = parts.worker(settings, files.idle)?;
        tasks.start_dropped("pulse", beat(heartbeat, clock()));
        let queue = Arc::new(parts.queue.clone());
        let places = SharedPlaces::new(files.attempts, clock());
        let places = parts.places.get_or_init(|| places).clone();
        tasks.start("executor", |stop| work(queue, worker, places, clock(), stop));
    }
    if settings.roles.contains(&ServeRole::Sweeper) {
        let (sweeper, changes) = (parts.sweeper(), parts.timer_changes.clone());
        let condition = parts.condition.clone();
        let lease = parts.sweep_lease();
        let sweeping = Sweeping { sweeper, changes, condition, lease };
        tasks.start("sweeper", |stop| sweep(sweeping, clock(), stop));
        let jobs = parts.jobs.clone();
        let queue = (parts.queue.clone(), settings.history);
        if let Some(archiver) = &archiver {
            parts.condition.note_archive(archiver.health.clone());
        }
        tasks.start_dropped("expiry", expire(jobs, queue, archiver, clock()));
    }
    Ok(())
}

/// Opens the port; `None` if this process does not run the API. Connections wait until it is served.
fn bind(settings: &ServeSettings) -> Result<Option<TcpListener>> {
    if !settings.roles.contains(&ServeRole::Api) {
        return Ok(None);
    }
    let listener = open_port(settings.listen).map_err(|error| {
        let address = settings.listen;
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "another program uses the port: stop it, or try --listen",
            io::ErrorKind::AddrNotAvailable => {
                "this machine does not have the address: try --listen"
            }
            _ => "try --listen",
        };
        anyhow!(
            "cannot listen on {address}: {error}; {hint} with another one, such as {LISTEN_HINT}"
        )
    })?;
    Ok(Some(listener))
}

fn open_port(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Otherwise connections of an earlier process would keep the port for a minute.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves the API and prints its address, which is the last line on standard output.
///
/// The caller keeps the returned value while the server runs: it may own a temporary file with the
/// certificate.
fn start_api(
    parts: &Parts,
    settings: ServeSettings,
    listener: Option<TcpListener>,
    connections_max: usize,
    tasks: &mut Tasks,
) -> Result<Option<ServerTls>> {
    let Some(listener) = listener else {
        print_line("running without the API: no port is open");
        return Ok(None);
    };
    let clients = match &settings.certificates {
        Some(_) => Clients::Asked,
        None => Clients::Anonymous,
    };
    let mut tls = prepare_tls(&settings.tls, settings.listen, parts.home.dir.as_ref(), clients)?;
    if let Some(files) = tls.as_mut().and_then(|tls| tls.files.take()) {
        tasks.start_dropped("certificate", files.watch());
    }
    let (scheme, shown) = match &tls {
        Some(_) => (Scheme::Https, "https"),
        None => (Scheme::Http, "http"),
    };
    let manage = parts.manage(&settings)?;
    let certificates = settings.certificates;
    let certificates = certificates
        .map(|path| watched(path, CERTIFICATES, "certificates", tasks))
        .transpose()?
        .unwrap_or_default();
    let (access, made) = tokens(settings.auth, parts.home.dir.as_ref(), tasks)?;
    let api = minutehand_rest::router(Rest {
        manage,
        clock: parts.clock.clone(),
        ids: parts.ids.clone(),
        access,
        certificates,
        scheme,
        build: build_info(parts.store()),
        readiness: parts.condition.clone(),
        metrics: Some(Arc::new(parts.page())),
        live: Some(parts.live.clone()),
        home: minutehand_rest::Home::Machine,
    });
    let api = with_console(with_tools(api));
    let address = listener.local_addr().context("cannot read the listening address")?;
    if let Some(note) = tls.as_ref().and_then(|tls| tls.note.as_ref()) {
        print_line(note);
    }
    let (jobs, count, clock) = (parts.jobs.clone(), parts.state_count.clone(), parts.clock.clone());
    tasks.start_dropped("count", count_states(jobs, count, clock));
    if parts.condition.peers.is_some() {
        let (jobs, live, clock) = (parts.jobs.clone(), parts.live.clone(), parts.clock.clone());
        tasks.start_dropped("others", follow_others(jobs, live, clock));
    }
    let acceptor = tls.as_ref().map(|tls| tls.acceptor.clone());
    tasks.start("api", |stop| listen(listener, acceptor, api, connections_max, stop));
    tracing::info!(%address, "listening");
    print_line(&console_line(shown, address, made.as_ref().map(|token| token.as_str())));
    print_first_job(parts, &url_of(shown, address), made.is_some(), &settings.tls);
    print_line(&format!("listening on {shown}://{address}"));
    Ok(tls)
}

/// Waits for a signal or a failed task, then stops all tasks, and cancels those that are left after
/// `drain`. A second signal cancels them at once.
async fn run_until_shutdown(
    mut tasks: Tasks,
    drain: Duration,
    Parts { under_way, live, .. }: &Parts,
    signals: &mut Signals,
) -> Result<()> {
    let failed = tokio::select! {
        signal = signals.next() => {
            let (actions, seconds) = (under_way.count(), drain.as_secs());
            tracing::info!(signal, actions, seconds, "shutting down: waiting for actions under way");
            None
        }
        error = tasks.failed() => Some(error),
    };
    // They would keep their connections open.
    live.close();
    let hurried = tokio::select! {
        // A timeout is not an error: otherwise a client that sends half a request could cause one.
        has_ended = tasks.stop(drain) => {
            if !has_ended {
                log_interrupted(under_way.count(), "the time of --drain is over");
            }
            None
        }
        signal = signals.next_urgent() => {
            log_interrupted(under_way.count(), "a second signal stops the server immediately");
            Some(signal)
        }
    };
    tasks.cancel_all().await;
    match (hurried, failed) {
        (Some(signal), _) => bail!("stopped immediately by a second signal, {signal}"),
        (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}

/// Says what becomes of the actions that are cut off.
fn log_interrupted(actions: usize, why: &str) {
    if actions == 0 {
        tracing::warn!("{why}: closing the remaining connections; no action is interrupted");
    } else {
        tracing::warn!(
            actions,
            "{why}: interrupting actions; they will be sent again at the next start"
        );
    }
}

/// Tells a person who starts a server for the first time how to go on.
fn print_first_job(parts: &Parts, url: &str, has_token: bool, tls: &Tls) {
    if let Some(dir) = parts.home.dir.as_ref().filter(|dir| dir.is_new)
        && io::stdout().is_terminal()
    {
        let is_self_signed = matches!(tls, Tls::SelfSigned(_));
        print_line(&first_job(url, dir.path(), has_token, is_self_signed));
    }
}

/// Where a browser finds the console. A token that this start has made comes with it, in the part of
/// the address that a browser sends to no server.
fn console_line(scheme: &str, address: SocketAddr, made: Option<&str>) -> String {
    let token = made.map_or_else(String::new, |token| format!("#token={token}"));
    format!("console: {}/console/{token}", url_of(scheme, address))
}

/// The URL by which a program on this machine reaches an address.
pub(super) fn url_of(scheme: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("{scheme}://localhost:{}", address.port())
    } else {
        format!("{scheme}://{address}")
    }
}

/// The tokens that give access, and the one that this start has made.
type Tokens = (Arc<RwLock<Access>>, Option<Zeroizing<String>>);

/// The tokens that give access. A token file is watched for changes from here on.
fn tokens(auth: Auth, dir: Option<&DataDir>, tasks: &mut Tasks) -> Result<Tokens> {
    let (access, made) = match auth {
        Auth::Open => (Access::ThisMachine, None),
        Auth::Token(token) => (access_of(&token), None),
        Auth::Generated => {
            let GeneratedToken { access, note, made } = GeneratedToken::load_or_create(dir)?;
            print_line(&note);
            (access, made)
        }
        Auth::File(path) => return Ok((watched(path, TOKENS, "tokens", tasks)?, None)),
    };
    Ok((Arc::new(RwLock::new(access)), made))
}

/// What a file says of callers. The file is watched for changes from here on.
fn watched<T: Send + Sync + 'static>(
    path: PathBuf,
    kind: Kind<T>,
    task: &'static str,
    tasks: &mut Tasks,
) -> Result<Arc<RwLock<T>>> {
    let (file, content) = WatchedFile::open(path, kind)?;
    let content = Arc::new(RwLock::new(content));
    tasks.start_dropped(task, file.watch(content.clone()));
    Ok(content)
}

fn build_info(store: String) -> BuildInfo {
    BuildInfo {
        version: VERSION.to_owned(),
        commit: COMMIT.to_owned(),
        store,
        time_zones: zone::database_version().to_owned(),
        time_zones_date: zone::database_date(),
    }
}

/// Prints a line for the user. A closed standard output does not stop the server.
pub(super) fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
