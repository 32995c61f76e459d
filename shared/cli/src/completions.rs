//! `completions`: what a shell needs to complete commands, options, names of jobs, and values.
//!
//! The script of a shell asks the program itself at each tab. So names come from the server, and a
//! script stays right when the program changes.

use std::time::Duration;

use chrono::TimeDelta;
use clap::Args;
use clap_complete::CompletionCandidate;
use clap_complete::env::Shells;
use minutehand_client::Limits;
use minutehand_recurrence::{format_instant, zone};

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::options::{Color, Options};
use crate::output::screen::Screen;
use crate::work::Work;

/// The name of the program, as its users type it.
const PROGRAM: &str = "minutehand";
/// The variable with which a script asks the program.
pub(crate) const VARIABLE: &str = "COMPLETE";
/// How long a tab may take.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// The most names that a tab shows.
const NAMES_MAX: usize = 500;
/// The most instants that a tab shows, and how far back they are looked for.
const FAILED_MAX: usize = 50;
const FAILED_SINCE: TimeDelta = TimeDelta::days(7);
/// Days that `--on` takes.
const DAYS: [&str; 14] = [
    "mon-fri",
    "sat",
    "sun",
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "1",
    "15",
    "last",
    "first-mon",
    "last-fri",
    "last-sun",
];

/// The arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell: bash, zsh, fish, elvish or powershell
    shell: String,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let shells = Shells::builtins();
        let names: Vec<&str> = shells.names().collect();
        let shell = shells.completer(&self.shell).ok_or_else(|| {
            Failure::refused(format!("'{}' is not one of {}", self.shell, names.join(", ")))
        })?;
        let mut script = Vec::new();
        shell
            .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
            .map_err(Failure::cannot("write the script"))?;
        Screen::new(&plain(), environment).print(&String::from_utf8_lossy(&script))
    }
}

/// The options of a command that was not typed.
fn plain() -> Options {
    Options { color: Color::Never, quiet: true, ..Options::default() }
}

/// Names of jobs that begin as the word does. A server that does not answer has none.
pub(crate) fn jobs(environment: Environment, typed: &str) -> Vec<CompletionCandidate> {
    ask(environment, typed, async |work| {
        let (collection, before) = match typed.rsplit_once('/') {
            Some((collection, _)) => (Some(collection), format!("{collection}/")),
            None => (None, String::new()),
        };
        let mut names = Vec::new();
        if let Ok(path) = work.defaults().collection(collection) {
            let jobs = work.client().jobs(&path, None).up_to(NAMES_MAX).await.unwrap_or_default();
            names.extend(jobs.iter().map(|job| format!("{before}{}", job.value.short_name())));
        }
        if collection.is_none() {
            let place = &work.defaults().place;
            let listed = work.client().collections(place).up_to(NAMES_MAX).await;
            let listed = listed.unwrap_or_default();
            names.extend(listed.iter().map(|item| format!("{}/", item.value.name)));
        }
        Some(names)
    })
}

/// Names of collections that begin as the word does.
pub(crate) fn collections(environment: Environment, typed: &str) -> Vec<CompletionCandidate> {
    ask(environment, typed, async |work| {
        let place = &work.defaults().place;
        let listed = work.client().collections(place).up_to(NAMES_MAX).await.ok()?;
        Some(listed.into_iter().map(|item| item.value.name).collect())
    })
}

/// Lists the values of an option that are known without a server; `None` if it has none of its own.
pub(crate) fn values(option: &str) -> Option<fn(&str) -> Vec<CompletionCandidate>> {
    match option {
        "overlap" => Some(|typed| beginning(typed, ["allow", "skip"])),
        "catch_up" => Some(|typed| beginning(typed, ["last", "none", "all"])),
        "zone" => Some(|typed| beginning(typed, zone::names())),
        "on" => Some(|typed| {
            // The days before a comma stay.
            let (before, last) = typed.rsplit_once(',').unwrap_or(("", typed));
            let comma = if before.is_empty() { "" } else { "," };
            let days = DAYS.iter().filter(|day| day.starts_with(last));
            days.map(|day| CompletionCandidate::new(format!("{before}{comma}{day}"))).collect()
        }),
        _ => None,
    }
}

fn beginning<'a>(
    typed: &str,
    values: impl IntoIterator<Item = &'a str>,
) -> Vec<CompletionCandidate> {
    let is_begun = |value: &&str| {
        value.get(..typed.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(typed))
    };
    values.into_iter().filter(is_begun).map(CompletionCandidate::new).collect()
}

/// Instants at which a job failed for good: that job whose name stands behind `redrive`.
pub(crate) fn failed(
    environment: Environment,
    words: &[String],
    typed: &str,
) -> Vec<CompletionCandidate> {
    let behind = words.iter().skip_while(|word| *word != "redrive").skip(1);
    let Some(name) = behind.into_iter().find(|word| !word.starts_with('-')) else {
        return Vec::new();
    };
    ask(environment, typed, async |work| {
        let path = work.defaults().job(name).ok()?;
        let since = format_instant(work.now().checked_sub_signed(FAILED_SINCE)?);
        let of = (Some(&path.collection), Some(path.job.as_str()));
        let subscription = &path.collection.place.subscription;
        let found = work.client().failures(subscription, of, &since, FAILED_MAX).await.ok()?;
        Some(found.into_iter().map(|item| item.value.at).collect())
    })
}

/// What a server knows that begins as the word does.
fn ask(
    environment: Environment,
    typed: &str,
    values: impl AsyncFn(Work) -> Option<Vec<String>>,
) -> Vec<CompletionCandidate> {
    let limits = Limits { connect: ANSWER_MAX, answer: ANSWER_MAX };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let values = runtime.ok().and_then(|runtime| {
        runtime.block_on(async {
            values(Work::with_limits(&plain(), environment, limits).ok()?).await
        })
    });
    let begun = values.unwrap_or_default().into_iter().filter(|value| value.starts_with(typed));
    begun.map(CompletionCandidate::new).collect()
}
