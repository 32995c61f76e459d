//! One run of `serve`: builds the parts, starts the tasks, waits for a signal, and shuts down.

use std::io::{self, Write};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rest::{Access, BuildInfo, Rest, Scheme};
use runtime::start_log;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::build_info::BUILD;
use super::expire::expire;
use super::files::FileShares;
use super::http::{ServerTls, listen, prepare_tls};
use super::parts::Parts;
use super::secrets::{GeneratedToken, TokenFile, access_of};
use super::settings::{Auth, ServeSettings};
use super::signals::Signals;
use super::sweep::sweep;
use super::tasks::Tasks;
use super::worker::work;

/// How long tasks may take to stop. Together with [`CLOSING_MAX`] it stays below the ten seconds
/// within which the process promises to exit.
const STOPPING_MAX: Duration = Duration::from_secs(7);
/// How long the store may take to close.
const CLOSING_MAX: Duration = Duration::from_secs(2);

/// Serves until a signal ends the process.
///
/// # Errors
///
/// If the server cannot start, or stops for another reason than a signal.
pub fn serve(settings: ServeSettings) -> Result<()> {
    start_log(settings.log, settings.log_level);
    let files = FileShares::claim();
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let ended = threads.block_on(run(settings, files));
    // Tasks had their time to stop; whatever still runs must not delay the exit.
    threads.shutdown_background();
    ended
}

async fn run(settings: ServeSettings, files: FileShares) -> Result<()> {
    let mut signals = Signals::install().context("cannot handle signals")?;
    let parts = Parts::open(&settings).await?;
    if let Some(dir) = &parts.dir {
        print_line(&format!("data: {}", dir.path().display()));
    }
    let mut tasks = Tasks::new();
    start_firing(&parts, &settings, files, &mut tasks)?;
    let _tls = start_api(&parts, settings, files.connections, &mut tasks).await?;
    let ended = run_until_shutdown(tasks, &mut signals).await;
    let closed = timeout(CLOSING_MAX, parts.close()).await;
    ended?;
    closed.context("the store did not close in time")?;
    tracing::info!("stopped");
    Ok(())
}

/// Starts the executor, the sweeper, and the removal of expired history.
fn start_firing(
    parts: &Parts,
    settings: &ServeSettings,
    files: FileShares,
    tasks: &mut Tasks,
) -> Result<()> {
    let clock = || parts.clock.clone();
    if settings.roles.executor {
        let (queue, worker) = (parts.queue.clone(), parts.worker(settings, files.idle)?);
        tasks.start("executor", |stop| work(queue, worker, files.attempts, clock(), stop));
    }
    if settings.roles.sweeper {
        let (sweeper, changes) = (parts.sweeper(), parts.timer_changes());
        tasks.start("sweeper", |stop| sweep(sweeper, clock(), changes, stop));
        let jobs = parts.jobs.clone();
        tasks.start("expiry", |stop| expire(jobs, clock(), stop));
    }
    Ok(())
}

/// Opens the port and prints its address, which is the last line on standard output.
///
/// The caller keeps the returned value while the server runs: it may own a temporary file with the
/// certificate.
async fn start_api(
    parts: &Parts,
    settings: ServeSettings,
    connections_max: usize,
    tasks: &mut Tasks,
) -> Result<Option<ServerTls>> {
    let tls = prepare_tls(&settings.tls, settings.listen, parts.dir.as_ref())?;
    if !settings.roles.api {
        print_line("running without the API: no port is open");
        return Ok(tls);
    }
    let (scheme, shown) = match &tls {
        Some(_) => (Scheme::Https, "https"),
        None => (Scheme::Http, "http"),
    };
    let api = rest::router(Rest {
        manage: parts.manage(&settings),
        clock: parts.clock.clone(),
        ids: parts.ids.clone(),
        access: access(settings.auth, parts.dir.as_ref(), tasks)?,
        scheme,
        build: build_info(),
        metrics: Some(Arc::new(parts.page())),
    });
    let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
        anyhow!("cannot listen on {}: {error}; choose another with --listen", settings.listen)
    })?;
    let address = listener.local_addr().context("cannot read the listening address")?;
    if let Some(note) = tls.as_ref().and_then(|tls| tls.note.as_ref()) {
        print_line(note);
    }
    let acceptor = tls.as_ref().map(|tls| tls.acceptor.clone());
    tasks.start("api", |stop| listen(listener, acceptor, api, connections_max, stop));
    tracing::info!(%address, "listening");
    print_line(&format!("listening on {shown}://{address}"));
    Ok(tls)
}

/// Waits for a signal or a failed task, then stops all tasks. A second signal cancels them at once.
async fn run_until_shutdown(mut tasks: Tasks, signals: &mut Signals) -> Result<()> {
    let failed = tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "shutting down");
            None
        }
        error = tasks.failed() => Some(error),
    };
    tokio::select! {
        () = tasks.stop(STOPPING_MAX) => {}
        signal = signals.next() => {
            tasks.cancel_all().await;
            bail!("stopped immediately by a second signal, {signal}");
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The tokens that give access. A token file is watched for changes from here on.
fn access(
    auth: Auth,
    dir: Option<&embedded::DataDir>,
    tasks: &mut Tasks,
) -> Result<Arc<RwLock<Access>>> {
    let access = match auth {
        Auth::Open => Access::Open,
        Auth::Token(token) => access_of(&token),
        Auth::Generated => {
            let token = GeneratedToken::load_or_create(dir)?;
            print_line(&token.note);
            token.access
        }
        Auth::File(path) => {
            let (file, access) = TokenFile::open(path)?;
            let access = Arc::new(RwLock::new(access));
            tasks.start("tokens", |stop| file.watch(access.clone(), stop));
            return Ok(access);
        }
    };
    Ok(Arc::new(RwLock::new(access)))
}

fn build_info() -> BuildInfo {
    BuildInfo {
        version: BUILD.version.to_owned(),
        commit: BUILD.commit.to_owned(),
        store: BUILD.store.to_owned(),
        time_zones: recurrence::zone::database_version().to_owned(),
    }
}

/// Prints a line for the user. A closed standard output does not stop the server.
fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
