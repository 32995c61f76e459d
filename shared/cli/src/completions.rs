//! `completions`: what a shell needs to complete commands, options, and names of jobs.
//!
//! The script of a shell asks the program itself at each tab. So names come from the server, and a
//! script stays right when the program changes.

use std::time::Duration;

use clap::Args;
use clap_complete::CompletionCandidate;
use clap_complete::env::Shells;
use minutehand_client::Limits;

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
            .map_err(|error| Failure::failed(format!("cannot write the script: {error}")))?;
        Screen::new(&plain(), environment).print(&String::from_utf8_lossy(&script))
    }
}

/// The options of a command that was not typed.
fn plain() -> Options {
    Options {
        context: None,
        server: None,
        ca: None,
        subscription: None,
        group: None,
        json: None,
        jsonl: false,
        titles: false,
        utc: false,
        ascii: false,
        color: Color::Never,
        quiet: true,
    }
}

/// Names of jobs that begin as the word does. A server that does not answer has none.
pub(crate) fn jobs(environment: Environment, typed: &str) -> Vec<CompletionCandidate> {
    ask(async move {
        let limits = Limits { connect: ANSWER_MAX, answer: ANSWER_MAX };
        let work = Work::with_limits(&plain(), environment, limits).ok()?;
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
        names.retain(|name| name.starts_with(typed));
        Some(names)
    })
}

/// Names of collections that begin as the word does.
pub(crate) fn collections(environment: Environment, typed: &str) -> Vec<CompletionCandidate> {
    ask(async move {
        let limits = Limits { connect: ANSWER_MAX, answer: ANSWER_MAX };
        let work = Work::with_limits(&plain(), environment, limits).ok()?;
        let place = &work.defaults().place;
        let listed = work.client().collections(place).up_to(NAMES_MAX).await.ok()?;
        let names = listed.into_iter().map(|item| item.value.name);
        Some(names.filter(|name| name.starts_with(typed)).collect())
    })
}

fn ask(names: impl Future<Output = Option<Vec<String>>>) -> Vec<CompletionCandidate> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let names = runtime.ok().and_then(|runtime| runtime.block_on(names));
    names.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}
