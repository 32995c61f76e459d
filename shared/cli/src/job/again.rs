//! `job resume` and `job redrive`, which are for failures, and `job cancel`.

use clap::Args;

use super::create::say_next;
use super::why::instant_of;
use crate::failure::Result;
use crate::work::Work;

/// The arguments of `job resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
}

pub(super) async fn resume(work: &Work, args: &ResumeArgs) -> Result<()> {
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
    let answer = work.client().redrive_occurrence(&path, &at).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let (name, times) = (work.defaults().short_job(&path), work.times(zone));
    let of = times.written(&answer.value.redrive_of);
    work.screen.line(&format!("{name} runs now, for the occurrence {of}"))?;
    work.screen.hint(&format!("minutehand job history {name}"));
    Ok(())
}

pub(super) async fn cancel(work: &Work, args: &OccurrenceArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let (at, zone) = instant_of(work, &path, &args.at).await?;
    let answer = work.client().cancel_occurrence(&path, &at).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let (name, times) = (work.defaults().short_job(&path), work.times(zone));
    let of = times.written(&answer.value.at);
    work.screen.line(&format!("{name}: the attempt of {of} is cancelled"))?;
    work.screen.hint(&format!("minutehand job history {name}"));
    Ok(())
}
