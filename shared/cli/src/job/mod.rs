//! `job`: creates, shows, changes, runs and deletes jobs.

mod action;
pub(crate) use action::{ActionArgs, is_credential};
mod again;
mod backoff;
mod change;
pub(crate) use change::changes;
mod copy;
mod create;
pub(crate) use create::{make_collection, put_new, zoned};
mod days;
mod delete;
mod edit;
mod expect;
mod history;
mod list;
pub(crate) use list::sentence_of;
mod many;
mod next;
pub(crate) mod policy;
mod run;
pub(crate) use run::run_and_wait;
mod questions;
pub(crate) mod schedule;
mod set;
pub(crate) use set::merge_patch;
mod show;
mod switch;
pub(crate) mod why;

use clap::{Args, Subcommand};

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::snooze;
use crate::work::Work;

/// The arguments of `job`.
#[derive(Debug, Args)]
pub struct JobArgs {
    #[command(subcommand)]
    command: JobCommand,
}

/// The arguments of a command for one job.
#[derive(Debug, Args)]
pub(crate) struct NamedArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
}

const CREATE_EXAMPLES: &str = "\
Examples:
  minutehand job create weekdays --at 09:00 --on mon-fri --zone Europe/Berlin \\
      --url https://example.com/report --retry 5
  minutehand job create ops/ping --every 15m --url http://localhost:8000/
  minutehand job create backup --expect --at 02:30
  minutehand job create party --once --at '2026-12-31 23:59' --url http://a/
  minutehand job create ops/report -f report.json
  minutehand job create -i

The job always gets a startTime, so that nothing fires by surprise: an interval begins one interval \
from now, a time of day is the next one. Without a collection in the name or in the context, the \
collection 'default' is used, and made if it is missing.

Secrets come from files or standard input, never from arguments, which other users can see.";

const SET_EXAMPLES: &str = "\
Examples:
  minutehand job set weekdays --at 10:00
  minutehand job set ops/ping --every 30m --retry 2
  minutehand job set ops/ping --url https://example.com/ping --header 'Accept: text/plain'
  minutehand job set weekdays state=disabled recurrence.endTime=null

The options are those of `job create`. What they do not name stays: --at keeps the days, --on keeps the \
times, and both keep zone, start, end and count. Their defaults are those of a new job, and change nothing \
here. A list, such as the dates of --exclude-date, takes the place of the one before.";

#[derive(Debug, Subcommand)]
enum JobCommand {
    /// List the jobs of a collection
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Show a job: when it fires, how it went, and why it does not fire
    Show(show::ShowArgs),
    /// Create a job
    #[command(after_long_help = CREATE_EXAMPLES)]
    Create(Box<create::CreateArgs>),
    /// Copy a job under another name
    Copy(copy::CopyArgs),
    /// Change a job, and keep what is not named: --at 10:00, or state=disabled
    #[command(after_long_help = SET_EXAMPLES)]
    Set(Box<set::SetArgs>),
    /// Change a job in an editor
    Edit(NamedArgs),
    /// Switch jobs on
    Enable(many::ManyArgs),
    /// Switch jobs off
    Disable(many::ManyArgs),
    /// Enable a job that was paused after failures
    Resume(NamedArgs),
    /// Until an instant, do not show a job among those that need someone; it fires and alerts as before
    Snooze(snooze::SnoozeJob),
    /// Run a job once, now
    Run(run::RunArgs),
    /// Run a job once for an occurrence that failed for good
    Redrive(again::OccurrenceArgs),
    /// End an attempt that is open: its target answered 202 and has not reported the end
    Cancel(again::OccurrenceArgs),
    /// Replace the URL at which a job takes pings
    RotatePing(NamedArgs),
    /// Delete jobs
    #[command(visible_alias = "rm")]
    Delete(many::ManyArgs),
    /// Show the attempts of a job, newest first
    History(Box<history::HistoryArgs>),
    /// Show when a job fires next
    Next(next::NextArgs),
    /// Explain what became of an occurrence: why it fired, or why it did not
    Why(why::WhyArgs),
}

impl ServerCommand for JobArgs {
    async fn run(self, work: Work) -> Result<()> {
        match self.command {
            JobCommand::List(args) => {
                args.repeat.clone().run(work, async |work| list::list(work, &args).await).await
            }
            JobCommand::Show(args) => {
                args.repeat.clone().run(work, async |work| show::show(work, &args).await).await
            }
            JobCommand::Create(args) => create::create(&work, &args).await,
            JobCommand::Copy(args) => copy::copy(&work, &args).await,
            JobCommand::Set(args) => set::set(&work, &args).await,
            JobCommand::Edit(args) => edit::edit(&work, &args).await,
            JobCommand::Enable(args) => switch::switch(&work, &args, true).await,
            JobCommand::Disable(args) => switch::switch(&work, &args, false).await,
            JobCommand::Resume(args) => again::resume(&work, &args).await,
            JobCommand::Snooze(args) => snooze::job(&work, &args).await,
            JobCommand::Redrive(args) => again::redrive(&work, &args).await,
            JobCommand::Cancel(args) => again::cancel(&work, &args).await,
            JobCommand::RotatePing(args) => expect::rotate(&work, &args).await,
            JobCommand::Run(args) => run::run(&work, &args).await,
            JobCommand::Delete(args) => delete::delete(&work, &args).await,
            JobCommand::History(args) => history::history(&work, &args).await,
            JobCommand::Next(args) => {
                args.repeat.clone().run(work, async |work| next::next(work, &args).await).await
            }
            JobCommand::Why(args) => why::why(&work, &args).await,
        }
    }
}
