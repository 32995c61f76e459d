//! `job resume` and `job redrive`, which are for failures, and `job cancel`.

use clap::Args;
use minutehand_client::{Answer, JobPath};

use super::NamedArgs;
use super::create::say_next;
use super::why::instant_of;
use crate::failure::Result;
use crate::work::Work;

pub(super) async fn resume(work: &Work, args: &NamedArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let answer = work.client().resume(&path).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let job = work.client().describe(&path).await?.value;
    let name = work.defaults().short_job(&path);
    work.screen.line(&format!("{name} is {}", job.state))?;
    say_next(work, &job, "next fires")
}

/// The arguments of `job redrive` and `job cancel`.
#[derive(Debug, Args)]
pub(crate) struct OccurrenceArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Instant of the occurrence, as the history has it: '2027-01-03T09:00:00Z', 'yesterday 02:30'
    #[arg(value_name = "INSTANT", allow_hyphen_values = true)]
    at: String,
}

pub(super) async fn redrive(work: &Work, args: &OccurrenceArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let (at, zone) = instant_of(work, &path, &args.at).await?;
    let Answer { value, text, .. } = work.client().redrive_occurrence(&path, &at).await?;
    let of = work.times(zone).written(&value.redrive_of);
    tell(work, &path, &text, &format!(" runs now, for the occurrence {of}"))
}

pub(super) async fn cancel(work: &Work, args: &OccurrenceArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let (at, zone) = instant_of(work, &path, &args.at).await?;
    let Answer { value, text, .. } = work.client().cancel_occurrence(&path, &at).await?;
    let of = work.times(zone).written(&value.at);
    tell(work, &path, &text, &format!(": the attempt of {of} is cancelled"))
}

/// Says what becomes of a job, behind its name.
fn tell(work: &Work, path: &JobPath, json: &str, says: &str) -> Result<()> {
    let name = work.defaults().short_job(path);
    work.tell(json, &format!("{name}{says}"))?;
    if work.json.is_none() {
        work.screen.hint(&format!("minutehand job history {name}"));
    }
    Ok(())
}
