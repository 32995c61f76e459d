//! `job why`: what became of an occurrence.

use clap::Args;
use recurrence::format_instant;

use crate::failure::Result;
use crate::instant;
use crate::output::table::{Table, harmless};
use crate::work::{Work, zone_of};

/// The arguments of `job why`.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Instant at which it fired or should have fired: 'yesterday 02:30', '19 Oct 02:30'
    #[arg(value_name = "INSTANT", allow_hyphen_values = true)]
    at: String,
}

pub(super) async fn why(work: &Work, args: &WhyArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let zone = zone_of(&work.client().job(&path).await?.value.properties);
    let at = instant::parse(&args.at, zone, work.now())?;
    let answer = work.client().why(&path, &format_instant(at)).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let (why, times) = (&answer.value, work.times(zone));
    work.screen.line(&why.sentence)?;
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
    work.screen.table(&table)
}
