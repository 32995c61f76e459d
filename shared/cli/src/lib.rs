//! The commands of the `minutehand` program that talk to a server.
//!
//! Only that program calls it. It never opens a store, and never decides about time or jobs: what it
//! decides is what the words of the command line mean, in [`job::schedule`](crate) and its neighbours.
//!
//! [`Command`] is their part of the command line, and [`run`] carries one out: it opens a
//! [`minutehand_client::Client`] for the context, asks, and prints. Answers go to standard output, everything
//! else to standard error. What is printed depends on where it goes: tables for a terminal, lines
//! with tabs for a pipe, and JSON as the server sent it with `--json`.

mod advice;
mod alert;
mod api;
mod apply;
mod as_env;
mod at_server;
mod bridge;
mod calendar;
mod check;
mod clock;
mod collection;
mod completions;
mod context;
mod dead;
mod doctor;
mod editor;
mod environment;
mod export;
mod failure;
mod failures;
mod find;
mod fleet;
mod import;
mod input;
mod instant;
mod job;
mod journal;
mod load;
mod man;
mod masked;
mod mcp;
mod merge;
mod options;
mod output;
mod processes;
mod reference;
mod repeat;
mod snooze;
mod timing;
mod top;
mod version;
mod wait;
mod wall;
mod watch;
mod work;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Subcommand;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

pub use environment::Environment;
pub use input::document;
pub use mcp::McpEndpoint;
pub use minutehand_client::LocalServer;
pub use options::one_of;
pub use output::progress::Progress;
pub use output::times::{capitalized, span_text};
pub use timing::TimingOptions;

use crate::at_server::{AtServer, Begun, CarriedOut, begun};
use crate::failure::{Failure, INTERRUPTED};
use crate::output::screen::Screen;

/// The exit codes of the commands, for the help.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    failure: the server, the network or a file
  2    invalid input: an argument, or a job that the server refuses
  3    the collection or job does not exist
  4    not allowed: no token, an unknown one, or one without the scope
  5    the action of the job failed, or a check of doctor failed
  130  interrupted, or a question was answered with no";

/// The commands that talk to a server.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create, show, change, run and delete jobs
    #[command(visible_alias = "jobs")]
    Job(AtServer<job::JobArgs>),
    /// Create, show, switch and delete collections
    #[command(visible_alias = "collections")]
    Collection(AtServer<collection::CollectionArgs>),
    /// Create and change jobs so that they match files
    #[command(after_long_help = APPLY)]
    Apply(AtServer<apply::ApplyArgs>),
    /// Show what apply would change
    #[command(after_long_help = APPLY)]
    Diff(AtServer<apply::DiffArgs>),
    /// Write the jobs of collections as files for apply
    Export(AtServer<export::ExportArgs>),
    /// Create the jobs that crontabs, EventBridge schedules and Azure exports describe
    #[command(after_long_help = import::HELP)]
    Import(Box<AtServer<import::ImportArgs>>),
    /// Show attempts as they happen
    Watch(AtServer<watch::WatchArgs>),
    /// Show what fires next and what fails, and keep it up to date
    Top(AtServer<top::TopArgs>),
    /// Show what became of the last hours and what is due, a row for each collection
    Wall(AtServer<wall::WallArgs>),
    /// Show how many occurrences are due in each hour of a week
    Calendar(AtServer<calendar::CalendarArgs>),
    /// Show which alerts were sent or failed, or send a test alert
    Alert(AtServer<alert::AlertArgs>),
    /// Show the occurrences that failed for good
    Failures(AtServer<failures::FailuresArgs>),
    /// Find jobs of the subscription by a part of their names
    Find(AtServer<find::FindArgs>),
    /// Show who changed and ran what in a collection
    Journal(AtServer<journal::JournalArgs>),
    /// Look at messages that are no longer delivered, send them again, or delete them
    Dead(AtServer<dead::DeadArgs>),
    /// List the processes that share the server's database
    Processes(AtServer<processes::ProcessesArgs>),
    /// Check a server and its jobs, and say what to do
    Doctor(AtServer<doctor::DoctorArgs>),
    /// Store a server and its token as a context
    Login(context::login::LoginArgs),
    /// Delete the token of a context
    Logout(context::login::LogoutArgs),
    /// Choose, list, add and remove contexts
    Context(context::command::ContextArgs),
    /// Let an assistant work with jobs, by the Model Context Protocol
    #[command(after_long_help = MCP)]
    Mcp(AtServer<mcp::McpArgs>),
    /// Send any request, with the token of the context
    Api(AtServer<api::ApiArgs>),
    /// Open the console of a server in a browser on this machine
    Console(AtServer<bridge::ConsoleArgs>),
    /// Print the versions of this program and of the server
    Version(version::VersionArgs),
    /// Print the completion script of a shell
    #[command(after_long_help = COMPLETIONS)]
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man(man::ManArgs),
}

const APPLY: &str = "\
A file names a collection and its jobs, as JSON or YAML:
  {\"collection\": \"billing\",
   \"properties\": {\"minutehand\": {\"timeZone\": \"Europe/Berlin\"}},
   \"jobs\": {\"export\": {\"startTime\": \"2027-01-01\",
                       \"recurrence\": {\"frequency\": \"day\"},
                       \"action\": {\"type\": \"Https\", \"request\": {…}}}}}

apply creates the jobs that are missing, changes the jobs that differ, and leaves all others alone. \
With --prune it also deletes jobs that are in no file, but only in collections that the files name.

A secret is a reference, never a value: {\"$env\": \"NAME\"} or {\"$file\": \"path\"}, relative to the \
file. It is sent when its job is created; --send-secrets sends the secrets of all jobs again.

The server checks all changes before the first is made, and all problems are printed. An editor \
completes and checks files by the schema that `minutehand schema` prints.";

const MCP: &str = "\
An assistant starts the command and talks to it on standard input and output. Its configuration names \
the command:
  {\"mcpServers\": {\"minutehand\": {\"command\": \"minutehand\", \"args\": [\"mcp\"]}}}

The assistant can list and show jobs and their history, and preview when a job would fire. With \
--allow-writes it can also create, change, run and delete jobs. It never sees passwords and other \
secrets, and cannot set them. If the token has scope=read, the server refuses every change.

An assistant on another machine finds the same tools at /mcp of the server, and sends a token.";

const COMPLETIONS: &str = "\
To complete in every new shell, add one line to its start-up file:
  bash        source <(minutehand completions bash)           in ~/.bashrc
  zsh         source <(minutehand completions zsh)            in ~/.zshrc
  fish        minutehand completions fish | source            in ~/.config/fish/config.fish
  elvish      eval (minutehand completions elvish | slurp)    in ~/.elvish/rc.elv
  powershell  minutehand completions powershell | Out-String | Invoke-Expression    in $PROFILE";

/// Carries out a command. `program` is the whole command line, for the manual.
#[must_use]
pub fn run(command: Command, program: clap::Command, environment: Environment) -> ExitCode {
    let (options, carried_out) = begin(command, program, environment);
    let done = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let done = runtime.block_on(interruptible(carried_out));
            // A look-up of a host's name may still wait for its name server.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(Failure::cannot("start a thread")(error)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure, options.map(|options| Screen::new(&options, &environment)).as_ref());
            ExitCode::from(failure.code)
        }
    }
}

async fn interruptible(carried_out: CarriedOut) -> failure::Result<()> {
    tokio::select! {
        done = carried_out => done,
        _ = tokio::signal::ctrl_c() => Err(Failure::new(INTERRUPTED, "interrupted")),
    }
}

/// A command that is begun, with the options that say how to print what goes wrong.
fn begin(command: Command, program: clap::Command, environment: Environment) -> Begun {
    match command {
        Command::Job(args) => at_server::run(args, environment),
        Command::Collection(args) => at_server::run(args, environment),
        Command::Apply(args) => at_server::run(args, environment),
        Command::Import(args) => at_server::run(*args, environment),
        Command::Diff(args) => at_server::run(args, environment),
        Command::Export(args) => at_server::run(args, environment),
        Command::Watch(args) => at_server::run(args, environment),
        Command::Top(args) => at_server::run(args, environment),
        Command::Wall(args) => at_server::run(args, environment),
        Command::Calendar(args) => at_server::run(args, environment),
        Command::Alert(args) => at_server::run(args, environment),
        Command::Failures(args) => at_server::run(args, environment),
        Command::Find(args) => at_server::run(args, environment),
        Command::Journal(args) => at_server::run(args, environment),
        Command::Dead(args) => at_server::run(args, environment),
        Command::Processes(args) => at_server::run(args, environment),
        Command::Doctor(args) => at_server::run(args, environment),
        Command::Login(args) => begun(args.options.clone(), args.run(environment)),
        Command::Logout(args) => begun(args.options.clone(), async move { args.run(&environment) }),
        Command::Context(args) => {
            begun(args.options.clone(), async move { args.run(&environment) })
        }
        Command::Mcp(args) => at_server::run(args, environment),
        Command::Api(args) => at_server::run(args, environment),
        Command::Console(args) => at_server::run(args, environment),
        Command::Version(args) => begun(args.options.clone(), args.run(program, environment)),
        Command::Completions(args) => (None, Box::pin(async move { args.run(&environment) })),
        Command::Man(args) => (None, Box::pin(async move { args.run(program) })),
    }
}

fn report(failure: &Failure, screen: Option<&Screen>) {
    if failure.message.is_empty() {
        return;
    }
    let word = screen.map_or_else(|| "error".to_owned(), |screen| screen.bad("error"));
    // If standard error cannot be written, there is no other place to report it.
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{word}: {}", failure.message);
    if let Some(hint) = &failure.hint {
        let _ = writeln!(out, "  {hint}");
    }
}

/// What completes the values of a command line.
#[derive(Debug, Clone, Copy)]
pub struct ShellCompletion {
    /// What the commands take from the process.
    pub environment: Environment,
    /// Lists what a property of a job may begin with, as far as it is typed.
    pub properties: fn(&str) -> Vec<String>,
    /// The words of the command line.
    pub words: fn() -> Vec<String>,
}

/// Adds completion of values to a command line. Names are asked of the server of the context.
#[must_use]
pub fn with_values(program: clap::Command, completion: ShellCompletion) -> clap::Command {
    fn completer<F>(list: F) -> ArgValueCompleter
    where
        F: Fn(&str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
    {
        ArgValueCompleter::new(move |word: &std::ffi::OsStr| list(&word.to_string_lossy()))
    }
    fn add(command: clap::Command, in_job: bool, completion: ShellCompletion) -> clap::Command {
        let ShellCompletion { environment, properties, words } = completion;
        let is_redrive = command.get_name() == "redrive";
        let in_collection = command.get_name() == "collection";
        let in_job = in_job || command.get_name() == "job";
        let subcommands: Vec<String> =
            command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let mut command = command.mut_args(|argument| match argument.get_id().as_str() {
            "name" | "names" if in_job => {
                argument.add(completer(move |typed| completions::jobs(environment, typed)))
            }
            "collection" => {
                argument.add(completer(move |typed| completions::collections(environment, typed)))
            }
            "at" if is_redrive => argument
                .add(completer(move |typed| completions::failed(environment, &words(), typed))),
            "changes" => argument.add(completer(move |typed| {
                // The counters of a job are told, and cannot be set.
                let settable = properties(typed).into_iter().filter(|it| !it.starts_with("status"));
                settable.map(CompletionCandidate::new).collect()
            })),
            id => match completions::values(id) {
                Some(values) => argument.add(completer(values)),
                None => argument,
            },
        });
        for name in subcommands {
            command = command.mut_subcommand(name, |subcommand| {
                add(subcommand, in_job || in_collection, completion)
            });
        }
        command
    }
    add(program, false, completion)
}

/// Answers a shell that completes a line, if the process was started for that.
pub fn complete(program: impl Fn() -> clap::Command) {
    clap_complete::CompleteEnv::with_factory(program).var(completions::VARIABLE).complete();
}
