//! `job next`: when a job fires next.

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use minutehand_client::{ComingOccurrence, JobPath, Listed};
use minutehand_recurrence::format_instant;

use crate::failure::Result;
use crate::instant;
use crate::job::schedule::zone_named;
use crate::output::table::Table;
use crate::output::times::read;
use crate::repeat::Repeat;
use crate::work::{Work, zone_of};

/// The most occurrences that are shown.
const COUNT_MAX: u32 = 100_000;
/// The most occurrences of one answer of the server.
const ANSWER_MAX: usize = 1_000;
/// The finest instants.
const TICK: TimeDelta = TimeDelta::nanoseconds(100);

/// The arguments of `job next`.
#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// From this instant on: now+2h, tomorrow 00:00 [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,
    /// Show at most this many occurrences
    #[arg(long, short = 'n', alias = "count", value_name = "N", default_value_t = 10,
          value_parser = count, allow_negative_numbers = true)]
    limit: u32,
    /// Show times in this zone [default: the job's]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    #[command(flatten)]
    pub(super) repeat: Repeat,
}

fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=COUNT_MAX).contains(count));
    count.ok_or_else(|| format!("give a number from 1 to {COUNT_MAX}"))
}

pub(super) async fn next(work: &Work, args: &NextArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let answer = work.client().describe(&path).await?;
    let job = &answer.value;
    let own = zone_of(&job.properties);
    let zone = args.zone.as_deref().map(zone_named).transpose()?;
    let from = match &args.from {
        Some(from) => instant::parse(from, zone.or(own), work.now())?,
        None => work.now(),
    };
    if let (None, [why, ..]) = (&job.next, &job.not_firing[..]) {
        work.screen.note(&format!("it does not fire: {}", why.message));
    }
    let coming = coming(work, &path, from, args.limit as usize).await?;
    if let Some(json) = &work.json {
        return json.list(&work.screen, coming.items.iter().map(|item| item.text.as_str()));
    }
    let times = work.times(zone.or(own));
    let mut table = Table::new(&["fires", "in", "note"]);
    for Listed { value, .. } in &coming.items {
        let away = times.away(&value.at);
        let away = away.strip_prefix("in ").unwrap_or(&away).to_owned();
        let start = times.start(&value.at, value.starts_at.as_deref());
        let note = value.note.as_ref().map(|note| note.text.clone());
        let notes: Vec<String> = start.into_iter().chain(note).collect();
        table.row(vec![times.written(&value.at), away, notes.join("; ")]);
    }
    if table.is_empty() {
        return work.screen.line("nothing follows");
    }
    work.screen.table(&table)?;
    if coming.ends {
        work.screen.note("nothing follows after the last one");
    }
    Ok(())
}

/// Occurrences as the server counts them, and whether none follows.
struct Found {
    items: Vec<Listed<ComingOccurrence>>,
    ends: bool,
}

/// Asks again and again until there are as many as wanted.
async fn coming(work: &Work, path: &JobPath, from: DateTime<Utc>, max: usize) -> Result<Found> {
    let (mut items, mut from) = (Vec::new(), from);
    // Bounded: each answer but the last has as many occurrences as it may have.
    loop {
        let count = (max - items.len()).min(ANSWER_MAX);
        let answer = work.client().coming(path, &format_instant(from), count).await?;
        let found: Vec<Listed<ComingOccurrence>> = answer.value.occurrences;
        let last = found.last().and_then(|last| read(&last.value.at));
        let is_short = found.len() < count;
        items.extend(found);
        match last.and_then(|last| last.checked_add_signed(TICK)) {
            Some(next) if items.len() < max && !is_short && !answer.value.ends => from = next,
            _ => return Ok(Found { items, ends: answer.value.ends }),
        }
    }
}
