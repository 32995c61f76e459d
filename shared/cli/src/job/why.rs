//! `job why`: what became of an occurrence.

use clap::Args;
use minutehand_client::JobPath;
use minutehand_recurrence::format_instant;
use minutehand_recurrence::zone::Zone;

use crate::failure::Result;
use crate::instant;
use crate::output::table::{Table, harmless};
use crate::work::{Work, zone_of};

/// The arguments of `job why`.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Instant at which it fired or should have fired: 'yesterday 02:30', '19 Oct 02:30' [default: the newest
    /// one that did not go well]
    #[arg(value_name = "INSTANT", allow_hyphen_values = true)]
    at: Option<String>,
}

/// An instant as a person typed it, read on the clock of the job's zone; and that zone.
pub(crate) async fn instant_of(
    work: &Work,
    path: &JobPath,
    text: &str,
) -> Result<(String, Option<Zone>)> {
    let zone = zone_of(&work.client().job(path).await?.value.properties);
    let at = instant::parse(text, zone, work.now())?;
    Ok((format_instant(at), zone))
}

pub(super) async fn why(work: &Work, args: &WhyArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let zone = zone_of(&work.client().job(&path).await?.value.properties);
    let at = args.at.as_deref().map(|at| instant::parse(at, zone, work.now())).transpose()?;
    let at = at.map(format_instant);
    let answer = work.client().why(&path, at.as_deref()).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let (why, times) = (&answer.value, work.times(zone));
    work.screen.sentences(&harmless(&why.sentence))?;
    let mut table = Table::new(&["at", "what happened"]);
    for evidence in &why.evidence {
        table.row(vec![times.written(&evidence.at), harmless(&evidence.text)]);
    }
    for (instant, text) in
        [(&why.near.before, "the occurrence before it"), (&why.near.after, "the next occurrence")]
    {
        if let Some(instant) = instant {
            table.row(vec![times.written(instant), text.to_owned()]);
        }
    }
    if table.is_empty() { Ok(()) } else { work.screen.table(&table) }
}
