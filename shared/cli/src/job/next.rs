//! `job next`: when a job fires next.

use chrono::{DateTime, Utc};
use clap::Args;
use recurrence::{Recurrence, Rule, Start, Timetable, format_instant};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::instant;
use crate::job::schedule::zone_named;
use crate::output::table::Table;
use crate::output::times::{clock_change_text, read};
use crate::work::{Work, zone_of};

/// The most occurrences of one answer.
const COUNT_MAX: u32 = 100_000;

/// The arguments of `job next`.
#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// From this instant on: now+2h, tomorrow 00:00 [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,
    /// Number of occurrences
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count,
          allow_negative_numbers = true)]
    count: u32,
    /// Show times in this zone [default: the job's]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
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
    if let Some(count) = job.properties.get("recurrence").and_then(|rule| rule.get("count")) {
        // The document does not say how many of them have run.
        work.screen
            .note(&format!("the job ends after {count} occurrences in all, those before included"));
    }
    let timetable = timetable(&answer.text, &job.properties, work.now())?;
    let occurrences: Vec<DateTime<Utc>> =
        std::iter::successors(timetable.at_or_after(from), |at| timetable.after(*at))
            .take(args.count as usize)
            .collect();
    if let Some(json) = &work.json {
        let items: Vec<String> = occurrences
            .iter()
            .map(|at| {
                json!({"at": format_instant(*at), "note": clock_change_text(&timetable, *at)})
                    .to_string()
            })
            .collect();
        return json.list(&work.screen, items.iter().map(String::as_str));
    }
    let times = work.times(zone.or(own));
    let mut table = Table::new(&["fires", "in", "note"]);
    for at in &occurrences {
        let away = times.away(&format_instant(*at));
        let away = away.strip_prefix("in ").unwrap_or(&away).to_owned();
        table.row(vec![
            times.at(*at),
            away,
            clock_change_text(&timetable, *at).unwrap_or_default(),
        ]);
    }
    if table.is_empty() {
        return work.screen.line("nothing follows");
    }
    work.screen.table(&table)
}

/// The timetable of a job as the server counts it: from its start, or from its anchor.
fn timetable(text: &str, properties: &Map<String, Value>, now: DateTime<Utc>) -> Result<Timetable> {
    let described: Value = serde_json::from_str(text).unwrap_or_default();
    let instant = |value: Option<&Value>| value.and_then(Value::as_str).and_then(read);
    let start = instant(properties.get("startTime"));
    let anchor = instant(described.get("anchor"));
    let refused = |refused: recurrence::Refused| Failure::failed(refused.to_string());
    let Some(recurrence) = properties.get("recurrence").filter(|value| !value.is_null()) else {
        return Ok(Timetable::once(start.or(anchor), now));
    };
    let recurrence = Recurrence::from_json(recurrence).map_err(refused)?;
    let rule = Rule::canonical(&recurrence).map_err(refused)?;
    let start = start.map(Start::Given).or(anchor.map(Start::Anchor));
    Timetable::resumed(&rule, start.unwrap_or(Start::Anchor(now)), now, 0).map_err(refused)
}
