//! `minutehand demo`: a tour in one command. A server in memory, on a clock ten times as fast, with thirty
//! jobs that succeed, fail, retry, are late and behind; and the target that they call.
//!
//! It is `serve` with settings of its own. Beside it runs a task that creates the jobs by the API, as a user
//! would.

mod jobs;
mod target;

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use clap::Parser;
use minutehand_client::{Client, CollectionPath, GroupPath, Options, Precondition, ServerUrl};
use tokio::net::TcpListener;

use self::jobs::{COLLECTIONS, JOBS};
use super::args::{ServeArgs, address};
use super::run::{print_line, serve_beside, url_of};
use super::settings::ServeSettings;
use super::tasks::Tasks;
use crate::BadArguments;

/// How many times as fast as real time the clock runs.
const RATE: &str = "10";
/// The names that the command line and the console use if none are given.
const SUBSCRIPTION: &str = "me";
const GROUP: &str = "dev";

/// The examples in the help.
pub const DEMO_EXAMPLES: &str = "\
Examples:
  minutehand demo
  minutehand demo --listen 127.0.0.1:7171 --no-open

Everything is in memory and ends with the command. No token is needed, so it listens on this machine only. \
The other commands reach it as they reach any server: try `minutehand top` in another terminal.

Exit codes:
  0  stopped by a signal
  1  cannot start: the port is in use
  2  invalid argument";

/// The arguments of `minutehand demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Loopback address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070", value_parser = loopback)]
    listen: SocketAddr,
    /// Do not open the console in a browser
    #[arg(long)]
    no_open: bool,
}

/// `serve` as a command of its own: its arguments get their defaults by being parsed.
#[derive(Parser)]
struct Serve {
    #[command(flatten)]
    args: ServeArgs,
}

/// Runs the demo until a signal ends the process.
///
/// # Errors
///
/// If the server cannot start, or stops for another reason than a signal.
pub fn demo(args: &DemoArgs, environment: impl Fn(&str) -> Option<String>) -> Result<()> {
    let settings = settings(args.listen)?;
    let opens = !args.no_open && io::stdout().is_terminal();
    let browser = opens.then(|| browser(&environment)).flatten();
    print_line(&format!(
        "demo: {} jobs on a clock {RATE} times as fast; nothing is kept. Ctrl-C ends it",
        JOBS.len()
    ));
    serve_beside(settings, move |address, tasks| start(address, browser, tasks))
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = address(text)?;
    let why = "the demo asks for no token: give a loopback address, like 127.0.0.1:7171";
    address.ip().is_loopback().then_some(address).ok_or_else(|| why.to_owned())
}

fn settings(listen: SocketAddr) -> Result<ServeSettings> {
    let listen = listen.to_string();
    let words = ["demo", "--memory", "--no-auth", "--clock-rate", RATE, "--log-level", "error"];
    let words = words.into_iter().chain(["--listen", &listen]);
    let read = Serve::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        vec![first.trim_start_matches("error: ").to_owned()]
    });
    // The environment may hold a token or a database, which are for other servers.
    let settings = read.and_then(|serve| ServeSettings::read(&serve.args, |_| None));
    settings.map_err(|problems| BadArguments(problems).into())
}

fn start(address: SocketAddr, browser: Option<&'static str>, tasks: &mut Tasks) {
    tasks.start_dropped("demo", async move {
        if let Err(error) = play(address, browser).await {
            print_line(&format!("error: the demo is not complete: {error:#}"));
        }
        // The server goes on.
        std::future::pending::<()>().await;
    });
}

/// Creates the jobs, opens the console, and answers what the jobs call.
async fn play(address: SocketAddr, browser: Option<&str>) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for the target")?;
    let target = listener.local_addr().context("no address of the target")?;
    let url = url_of("http", address);
    let server = ServerUrl::parse(&url).map_err(anyhow::Error::msg)?;
    let client = Client::new(server, &Options::default())?;
    let answering = target::answer(listener);
    let seeding = async {
        seed(&client, target).await?;
        if let Some(browser) = browser {
            open(browser, &format!("{url}/console/"));
        }
        std::future::pending::<Result<()>>().await
    };
    tokio::select! {
        () = answering => Ok(()),
        seeded = seeding => seeded,
    }
}

async fn seed(client: &Client, target: SocketAddr) -> Result<()> {
    let place = GroupPath { subscription: SUBSCRIPTION.to_owned(), group: GROUP.to_owned() };
    let path = |name: &str| CollectionPath { place: place.clone(), collection: name.to_owned() };
    for (name, limits) in COLLECTIONS {
        let document = jobs::collection(*limits);
        client.put_collection(&path(name), &document, Precondition::Always).await?;
    }
    for wanted in JOBS {
        let job = path(wanted.collection).job(wanted.name);
        let document = jobs::document(wanted, target);
        client
            .put_job(&job, &document, Precondition::Always)
            .await
            .with_context(|| job.to_string())?;
    }
    Ok(())
}

/// The program that opens an address, where there is a screen for it.
fn browser(environment: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    let is_set = |name| environment(name).is_some_and(|value| !value.is_empty());
    ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set).then_some("xdg-open")
}

/// Opens an address. Without such a program nothing happens: the address is on the terminal.
fn open(browser: &str, address: &str) {
    let mut command = Command::new(browser);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        std::thread::spawn(move || child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_opened_only_where_there_is_a_screen() {
        if cfg!(target_os = "macos") {
            return;
        }
        assert_eq!(browser(|_| None), None);
        assert_eq!(browser(|_| Some(String::new())), None);
        let has =
            |wanted: &'static str| move |name: &str| (name == wanted).then(|| ":0".to_owned());
        assert_eq!(browser(has("DISPLAY")), Some("xdg-open"));
        assert_eq!(browser(has("WAYLAND_DISPLAY")), Some("xdg-open"));
    }

    #[test]
    fn an_address_that_others_reach_is_refused() {
        assert!(loopback("0.0.0.0:7070").unwrap_err().contains("give a loopback address"));
        assert!(loopback("7070").is_err());
        assert!(settings(loopback("127.0.0.1:0").unwrap()).is_ok());
    }
}
