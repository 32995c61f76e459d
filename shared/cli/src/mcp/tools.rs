//! The tools that an assistant may call.

use clap::{Command, FromArgMatches as _, Subcommand};
use rmcp::model::{Tool as Description, ToolAnnotations};
use serde_json::{Map, Value};

use super::{arguments, read, words, write};
use crate::failure::{Failure, Result};
use crate::wall::Hours;
use crate::work::Work;

/// A tool with its arguments, written as a command: its options are the arguments.
#[derive(Debug, Subcommand)]
#[command(rename_all = "snake_case")]
enum Tool {
    #[command(about = "List the collections, with state and time zone.")]
    ListCollections,
    #[command(about = "Show a collection with all its properties.")]
    GetCollection(read::Collection),
    #[command(about = "List the jobs of a collection: when they fire, state, next occurrence, \
                       counters.")]
    ListJobs(read::Jobs),
    #[command(about = "Show a job: its definition, when it fires in words, the next occurrence, \
                       counters, and every reason why it does not fire.")]
    GetJob(arguments::Named),
    #[command(about = "List the attempts of a job, newest first, with what the target answered.")]
    JobHistory(read::History),
    #[command(
        about = "Explain what became of an occurrence of a job, or why the job does not fire, \
                       and what to do."
    )]
    Why(read::Why),
    #[command(
        about = "List the occurrences that failed for good, the newest first, with the cause of each: \
                       of all collections, of one, or of one job. redrive runs one again."
    )]
    Failures(read::Failures),
    #[command(about = "Find jobs of all collections by a part of their names.")]
    FindJobs(read::Find),
    #[command(
        about = "Say how all is: what to look at first, numbers of jobs by state, what is late, \
                       alerts that do not arrive."
    )]
    Overview,
    #[command(
        about = "Say what became of the occurrences of each collection in the last hours, and how many \
                       are due: numbers, and the quarters of an hour that had failures or delays."
    )]
    Wall(Hours),
    #[command(
        about = "List who changed and ran what in a collection, or in one job, newest first: \
                       changes, runs, redrives, and jobs that the scheduler paused."
    )]
    Journal(read::Journal),
    #[command(
        about = "Say whether the alerts of a collection arrive; with job, what is known of that \
                       job for alerts: failures in a row, since when they are told, what was held back."
    )]
    Alerts(read::Alerts),
    #[command(
        about = "Say in words when a job would fire, and list its first occurrences. Nothing is \
                       created. With neither every nor cron, at needs on, daily or once."
    )]
    Preview(Box<read::Preview>),
    #[command(
        about = "Create a collection, which holds jobs. Its time zone is that of jobs that name \
                       none; its limits make attempts wait."
    )]
    CreateCollection(write::CreateCollection),
    #[command(
        about = "Change a collection: switch all its jobs on or off, time zone, limits, and when \
                       its alerts are sent. The receiver of alerts is a secret, which a person sets."
    )]
    UpdateCollection(Box<write::UpdateCollection>),
    #[command(about = "Create a job that calls a URL. It never fires at once by surprise: an interval \
                       begins one interval from now. The answer says what was understood and when it \
                       first fires.", mut_arg("url", |url| url.required(true)))]
    CreateJob(Box<write::Create>),
    #[command(
        about = "Change a job. The arguments are those of create_job, and what they do not name stays: \
                       at keeps the days, url keeps the headers. properties is a JSON merge patch, as in {\"state\":\"disabled\"} or \
                       {\"action\":{\"request\":{\"uri\":\"https://example.com/\"}}}; get_job shows \
                       the properties."
    )]
    UpdateJob(Box<write::Update>),
    #[command(about = "Run a job once, now, besides its schedule.")]
    RunJob(write::Run),
    #[command(
        about = "Run a job once for an occurrence that failed for good; failures has its instant."
    )]
    Redrive(write::Redrive),
    #[command(
        about = "Cancel an attempt whose target answered 202 and has not reported the end: it fails. \
                       get_job shows it as present, with openUntil."
    )]
    Cancel(write::Redrive),
    #[command(about = "Send a test alert of a collection now, and say what came back.")]
    TestAlert(read::InCollection),
    #[command(
        about = "The URL at which a job of type Expect takes pings, and the last ones. A ping needs no token, \
                       only this URL."
    )]
    PingUrl(arguments::Named),
    #[command(about = "Replace that URL: pings to the old one are refused from then on.")]
    RotatePing(arguments::Named),
    #[command(about = "Delete a job with its history. This cannot be undone.")]
    DeleteJob(arguments::Named),
}

/// What an assistant may do. Each includes the ones before it, as the scopes of tokens do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rights {
    Read,
    Run,
    Write,
}

/// What an assistant may do, and how it gets more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed {
    pub(super) rights: Rights,
    pub(super) more: &'static str,
}

impl Rights {
    /// What a server says that a caller may do.
    pub(super) fn of(may: &[String]) -> Self {
        let has = |word: &str| may.iter().any(|may| may == word);
        match (has("write"), has("run")) {
            (true, _) => Self::Write,
            (false, true) => Self::Run,
            (false, false) => Self::Read,
        }
    }

    /// What a tool needs.
    fn needed(tool: &Command) -> Self {
        match tool.get_name() {
            "run_job" | "redrive" | "cancel" | "test_alert" => Self::Run,
            // It is a secret, although it is only read.
            "ping_url" => Self::Write,
            _ if effect(tool) == Effect::Reads => Self::Read,
            _ => Self::Write,
        }
    }
}

/// What a tool may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    Destroys,
}

fn effect(tool: &Command) -> Effect {
    match tool.get_name() {
        "create_collection" | "create_job" | "run_job" | "redrive" | "test_alert" => Effect::Adds,
        "update_collection" | "update_job" | "delete_job" | "cancel" | "rotate_ping" => {
            Effect::Destroys
        }
        _ => Effect::Reads,
    }
}

/// All tools, as the commands below one command.
fn all() -> Command {
    Tool::augment_subcommands(Command::new("mcp").no_binary_name(true))
}

fn may_be_called(tool: &Command, rights: Rights) -> bool {
    rights >= Rights::needed(tool)
}

/// Names the arguments of a tool in a text that names the options of commands.
pub(super) fn in_its_words(name: &str, text: &str) -> String {
    words::in_words_of(all().find_subcommand(name), text)
}

/// The descriptions of the tools that may be called.
pub(super) fn offered(rights: Rights) -> Vec<Description> {
    let all = all();
    let offered = all.get_subcommands().filter(|tool| may_be_called(tool, rights));
    offered.map(description).collect()
}

fn description(tool: &Command) -> Description {
    let annotations = match effect(tool) {
        Effect::Reads => ToolAnnotations::new().read_only(true).open_world(false),
        effect => ToolAnnotations::new()
            .read_only(false)
            .destructive(effect == Effect::Destroys)
            .open_world(true),
    };
    let summary = tool.get_about().map(ToString::to_string).unwrap_or_default();
    Description::new(tool.get_name().to_owned(), summary, arguments::schema(tool))
        .with_annotations(annotations)
}

/// Reads the tool of a name, if it may be called, with the arguments that are given to it.
fn named(name: &str, given: &Map<String, Value>, allowed: Allowed) -> Result<Tool> {
    let all = all();
    let Some(tool) = all.find_subcommand(name) else {
        let offered = all.get_subcommands().filter(|tool| may_be_called(tool, allowed.rights));
        let names: Vec<&str> = offered.map(Command::get_name).collect();
        let names = names.join(", ");
        return Err(Failure::refused(format!("there is no tool '{name}'; the tools are {names}")));
    };
    if !may_be_called(tool, allowed.rights) {
        let may = match allowed.rights {
            Rights::Read => "read",
            Rights::Run | Rights::Write => "read, and run jobs",
        };
        return Err(Failure::refused(format!(
            "{name} is not allowed: this connection may only {may}"
        ))
        .hint(allowed.more));
    }
    let words = arguments::words(tool, given)?;
    let matches = all.try_get_matches_from(words);
    matches.and_then(|matches| Tool::from_arg_matches(&matches)).map_err(|error| {
        let text = error.render().to_string();
        let message = text.split("\n\n").next().unwrap_or_default().trim();
        Failure::refused(message.strip_prefix("error: ").unwrap_or(message))
    })
}

/// Calls a tool, and returns its answer.
pub(super) async fn call(
    work: &Work,
    name: &str,
    given: &Map<String, Value>,
    allowed: Allowed,
) -> Result<Value> {
    match named(name, given, allowed)? {
        Tool::ListCollections => read::collections(work).await,
        Tool::GetCollection(wanted) => read::collection(work, &wanted).await,
        Tool::CreateCollection(wanted) => write::create_collection(work, &wanted).await,
        Tool::UpdateCollection(wanted) => write::update_collection(work, &wanted).await,
        Tool::Failures(wanted) => read::failures(work, &wanted).await,
        Tool::FindJobs(wanted) => read::find(work, &wanted).await,
        Tool::Overview => read::overview(work).await,
        Tool::Wall(wanted) => read::wall(work, &wanted).await,
        Tool::Redrive(wanted) => write::redrive(work, &wanted).await,
        Tool::Cancel(wanted) => write::cancel(work, &wanted).await,
        Tool::PingUrl(wanted) => write::ping_url(work, &wanted).await,
        Tool::RotatePing(wanted) => write::rotate_ping(work, &wanted).await,
        Tool::ListJobs(wanted) => read::jobs(work, &wanted).await,
        Tool::GetJob(wanted) => read::job(work, &wanted).await,
        Tool::JobHistory(wanted) => read::history(work, &wanted).await,
        Tool::Why(wanted) => read::why(work, &wanted).await,
        Tool::Journal(wanted) => read::journal(work, &wanted).await,
        Tool::Alerts(wanted) => read::alerts(work, &wanted).await,
        Tool::TestAlert(wanted) => write::test_alert(work, &wanted).await,
        Tool::Preview(wanted) => read::preview(work, &wanted).await,
        Tool::CreateJob(wanted) => write::create(work, &wanted).await,
        Tool::UpdateJob(wanted) => write::update(work, &wanted).await,
        Tool::RunJob(wanted) => write::run(work, &wanted).await,
        Tool::DeleteJob(wanted) => write::delete(work, &wanted).await,
    }
}
