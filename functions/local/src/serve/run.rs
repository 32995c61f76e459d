//! A run: everything is put together, runs until a signal, and is closed in good order.

use std::io::{self, Write};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rest::{Access, BuildInfo, Rest, Scheme};
use runtime::start_log;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::expire::expire;
use super::listen::listen;
use super::parts::Parts;
use super::settings::{Auth, ServeSettings};
use super::signals::Signals;
use super::sweep::sweep;
use super::tasks::Tasks;
use super::tls::{Protection, protect};
use super::token::{self, TokenFile};
use super::work::work;

/// How long tasks may take to stop. Together with the next one, less than the ten seconds in which
/// the process ends.
const STOPPING_MAX: Duration = Duration::from_secs(7);
/// How long the store may take to close.
const CLOSING_MAX: Duration = Duration::from_secs(2);

/// What this program was built from.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The version.
    pub version: &'static str,
    /// The commit.
    pub commit: &'static str,
    /// The store and its version.
    pub store: &'static str,
}

/// What this program was built from.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: env!("MINUTEHAND_COMMIT"),
    store: env!("MINUTEHAND_STORE"),
};

/// Serves until a signal ends it.
///
/// # Errors
///
/// If it cannot start, or had to end for another reason than a signal.
pub fn serve(settings: ServeSettings) -> Result<()> {
    start_log(settings.log, settings.log_level);
    let system = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let ended = system.block_on(run(settings));
    // What has not ended by now was given its time.
    system.shutdown_background();
    ended
}

async fn run(settings: ServeSettings) -> Result<()> {
    let mut signals = Signals::hear().context("cannot hear signals")?;
    let parts = Parts::open(&settings).await?;
    if let Some(dir) = &parts.dir {
        say(&format!("data: {}", dir.path().display()));
    }
    let mut tasks = Tasks::new();
    start_firing(&parts, &settings, &mut tasks)?;
    let _protection = start_api(&parts, settings, &mut tasks).await?;
    let ended = until_ended(tasks, &mut signals).await;
    let closed = timeout(CLOSING_MAX, parts.close()).await;
    ended?;
    closed.context("the store did not close in time")?;
    tracing::info!("ended");
    Ok(())
}

/// Starts what finds what is due, and what performs it.
fn start_firing(parts: &Parts, settings: &ServeSettings, tasks: &mut Tasks) -> Result<()> {
    let clock = || parts.clock.clone();
    if settings.roles.executor {
        let (queue, executor) = (parts.queue.clone(), parts.executor(settings)?);
        tasks.start("executor", |stop| work(queue, executor, clock(), stop));
    }
    if settings.roles.sweeper {
        let (sweeper, changes) = (parts.sweeper(), parts.timer_changes());
        tasks.start("sweeper", |stop| sweep(sweeper, clock(), changes, stop));
        let jobs = parts.jobs.clone();
        tasks.start("expiry", |stop| expire(jobs, clock(), stop));
    }
    Ok(())
}

/// Listens, and says where: the last line that is said.
///
/// What it returns is kept for as long as it listens: a certificate may be in a file until then.
async fn start_api(
    parts: &Parts,
    settings: ServeSettings,
    tasks: &mut Tasks,
) -> Result<Option<Protection>> {
    let protection = protect(&settings.tls, settings.listen, parts.dir.as_ref())?;
    if !settings.roles.api {
        say("running without the API: nothing listens");
        return Ok(protection);
    }
    let (scheme, shown) = match &protection {
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
    let listener = TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("cannot listen on {}", settings.listen))?;
    let address = listener.local_addr().context("cannot tell where it listens")?;
    if let Some(note) = protection.as_ref().and_then(|protection| protection.note.as_ref()) {
        say(note);
    }
    let tls = protection.as_ref().map(|protection| protection.acceptor.clone());
    tasks.start("api", |stop| listen(listener, tls, api, stop));
    tracing::info!(%address, "listening");
    say(&format!("listening on {shown}://{address}"));
    Ok(protection)
}

/// Runs until a signal or a failure, then stops what runs. A second signal does not wait for that.
async fn until_ended(mut tasks: Tasks, signals: &mut Signals) -> Result<()> {
    let failed = tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "ending");
            None
        }
        error = tasks.failed() => Some(error),
    };
    tokio::select! {
        () = tasks.stop(STOPPING_MAX) => {}
        signal = signals.next() => {
            tasks.drop_all().await;
            bail!("ended at once by a second signal, {signal}");
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Who may call; a file of tokens is watched from here on.
fn access(
    auth: Auth,
    dir: Option<&embedded::DataDir>,
    tasks: &mut Tasks,
) -> Result<Arc<RwLock<Access>>> {
    let access = match auth {
        Auth::Open => Access::Open,
        Auth::Token(token) => token::access_of(&token),
        Auth::Generated => {
            let token = token::generated(dir)?;
            say(&token.note);
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

/// A line for the user. Whoever does not read it has no use for it.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
