//! `calendar`: how much fires in each hour of a week, as a map of heat.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, TimeDelta, Timelike as _, Utc, Weekday};
use clap::Args;
use client::AheadQuery;
use recurrence::zone::Zone;
use recurrence::{WrittenDate, format_instant};
use serde_json::json;

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::job::schedule::zone_named;
use crate::options::Options;
use crate::output::times::local;
use crate::work::Work;

const HOURS: usize = 24;
/// From nothing to the most.
const BLOCKS: [&str; 5] = ["·", "░", "▒", "▓", "█"];
const LETTERS: [&str; 5] = [".", "1", "2", "3", "4"];

/// The arguments of `calendar`.
#[derive(Debug, Args)]
pub struct CalendarArgs {
    /// Only the jobs of this collection [default: all of the subscription]
    collection: Option<String>,
    /// Week, like 2027-W12 [default: the seven days from today on]
    #[arg(long, value_name = "YEAR-WEEK")]
    week: Option<String>,
    /// Zone of the hours [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    #[command(flatten)]
    options: Options,
}

/// How much fires in each hour of a day. An hour that the clock skips has nothing, one that it shows
/// twice has both.
struct Day {
    date: NaiveDate,
    counts: [u64; HOURS],
}

impl CalendarArgs {
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) async fn run(self, environment: Environment) -> Result<()> {
        let work = Work::open(&self.options, environment)?;
        let zone = self.zone.as_deref().map(zone_named).transpose()?;
        let first = match &self.week {
            Some(week) => first_day(week)?,
            None => local(zone, work.now()).0.date(),
        };
        let days = week(&work, self.collection.as_deref(), first, zone).await?;
        if work.json.is_some() {
            let days: Vec<_> = days
                .iter()
                .map(|day| json!({"date": day.date.to_string(), "counts": day.counts}))
                .collect();
            let zone = zone.map_or("UTC", |zone| zone.name());
            return work.screen.line(&json!({"zone": zone, "days": days}).to_string());
        }
        work.screen.print(&map(&days, work.screen.ascii))
    }
}

/// The Monday of a week: `2027-W12`.
fn first_day(week: &str) -> Result<NaiveDate> {
    let parsed = week.split_once("-W").and_then(|(year, week)| {
        NaiveDate::from_isoywd_opt(year.parse().ok()?, week.parse().ok()?, Weekday::Mon)
    });
    parsed.ok_or_else(|| {
        Failure::refused(format!("--week '{week}' is no week; write it like 2027-W12"))
    })
}

/// The seven days from one on. The server counts each hour of the zone's clock.
async fn week(
    work: &Work,
    collection: Option<&str>,
    first: NaiveDate,
    zone: Option<Zone>,
) -> Result<Vec<Day>> {
    let outside = || Failure::refused("--week is outside the calendar");
    let end = first.checked_add_days(Days::new(7)).ok_or_else(outside)?;
    let from = hour_start(first, 0, zone)?;
    let query = AheadQuery {
        collection: collection.map(|name| work.defaults().collection(Some(name))).transpose()?,
        from: Some(format_instant(from)),
        to: Some(format_instant(hour_start(end, 0, zone)?)),
        zone: zone.map(|zone| zone.name().to_owned()),
        step: Some("PT1H".to_owned()),
        limit: None,
    };
    let load = work.client().load(&work.defaults().place.subscription, &query).await?;
    let days = (0..7).map_while(|n| first.checked_add_days(Days::new(n)));
    let mut days: Vec<Day> = days.map(|date| Day { date, counts: [0; HOURS] }).collect();
    for (hours, count) in (0_i64..).zip(load.counts) {
        let (shown, _) = local(zone, from + TimeDelta::hours(hours));
        let day = days.iter_mut().find(|day| day.date == shown.date());
        let hour = usize::try_from(shown.hour()).unwrap_or_default();
        if let Some(slot) = day.and_then(|day| day.counts.get_mut(hour)) {
            *slot += count;
        }
    }
    Ok(days)
}

/// The instant at which the clock of a zone begins an hour. An hour that the clock skips has no
/// minutes: it begins where the next one does.
fn hour_start(date: NaiveDate, hour: usize, zone: Option<Zone>) -> Result<DateTime<Utc>> {
    let written = format!("{date}T{hour:02}:00");
    let at = WrittenDate::parse(&written).and_then(|written| written.instant(zone.as_ref()));
    let at = at.map_err(|error| Failure::refused(format!("{written}: {error}")))?;
    // A skipped time is moved forward by the gap, past the end of the gap by what it was in it.
    let (shown, _) = local(zone, at);
    let hour = TimeDelta::hours(i64::try_from(hour).unwrap_or_default());
    let wanted = date.and_hms_opt(0, 0, 0).and_then(|midnight| midnight.checked_add_signed(hour));
    Ok(match wanted.map(|wanted| shown.signed_duration_since(wanted)) {
        Some(gap) if gap > TimeDelta::zero() => at - TimeDelta::minutes(i64::from(shown.minute())),
        _ => at,
    })
}

fn map(days: &[Day], ascii: bool) -> String {
    let most = days.iter().flat_map(|day| day.counts).max().unwrap_or_default();
    let signs = if ascii { &LETTERS } else { &BLOCKS };
    let mut text =
        "              00    03    06    09    12    15    18    21        sum\n".to_owned();
    for day in days {
        let blocks: String =
            day.counts.iter().map(|count| sign(*count, most, signs).repeat(2)).collect();
        let sum: u64 = day.counts.iter().sum();
        let date =
            format!("{} {:>2} {}", day.date.weekday(), day.date.day(), day.date.format("%b"));
        text.extend([format!("{date:<12}  {blocks}  {sum:>7}\n")]);
    }
    let [none, .., most_of_all] = signs;
    text.extend([format!(
        "{none} is none, {most_of_all} up to {most} in an hour
"
    )]);
    text
}

/// The sign of a count: what is not nothing does not look like nothing.
fn sign(count: u64, most: u64, signs: &[&'static str; 5]) -> &'static str {
    let level = if count == 0 { 0 } else { (count * 4).div_ceil(most.max(1)) };
    signs.get(usize::try_from(level).unwrap_or(usize::MAX).min(4)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_its_monday() {
        assert_eq!(first_day("2027-W12").unwrap().to_string(), "2027-03-22");
        for week in ["2027", "2027-W54", "2027-12", "W1"] {
            assert!(first_day(week).is_err(), "{week}");
        }
    }

    #[test]
    fn the_hours_of_a_day_are_those_of_its_zone() {
        let zone = Zone::named("Europe/Berlin");
        let date = NaiveDate::from_ymd_opt(2027, 3, 28).unwrap();
        let hours = |hour| {
            hour_start(date, hour + 1, zone).unwrap() - hour_start(date, hour, zone).unwrap()
        };
        // The clock skips 02:00 to 03:00.
        assert_eq!(hours(1), TimeDelta::hours(1));
        assert_eq!(hours(2), TimeDelta::zero());
        assert_eq!(hours(3), TimeDelta::hours(1));
    }

    #[test]
    fn what_is_not_nothing_is_seen() {
        assert_eq!(sign(0, 1_000, &LETTERS), ".");
        assert_eq!(sign(1, 1_000, &LETTERS), "1");
        assert_eq!(sign(501, 1_000, &LETTERS), "3");
        assert_eq!(sign(1_000, 1_000, &LETTERS), "4");
        assert_eq!(sign(0, 0, &LETTERS), ".");
    }
}
