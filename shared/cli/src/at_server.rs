//! What every command that talks to a server has and does.

use std::pin::Pin;

use clap::Args;

use crate::advice;
use crate::environment::Environment;
use crate::failure::Result;
use crate::options::Options;
use crate::work::Work;

/// The arguments of a command that talks to a server, and the options that every such command has.
#[derive(Debug, Args)]
pub struct AtServer<A: Args> {
    #[command(flatten)]
    args: A,
    #[command(flatten)]
    options: Options,
}

/// The arguments of a command that talks to a server, and what it does.
pub(crate) trait ServerCommand: Args + 'static {
    /// Whether a server on this machine is first asked for its clock.
    const ASKS_FOR_CLOCK: bool = true;

    /// Runs the command.
    async fn run(self, work: Work) -> Result<()>;
}

/// What a command does.
pub(crate) type CarriedOut = Pin<Box<dyn Future<Output = Result<()>>>>;
/// The options of a command, if it has those of every command, and what it does.
pub(crate) type Begun = (Option<Options>, CarriedOut);

/// A command that has the options of every command.
pub(crate) fn begun(
    options: Options,
    carried_out: impl Future<Output = Result<()>> + 'static,
) -> Begun {
    (Some(options), Box::pin(carried_out))
}

/// Runs a command.
pub(crate) fn run<A: ServerCommand>(command: AtServer<A>, environment: Environment) -> Begun {
    let AtServer { args, options } = command;
    begun(options.clone(), async move {
        let mut work = Work::silent(&options, environment)?;
        if A::ASKS_FOR_CLOCK {
            work.ask_for_clock().await;
        }
        advised(args.run(work).await, &options, environment).await
    })
}

async fn advised(done: Result<()>, options: &Options, environment: Environment) -> Result<()> {
    match done {
        Err(failure) if advice::has_more(&failure) => {
            Err(match Work::silent(options, environment) {
                Ok(work) => advice::advised(&work, failure).await,
                Err(_) => failure,
            })
        }
        done => done,
    }
}
