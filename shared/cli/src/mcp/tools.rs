//! The tools that an assistant may call.

use clap::{Args, Command};
use rmcp::model::{Tool as Description, ToolAnnotations};
use serde_json::{Map, Value};

use super::{arguments, read, write};
use crate::failure::{Failure, Result};
use crate::work::Work;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    ListCollections,
    ListJobs,
    GetJob,
    JobHistory,
    Why,
    Preview,
    CreateJob,
    UpdateJob,
    RunJob,
    DeleteJob,
}

/// What a tool may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    Destroys,
}

const ALL: [Tool; 10] = [
    Tool::ListCollections,
    Tool::ListJobs,
    Tool::GetJob,
    Tool::JobHistory,
    Tool::Why,
    Tool::Preview,
    Tool::CreateJob,
    Tool::UpdateJob,
    Tool::RunJob,
    Tool::DeleteJob,
];

/// The tools that are listed.
pub(super) fn offered(allow_writes: bool) -> impl Iterator<Item = Tool> {
    ALL.into_iter().filter(move |tool| allow_writes || tool.effect() == Effect::Reads)
}

/// The tool of a name, if it may be called.
pub(super) fn named(name: &str, allow_writes: bool) -> Result<Tool> {
    if let Some(tool) = offered(allow_writes).find(|tool| tool.name() == name) {
        return Ok(tool);
    }
    if ALL.iter().any(|tool| tool.name() == name) {
        return Err(Failure::refused(format!("{name} changes jobs, and this server only reads"))
            .hint("start it as `minutehand mcp --allow-writes` to allow changes"));
    }
    let names: Vec<&str> = offered(allow_writes).map(Tool::name).collect();
    Err(Failure::refused(format!("there is no tool '{name}'; the tools are {}", names.join(", "))))
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::ListCollections => "list_collections",
            Self::ListJobs => "list_jobs",
            Self::GetJob => "get_job",
            Self::JobHistory => "job_history",
            Self::Why => "why",
            Self::Preview => "preview",
            Self::CreateJob => "create_job",
            Self::UpdateJob => "update_job",
            Self::RunJob => "run_job",
            Self::DeleteJob => "delete_job",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::ListCollections => "List the collections, with state and time zone.",
            Self::ListJobs => {
                "List the jobs of a collection: when they fire, state, next occurrence, counters."
            }
            Self::GetJob => {
                "Show a job: its definition, when it fires in words, the next occurrence, counters, \
                 and every reason why it does not fire."
            }
            Self::JobHistory => {
                "List the attempts of a job, newest first, with what the target answered."
            }
            Self::Why => {
                "Explain what became of an occurrence of a job, or why the job does not fire, and what \
                 to do."
            }
            Self::Preview => {
                "Say in words when a job would fire, and list its first occurrences. Nothing is \
                 created. With neither every nor cron, at needs on, daily or once."
            }
            Self::CreateJob => {
                "Create a job that calls a URL. It never fires at once by surprise: an interval \
                 begins one interval from now. The answer says what was understood and when it \
                 first fires."
            }
            Self::UpdateJob => {
                "Change a job. Arguments that say when it fires replace its whole schedule. \
                 properties is a JSON merge patch, as in {\"state\":\"disabled\"} or \
                 {\"action\":{\"request\":{\"uri\":\"https://example.com/\"}}}; get_job shows \
                 the properties."
            }
            Self::RunJob => "Run a job once, now, besides its schedule.",
            Self::DeleteJob => "Delete a job with its history. This cannot be undone.",
        }
    }

    fn effect(self) -> Effect {
        match self {
            Self::CreateJob | Self::RunJob => Effect::Adds,
            Self::UpdateJob | Self::DeleteJob => Effect::Destroys,
            _ => Effect::Reads,
        }
    }

    fn arguments(self) -> Command {
        let command = Command::new(self.name()).no_binary_name(true).disable_help_flag(true);
        match self {
            Self::ListCollections => command,
            Self::ListJobs => read::Jobs::augment_args(command),
            Self::GetJob | Self::DeleteJob => arguments::Named::augment_args(command),
            Self::JobHistory => read::History::augment_args(command),
            Self::Why => read::Why::augment_args(command),
            Self::Preview => read::Preview::augment_args(command),
            Self::CreateJob => {
                write::Create::augment_args(command).mut_arg("url", |url| url.required(true))
            }
            Self::UpdateJob => write::Update::augment_args(command),
            Self::RunJob => write::Run::augment_args(command),
        }
    }

    pub(super) fn description(self) -> Description {
        let annotations = match self.effect() {
            Effect::Reads => ToolAnnotations::new().read_only(true).open_world(false),
            effect => ToolAnnotations::new()
                .read_only(false)
                .destructive(effect == Effect::Destroys)
                .open_world(true),
        };
        Description::new(self.name(), self.summary(), arguments::schema(&self.arguments()))
            .with_annotations(annotations)
    }

    /// Carries the tool out, and returns its answer.
    pub(super) async fn call(self, work: &Work, given: &Map<String, Value>) -> Result<Value> {
        let command = self.arguments();
        match self {
            Self::ListCollections => {
                arguments::check(&command, given)?;
                read::collections(work).await
            }
            Self::ListJobs => read::jobs(work, &arguments::read(command, given)?).await,
            Self::GetJob => read::job(work, &arguments::read(command, given)?).await,
            Self::JobHistory => read::history(work, &arguments::read(command, given)?).await,
            Self::Why => read::why(work, &arguments::read(command, given)?).await,
            Self::Preview => read::preview(work, &arguments::read(command, given)?).await,
            Self::CreateJob => write::create(work, &arguments::read(command, given)?).await,
            Self::UpdateJob => write::update(work, &arguments::read(command, given)?).await,
            Self::RunJob => write::run(work, &arguments::read(command, given)?).await,
            Self::DeleteJob => write::delete(work, &arguments::read(command, given)?).await,
        }
    }
}
