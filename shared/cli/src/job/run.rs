//! `job run`: runs a job now, and waits for the result if asked to.

use std::time::Duration;

use clap::Args;
use minutehand_client::{HistoryProperties, JobPath};

use crate::failure::{ACTION_FAILED, Failure, Result};
use crate::instant::span_of;
use crate::output::table::harmless;
use crate::wait::pause;
use crate::work::Work;

/// How often the history is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many attempts one look covers. More would have to end between two looks.
const LOOK_AT: usize = 50;

/// The arguments of `job run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Begin the run once, however often this is called with the same key within 24 hours
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the result; exit with 5 if the action fails
    #[arg(long)]
    wait: bool,
    /// How long to wait: 90s, 10m
    #[arg(long, value_name = "SPAN", default_value = "90s", requires = "wait", value_parser = span)]
    timeout: Duration,
}

fn span(text: &str) -> Result<Duration, String> {
    let span = span_of(&text.to_ascii_lowercase()).and_then(|span| span.to_std().ok());
    span.ok_or_else(|| "write a span like 90s or 10m".to_owned())
}

pub(super) async fn run(work: &Work, args: &RunArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let name = work.defaults().short_job(&path);
    if args.wait {
        let key = args.idempotency_key.as_deref();
        let (attempt, text) = run_and_wait(work, &path, key, args.timeout).await?;
        return ended(work, &name, &attempt, &text);
    }
    work.client().run_job(&path, args.idempotency_key.as_deref()).await?;
    if work.json.is_none() {
        work.screen.line(&format!("{name} runs now"))?;
        work.screen.hint(&format!("minutehand job history {name}"));
    }
    Ok(())
}

/// Runs a job, and returns its attempt as it ended, and as the server answered it.
pub(crate) async fn run_and_wait(
    work: &Work,
    path: &JobPath,
    key: Option<&str>,
    timeout: Duration,
) -> Result<(HistoryProperties, String)> {
    let before = attempts(work, path).await?;
    work.client().run_job(path, key).await?;
    let mut waited = Duration::ZERO;
    loop {
        let now = attempts(work, path).await?;
        let fresh =
            now.into_iter().rev().find(|(name, _, _)| !before.iter().any(|(old, ..)| old == name));
        if let Some((_, attempt, text)) = fresh {
            return Ok((attempt, text));
        }
        if waited >= timeout {
            let name = work.defaults().short_job(path);
            return Err(Failure::failed(format!(
                "{name} did not end within {} s; it may still run",
                timeout.as_secs()
            ))
            .hint(format!("minutehand job history {name}")));
        }
        pause(LOOK_EVERY).await;
        waited += LOOK_EVERY;
    }
}

/// The latest attempts of the main action: their names, what they are, and as they were answered.
async fn attempts(work: &Work, path: &JobPath) -> Result<Vec<(String, HistoryProperties, String)>> {
    let items = work.client().history(path, None).up_to(LOOK_AT).await?;
    let main = items.into_iter().filter(|item| item.value.properties.is_of_action());
    Ok(main.map(|item| (item.value.name, item.value.properties, item.text)).collect())
}

fn ended(work: &Work, name: &str, attempt: &HistoryProperties, text: &str) -> Result<()> {
    if let Some(json) = &work.json {
        json.document(&work.screen, text)?;
    } else {
        let how = if attempt.failed() { work.screen.bad("failed") } else { work.screen.good("ok") };
        work.screen.line(&format!("{name}: {how}: {}", harmless(&attempt.told())))?;
    }
    if attempt.failed() { Err(Failure::said(ACTION_FAILED)) } else { Ok(()) }
}
