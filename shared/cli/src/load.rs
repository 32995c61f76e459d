//! `collection load`: how many occurrences are due, and when.

use chrono::TimeDelta;
use clap::Args;
use minutehand_client::{AheadQuery, LoadAnswer};
use minutehand_recurrence::format_instant;

use crate::failure::Result;
use crate::instant;
use crate::job::schedule::zone_named;
use crate::output::table::Table;
use crate::output::times::read;
use crate::work::{Work, in_collection};

/// The arguments of `collection load`.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Name of the collection
    name: String,
    /// Span of one count: 1m, 5m, 15m, 1h or 1d
    #[arg(long, value_name = "SPAN", default_value = "1h",
          value_parser = ["1m", "5m", "15m", "1h", "1d"])]
    step: String,
    /// Count from then on [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,
    /// Count until then [default: a day later]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    to: Option<String>,
    /// Zone whose hours and days are counted [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
}

pub(crate) async fn load(work: &Work, args: &LoadArgs) -> Result<()> {
    let path = work.defaults().collection(Some(&args.name))?;
    let zone = args.zone.as_deref().map(zone_named).transpose()?;
    let instant = |text: &Option<String>| {
        let at = text.as_deref().map(|text| instant::parse(text, zone, work.now())).transpose()?;
        Ok::<_, crate::failure::Failure>(at.map(format_instant))
    };
    let query = AheadQuery {
        from: instant(&args.from)?,
        to: instant(&args.to)?,
        zone: zone.map(|zone| zone.name().to_owned()),
        step: Some(iso(&args.step)),
        collection: Some(path.clone()),
        limit: None,
    };
    let found = work.client().load(&path.place.subscription, &query).await;
    let found = found.map_err(in_collection(work, &path))?;
    if let Some(json) = &work.json {
        let text = serde_json::json!({
            "step": query.step, "from": found.from, "to": found.to,
            "starts": found.starts, "counts": found.counts, "jobs": found.jobs,
        });
        return json.document(&work.screen, &text.to_string());
    }
    let times = work.times(zone);
    let mut table = Table::new(&["from", "occurrences"]);
    let starts = starts(&found, &args.step);
    for (start, count) in starts.iter().zip(&found.counts).filter(|(_, count)| **count > 0) {
        table.row(vec![times.written(start), count.to_string()]);
    }
    if table.is_empty() {
        work.screen.hint("nothing is due in that time");
        return Ok(());
    }
    work.screen.table(&table)
}

/// The beginning of each span. Days have the server's: they are not equally long.
fn starts(found: &LoadAnswer, step: &str) -> Vec<String> {
    if let Some(starts) = &found.starts {
        return starts.clone();
    }
    let minutes = match step {
        "1m" => 1,
        "5m" => 5,
        "15m" => 15,
        _ => 60,
    };
    let Some(from) = found.from.as_deref().and_then(read) else {
        return Vec::new();
    };
    let spans = (0_i32..).zip(&found.counts);
    spans.map(|(n, _)| format_instant(from + TimeDelta::minutes(minutes) * n)).collect()
}

/// A span as the server reads it.
fn iso(step: &str) -> String {
    match step {
        "1d" => "P1D".to_owned(),
        step => format!("PT{}", step.to_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_begin_one_after_the_other() {
        let load = LoadAnswer {
            from: Some("2027-03-01T12:00:00Z".to_owned()),
            counts: vec![1, 0, 2],
            ..LoadAnswer::default()
        };
        assert_eq!(
            starts(&load, "15m"),
            ["2027-03-01T12:00:00Z", "2027-03-01T12:15:00Z", "2027-03-01T12:30:00Z"]
        );
        let days = vec!["2027-03-27T23:00:00Z".to_owned(), "2027-03-28T22:00:00Z".to_owned()];
        let load =
            LoadAnswer { starts: Some(days.clone()), counts: vec![1, 1], ..LoadAnswer::default() };
        assert_eq!(starts(&load, "1d"), days);
        assert_eq!((iso("5m").as_str(), iso("1d").as_str()), ("PT5M", "P1D"));
    }
}
