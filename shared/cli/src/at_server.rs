//! What every command that talks to a server has and does.

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
    pub(crate) options: Options,
}

/// The arguments of a command that talks to a server, and what it does.
pub(crate) trait ServerCommand: Args {
    /// Runs the command.
    async fn run(self, work: Work) -> Result<()>;
}

/// Runs a command. If the server is on this machine, it is first asked for its clock.
pub(crate) async fn run<A: ServerCommand>(
    command: AtServer<A>,
    environment: Environment,
) -> Result<()> {
    let work = Work::open(&command.options, environment).await?;
    advised(command, work, environment).await
}

/// Runs a command that does not depend on the server's clock.
pub(crate) async fn run_silent<A: ServerCommand>(
    command: AtServer<A>,
    environment: Environment,
) -> Result<()> {
    let work = Work::silent(&command.options, environment)?;
    advised(command, work, environment).await
}

async fn advised<A: ServerCommand>(
    command: AtServer<A>,
    work: Work,
    environment: Environment,
) -> Result<()> {
    let AtServer { args, options } = command;
    match args.run(work).await {
        Err(failure) if advice::has_more(&failure) => {
            Err(match Work::silent(&options, environment) {
                Ok(work) => advice::advised(&work, failure).await,
                Err(_) => failure,
            })
        }
        done => done,
    }
}
