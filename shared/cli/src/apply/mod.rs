//! `apply` and `diff`: makes the jobs of collections what files say.
//!
//! The files are compared with the server, which is asked whether it would accept each change. What differs
//! is shown, and then changed: a PUT for a job that is missing, a PATCH of what differs for one that is
//! there. A command that ends in between leaves some changes made; the next one finds the others.

mod diff;
mod files;
mod plan;
mod secrets;

use std::path::PathBuf;

use clap::Args;
use minutehand_client::Precondition;
use serde_json::{Value, json};

use crate::apply::plan::{Plan, Step, What};
use crate::at_server::ServerCommand;
use crate::failure::{Failure, Result, found};
use crate::output::progress::Progress;
use crate::output::{ask, plural};
use crate::work::Work;

/// The arguments of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// Show what differs, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do it without asking
    #[arg(long, short)]
    yes: bool,
}

/// The arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// End with the exit code 2 if something differs, and with 0 only if nothing does
    #[arg(long)]
    exit_code: bool,
}

/// The exit code of `diff --exit-code` if something differs.
const DIFFERENCES: u8 = 2;

#[derive(Debug, Args)]
struct FilesArgs {
    /// File, or directory with files *.json, *.yaml and *.yml; - reads standard input
    #[arg(long = "file", short, value_name = "PATH", required = true)]
    files: Vec<PathBuf>,
    /// Delete jobs that are in no file, only in collections that the files name
    #[arg(long)]
    prune: bool,
    /// Send the secrets of existing jobs again
    #[arg(long)]
    send_secrets: bool,
}

impl ServerCommand for ApplyArgs {
    async fn run(self, work: Work) -> Result<()> {
        let plan = self.files.plan(&work).await?;
        if self.dry_run {
            return show(&work, &plan, true);
        }
        show(&work, &plan, false)?;
        if plan.steps.is_empty() {
            return Ok(());
        }
        let question = if plan.deletes() > 0 {
            format!("Make these changes, and delete {} for good?", plural(plan.deletes(), "job"))
        } else {
            "Make these changes?".to_owned()
        };
        ask::confirm(&work.screen, &question, self.yes)?;
        carry_out(&work, &plan).await
    }
}

impl ServerCommand for DiffArgs {
    async fn run(self, work: Work) -> Result<()> {
        let plan = self.files.plan(&work).await?;
        show(&work, &plan, true)?;
        // A job that no file has is a difference only if it would be deleted.
        if self.exit_code && !plan.steps.is_empty() {
            return Err(Failure::said(DIFFERENCES));
        }
        Ok(())
    }
}

impl FilesArgs {
    async fn plan(&self, work: &Work) -> Result<Plan> {
        let wanted = files::read(&self.files, work.defaults())?;
        Plan::make(work, &wanted, self.prune, self.send_secrets).await
    }
}

fn show(work: &Work, plan: &Plan, is_dry: bool) -> Result<()> {
    if work.json.is_some() {
        let steps: Vec<Value> = plan.steps.iter().map(|step| step.json(work)).collect();
        let document = json!({
            "steps": steps, "unchanged": plan.unchanged, "surplus": plan.surplus,
            "dryRun": is_dry,
        });
        return work.screen.line(&document.to_string());
    }
    let names: Vec<String> = plan.steps.iter().map(|step| step.name(work)).collect();
    let names = names.iter().chain(&plan.surplus);
    let width = names.map(String::len).max().unwrap_or_default();
    for step in &plan.steps {
        let name = step.name(work);
        for (n, line) in step.lines.iter().enumerate() {
            let (mark, name) = if n == 0 { (step.mark(), name.as_str()) } else { (" ", "") };
            let mark = match mark {
                "+" => work.screen.good(mark),
                "-" => work.screen.bad(mark),
                mark => work.screen.warn(mark),
            };
            work.screen.line(&format!("{mark} {name:<width$}  {line}"))?;
        }
    }
    for name in &plan.surplus {
        work.screen.line(&work.screen.dim(&format!("- {name:<width$}  only with --prune")))?;
    }
    let (create, change, delete) = plan.counts();
    let end = match (plan.steps.is_empty(), is_dry) {
        (true, _) => format!("nothing to do; {} as the files say", plural(plan.unchanged, "job")),
        (false, true) => {
            format!("{create} to create, {change} to change, {delete} to delete; nothing was done")
        }
        (false, false) => format!("{create} to create, {change} to change, {delete} to delete"),
    };
    work.screen.line(&end)
}

/// Makes the changes, each by itself; the first that fails ends the command.
async fn carry_out(work: &Work, plan: &Plan) -> Result<()> {
    let progress = Progress::new(&work.screen, "applying", plan.steps.len());
    for (done, step) in plan.steps.iter().enumerate() {
        if let Err(failure) = carry_out_step(work, step).await {
            let name = step.name(work);
            let total = plan.steps.len();
            return Err(Failure {
                message: format!("{name}: {failure} ({done} of {total} changes were made)"),
                ..failure
            });
        }
        progress.step();
    }
    drop(progress);
    if work.json.is_none() {
        work.screen.line("done")?;
    }
    Ok(())
}

async fn carry_out_step(work: &Work, step: &Step) -> Result<()> {
    let client = work.client();
    match &step.what {
        What::CreateCollection(path, document) => {
            client.put_collection(path, document, Precondition::New).await?;
        }
        What::ChangeCollection(path, changes) => {
            client.patch_collection(path, changes).await?;
        }
        What::CreateJob(path, document) => {
            client.put_job(path, document, Precondition::New).await?;
        }
        What::ChangeJob(path, changes) => {
            client.patch_job(path, changes, Precondition::Always).await?;
        }
        What::DeleteJob(path) => {
            found(client.delete_job(path).await)?;
        }
    }
    Ok(())
}
