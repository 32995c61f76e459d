//! `import crontab --watch`: the crontab goes on to run its commands, and jobs expect pings of them.
//!
//! What is printed is the crontab with its pings. It is printed when the jobs are there, so one that is
//! installed pings jobs that exist. Jobs of an earlier run are left alone and pinged: the same command prints
//! the same crontab again.

use std::collections::HashMap;
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::Args;
use futures_util::{StreamExt, stream};
use minutehand_client::CollectionPath;
use minutehand_convert::{ConvertedJob, CrontabForm, SourcePlace, with_pings};
use serde_json::{Value, json};

use super::{Outcome, REQUESTS_MAX, Read};
use crate::failure::{Failure, REFUSED, Result};
use crate::instant;
use crate::work::Work;

/// How long a job waits for a ping, at least and at most.
const GRACE_MIN: TimeDelta = TimeDelta::seconds(1);
const GRACE_MAX: TimeDelta = TimeDelta::days(1);

/// The options of a crontab that is watched.
#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    /// Call nothing: expect a ping of each command, and print the crontab with the pings
    #[arg(long)]
    watch: bool,
    /// How long after its instant a ping may come [default: 10m]
    #[arg(long, value_name = "SPAN", requires = "watch")]
    grace: Option<String>,
}

impl WatchArgs {
    /// The window of the jobs, if pings are expected.
    pub(super) fn window(&self) -> Result<Option<Value>> {
        let grace = self.grace.as_deref();
        let grace = grace.map(|text| instant::given_span("--grace", text)).transpose()?;
        if grace.is_some_and(|grace| grace < GRACE_MIN || grace > GRACE_MAX) {
            return Err(Failure::refused(
                "--grace is 1 second to 1 day: a ping that comes later is missing",
            ));
        }
        let window =
            grace.map_or_else(|| json!({}), |grace| json!({"grace": instant::as_written(grace)}));
        Ok(self.watch.then_some(window))
    }
}

/// Refuses more than one crontab: what is printed is one.
pub(super) fn check(files: &[PathBuf]) -> Result<()> {
    if files.len() == 1 {
        return Ok(());
    }
    let hint = "run the command for each of them, each into a file of its own";
    Err(Failure::refused("--watch prints one crontab, so it takes one file".to_owned()).hint(hint))
}

/// The crontab with its pings, and the failure if a job's URL is not known: then its line stays as it is.
pub(super) async fn crontab(
    work: &Work,
    path: &CollectionPath,
    read: &Read,
    form: CrontabForm,
    outcomes: &[(&ConvertedJob, Outcome)],
) -> (String, Option<Failure>) {
    let there = outcomes.iter().filter(|(_, it)| !matches!(it, Outcome::Failed(_)));
    let asked = stream::iter(there)
        .map(|(job, outcome)| async move { (*job, url(work, path, job, outcome).await) });
    let answers: Vec<_> = asked.buffered(REQUESTS_MAX).collect().await;
    let (mut urls, mut failure) = (HashMap::<usize, Vec<String>>::new(), None);
    for (job, answer) in answers {
        let SourcePlace::Line(line) = job.place else { continue };
        match answer {
            Ok(url) => urls.entry(line).or_default().push(url),
            Err(error) => {
                let place = read.place(&job.place);
                work.screen.note(&format!("error: {place} stays as it is: {}: {error}", job.name));
                failure.get_or_insert(Failure::said(REFUSED));
            }
        }
    }
    (with_pings(&read.text, form, |line| urls.get(&line).cloned().unwrap_or_default()), failure)
}

/// Where a job takes its pings. One that was there before is the job of this line if it fires at the same times.
async fn url(
    work: &Work,
    path: &CollectionPath,
    job: &ConvertedJob,
    outcome: &Outcome,
) -> Result<String> {
    let path = path.job(&job.name);
    if matches!(outcome, Outcome::Exists) {
        let found = work.client().describe(&path).await?.value.sentence;
        if found != job.sentence {
            let why = format!("a job of this name is there, and it fires otherwise: {found}");
            return Err(
                Failure::refused(why).hint("import into a collection of its own, with --to")
            );
        }
    }
    Ok(work.client().ping_url(&path).await?.value.url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_is_waited_for_a_second_to_a_day() {
        let window =
            |grace: &str| WatchArgs { watch: true, grace: Some(grace.to_owned()) }.window();
        for (grace, is_allowed) in [
            ("0s", false),
            ("1s", true),
            ("24h", true),
            ("1D", true),
            ("25h", false),
            ("25H", false),
        ] {
            assert_eq!(window(grace).is_ok(), is_allowed, "{grace}");
        }
    }
}
