//! A run: everything is put together, runs until a signal, and is closed in good order.

use std::io::{self, Write};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use actions::Actions;
use anyhow::{Context, Result, bail};
use app::fire::{Dispatcher, Executor, FirePorts, FireSettings, Process, Sweeper};
use app::{Manage, ManagePorts};
use ports::{Clock, DispatchQueue, IdSource};
use rest::{Access, BuildInfo, Rest, Scheme};
use runtime::{
    Grouped, Metrics, PfxReader, RandomIds, SystemClock, TestClock, start_log, system_now,
};
use store_dynamodb::{DynamoJobStore, Groups, ensure_table};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::home::Home;
use super::listen::listen;
use super::settings::{Auth, Settings};
use super::signals::Signals;
use super::sweep::sweep;
use super::tasks::Tasks;
use super::tls::protect;
use super::token::{self, TokenFile};
use super::work::work;

/// The one table of the store.
const TABLE: &str = "minutehand";
/// The location of collections that name none.
const REGION: &str = "local";
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
pub fn serve(settings: Settings) -> Result<()> {
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

async fn run(settings: Settings) -> Result<()> {
    let mut signals = Signals::hear().context("cannot hear signals")?;
    let clock = clock(&settings);
    let home = Home::open(&settings.storage, clock.clone())?;
    ensure_table(&home.store.client(), TABLE).await.context("cannot create the table")?;
    if let Some(path) = home.path() {
        say(&format!("data: {}", path.display()));
    }
    let mut tasks = Tasks::new();
    let Home { dir, sealer, store, queue } = home;
    let ids: Arc<dyn IdSource> = Arc::new(RandomIds);
    // One commit for what comes together: here a commit is the price, and not a write.
    let jobs = DynamoJobStore::new(store.client(), TABLE).with_groups(Groups::Transactions);
    let jobs = Arc::new(jobs);
    let firing = Arc::new(Grouped::new(jobs.clone()));
    let messages: Arc<dyn DispatchQueue> = Arc::new(queue.clone());
    let sealer = Arc::new(sealer);
    let metrics = Arc::new(Metrics::default());
    let process = Process { id: ids.new_id(), started_at: clock.now() };
    let dispatcher = |store| {
        let process = Some(process.clone());
        Dispatcher::new(store, messages.clone(), metrics.clone(), clock.clone(), process)
    };
    let manage = Manage::new(
        ManagePorts {
            store: jobs.clone(),
            firing: firing.clone(),
            queue: messages.clone(),
            dispatcher: dispatcher(firing.clone()),
            sealer: sealer.clone(),
            certificates: Arc::new(PfxReader),
            clock: clock.clone(),
            ids: ids.clone(),
        },
        app::Settings { region: REGION.to_owned(), plan_limits: settings.plan_limits },
    );
    if settings.roles.executor {
        let ports = FirePorts {
            store: firing.clone(),
            queue: messages.clone(),
            sender: Arc::new(actions(&settings)?),
            sealer,
            events: metrics.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
        };
        let fire = FireSettings {
            region: REGION.to_owned(),
            is_quiet: false,
            only_process: Some(process.clone()),
        };
        let executor = Executor::new(ports, fire);
        let queue = queue.clone();
        let clock = clock.clone();
        tasks.start("executor", |stop| work(queue, executor, clock, stop));
    }
    if settings.roles.sweeper {
        // Past the groups: a pass moves a page of timers at once, and need not wake itself.
        let sweeper = Sweeper::new(jobs.clone(), dispatcher(jobs.clone()), clock.clone());
        let (clock, advanced) = (clock.clone(), firing.advanced());
        tasks.start("sweeper", |stop| sweep(sweeper, clock, advanced, stop));
    }

    let protection = protect(&settings.tls, settings.listen, dir.as_ref())?;
    if settings.roles.api {
        let scheme = if protection.is_some() { Scheme::Https } else { Scheme::Http };
        let access = access(settings.auth, dir.as_ref(), &mut tasks)?;
        let api = rest::router(Rest { manage, clock, ids, access, scheme, build: build_info() });
        let listener = TcpListener::bind(settings.listen)
            .await
            .with_context(|| format!("cannot listen on {}", settings.listen))?;
        let address = listener.local_addr().context("cannot tell where it listens")?;
        if let Some(note) = protection.as_ref().and_then(|protection| protection.note.as_ref()) {
            say(note);
        }
        let tls = protection.as_ref().map(|protection| protection.acceptor.clone());
        tasks.start("api", |stop| listen(listener, tls, api, stop));
        let scheme = if protection.is_some() { "https" } else { "http" };
        tracing::info!(%address, "listening");
        say(&format!("listening on {scheme}://{address}"));
    } else {
        say("running without the API: nothing listens");
    }

    let ended = until_ended(tasks, &mut signals).await;
    let closing = async {
        queue.close().await;
        store.close().await;
    };
    let closed = timeout(CLOSING_MAX, closing).await;
    ended?;
    closed.context("the store did not close in time")?;
    tracing::info!("ended");
    Ok(())
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
        signal = signals.next() => bail!("ended at once by a second signal, {signal}"),
    }
    failed.map_or(Ok(()), Err)
}

fn clock(settings: &Settings) -> Arc<dyn Clock> {
    match settings.clock {
        None => Arc::new(SystemClock),
        Some(clock) => Arc::new(TestClock::new(clock.start.unwrap_or_else(system_now), clock.rate)),
    }
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

fn actions(settings: &Settings) -> Result<Actions> {
    let mut wanted = actions::Settings::new(settings.targets);
    wanted.user_agent = format!("minutehand/{}", BUILD.version);
    Actions::new(&wanted).context("cannot prepare to call targets")
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
