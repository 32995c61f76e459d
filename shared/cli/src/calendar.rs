//! `calendar`: how much fires in each part of each day of a week, as a map of heat.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, TimeDelta, Timelike as _, Utc, Weekday};
use clap::Args;
use minutehand_client::AheadQuery;
use minutehand_recurrence::zone::Zone;
use minutehand_recurrence::{WrittenDate, format_instant};
use serde_json::json;

use crate::at_server::ServerCommand;
use crate::failure::{Failure, Result};
use crate::job::schedule::zone_named;
use crate::options::one_of;
use crate::output::times::local;
use crate::work::Work;

const MINUTES_OF_DAY: usize = 24 * 60;
/// How wide the map is, unless its steps are too many.
const WIDTH: usize = 48;
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
    /// Span of one sign
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = one_of(STEPS))]
    step: Step,
    /// Zone of the hours [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
}

/// The span of one sign, in minutes: a part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step(usize);

const STEPS: [(&str, Step); 6] = [
    ("15m", Step(15)),
    ("30m", Step(30)),
    ("1h", Step(60)),
    ("2h", Step(120)),
    ("3h", Step(180)),
    ("6h", Step(360)),
];

impl Step {
    /// The longest span of which it consists and that the server counts, in minutes and in its words.
    const fn counted(self) -> (i64, &'static str) {
        if self.0 < 60 { (15, "PT15M") } else { (60, "PT1H") }
    }

    const fn in_a_day(self) -> usize {
        MINUTES_OF_DAY / self.0
    }

    fn words(self) -> String {
        match self.0 {
            60 => "an hour".to_owned(),
            minutes if minutes < 60 => format!("{minutes} minutes"),
            minutes => format!("{} hours", minutes / 60),
        }
    }
}

/// How much fires in each step of a day. A step that the clock skips has nothing, one that it shows
/// twice has both.
struct Day {
    date: NaiveDate,
    counts: Vec<u64>,
}

impl ServerCommand for CalendarArgs {
    async fn run(self, work: Work) -> Result<()> {
        let zone = self.zone.as_deref().map(zone_named).transpose()?;
        let first = match &self.week {
            Some(week) => first_day(week)?,
            None => local(zone, work.now()).0.date(),
        };
        let days = week(&work, self.collection.as_deref(), (first, self.step), zone).await?;
        if work.json.is_some() {
            let days = days.iter();
            let days = days
                .map(|Day { date, counts }| json!({"date": date.to_string(), "counts": counts}));
            let (zone, days) = (zone.map_or("UTC", |zone| zone.name()), days.collect::<Vec<_>>());
            let document = json!({"zone": zone, "minutes": self.step.0, "days": days});
            return work.screen.line(&document.to_string());
        }
        let map = map(&days, self.step, work.screen.ascii);
        let lines = map.lines().map(|line| work.screen.cut(line) + "\n");
        work.screen.print(&lines.collect::<String>())
    }
}

/// The Monday of a week: `2027-W12`.
fn first_day(week: &str) -> Result<NaiveDate> {
    let parsed = week.split_once("-W").and_then(|(year, week)| {
        NaiveDate::from_isoywd_opt(year.parse().ok()?, week.parse().ok()?, Weekday::Mon)
    });
    parsed.ok_or_else(|| {
        Failure::refused(format!("--week '{week}' is not a week; write it like 2027-W12"))
    })
}

/// The seven days from one on. The server counts from the midnight of the zone's clock.
async fn week(
    work: &Work,
    collection: Option<&str>,
    (first, step): (NaiveDate, Step),
    zone: Option<Zone>,
) -> Result<Vec<Day>> {
    let (counted, counted_name) = step.counted();
    let outside = || Failure::refused("--week is outside the calendar");
    let end = first.checked_add_days(Days::new(7)).ok_or_else(outside)?;
    let from = hour_start(first, 0, zone)?;
    let query = AheadQuery {
        collection: collection.map(|name| work.defaults().collection(Some(name))).transpose()?,
        from: Some(format_instant(from)),
        to: Some(format_instant(hour_start(end, 0, zone)?)),
        zone: zone.map(|zone| zone.name().to_owned()),
        step: Some(counted_name.to_owned()),
        limit: None,
    };
    let load = work.client().load(&work.defaults().place.subscription, &query).await?;
    let days = (0..7).map_while(|n| first.checked_add_days(Days::new(n)));
    let mut days: Vec<Day> =
        days.map(|date| Day { date, counts: vec![0; step.in_a_day()] }).collect();
    for (n, count) in (0_i64..).zip(load.counts) {
        let (shown, _) = local(zone, from + TimeDelta::minutes(counted * n));
        let day = days.iter_mut().find(|day| day.date == shown.date());
        let minute = usize::try_from(shown.num_seconds_from_midnight() / 60).unwrap_or_default();
        if let Some(slot) = day.and_then(|day| day.counts.get_mut(minute / step.0)) {
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

fn map(days: &[Day], step: Step, ascii: bool) -> String {
    let most = days.iter().flat_map(|day| &day.counts).copied().max().unwrap_or_default();
    let signs = if ascii { &LETTERS } else { &BLOCKS };
    let wide = (WIDTH / step.in_a_day()).max(1);
    let width = wide * step.in_a_day();
    let hours = (0..8).map(|n| format!("{:<1$}", format!("{:02}", n * 3), width / 8));
    let hours = hours.collect::<Vec<_>>().concat();
    let mut text = format!("{:<12}  {hours}  {:>7}\n", "", "sum");
    for day in days {
        let blocks: String =
            day.counts.iter().map(|count| sign(*count, most, signs).repeat(wide)).collect();
        let sum: u64 = day.counts.iter().sum();
        let date =
            format!("{} {:>2} {}", day.date.weekday(), day.date.day(), day.date.format("%b"));
        text.extend([format!("{date:<12}  {blocks}  {sum:>7}\n")]);
    }
    let [none, .., most_of_all] = signs;
    text.extend([format!("{none} is none, {most_of_all} up to {most} in {}\n", step.words())]);
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
    fn a_map_has_a_sign_for_each_step() {
        for (step, signs) in [
            (Step(15), format!("{}4{}", ".".repeat(10), ".".repeat(85))),
            (Step(30), format!("{}4{}", ".".repeat(5), ".".repeat(42))),
            (Step(60), format!("{}44{}", ".".repeat(4), ".".repeat(42))),
            (Step(120), format!("....4444{}", ".".repeat(40))),
            (Step(180), format!("444444{}", ".".repeat(42))),
            (Step(360), format!("444444444444{}", ".".repeat(36))),
        ] {
            let mut counts = vec![0; step.in_a_day()];
            counts[150 / step.0] = 9;
            let date = NaiveDate::from_ymd_opt(2027, 3, 1).unwrap();
            let map = map(&[Day { date, counts }], step, true);
            let lines: Vec<&str> = map.lines().collect();
            assert_eq!(lines[1], format!("Mon  1 Mar    {signs}        9"));
            assert_eq!(lines[0].chars().count(), lines[1].chars().count(), "{map}");
            assert_eq!(lines[2], format!(". is none, 4 up to 9 in {}", step.words()));
        }
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
