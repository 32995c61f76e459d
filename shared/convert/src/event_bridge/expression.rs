//! `rate(…)`, `cron(…)` and `at(…)`.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use minutehand_recurrence::zone::Zone;
use minutehand_recurrence::{WrittenDate, format_instant};
use serde_json::{Value, json};

use crate::cron::{Cron, check_zone};
use crate::document::set;
use crate::report::ProblemKind;
use crate::unsayable::{Unsayable, quoted};

/// The longest interval of a recurrence in minutes and in hours, and the longest in days.
const MINUTES_MAX: u32 = 1_000;
const DAYS_MAX: u32 = 548;

/// What stands around the expression of a schedule.
pub(super) struct Window {
    pub(super) now: DateTime<Utc>,
    pub(super) zone: Option<String>,
    pub(super) start: Option<DateTime<Utc>>,
    pub(super) end: Option<DateTime<Utc>>,
    pub(super) created: Option<DateTime<Utc>>,
}

/// When the job of a schedule fires.
pub(super) struct Times {
    pub(super) start: DateTime<Utc>,
    /// `None` for a job that runs once.
    pub(super) recurrence: Option<Value>,
    pub(super) notes: Vec<(ProblemKind, Unsayable)>,
}

impl Window {
    /// Reads an expression.
    pub(super) fn read(&self, expression: &str) -> Result<Times, Unsayable> {
        check_zone(self.zone.as_deref())?;
        let expression = expression.trim();
        let within = |kind: &str| {
            expression.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')').map(str::trim)
        };
        if let Some(rate) = within("rate") {
            return self.rate(rate);
        }
        if let Some(cron) = within("cron") {
            return self.cron(cron);
        }
        if let Some(at) = within("at") {
            return self.at(at);
        }
        Err(Unsayable::new(
            format!("{} is not an expression of EventBridge", quoted(expression)),
            "write rate(…), cron(…) or at(…)",
        ))
    }

    /// A rate counts elapsed time, also in days, so it has no zone.
    fn rate(&self, rate: &str) -> Result<Times, Unsayable> {
        let wrong = || {
            let why = format!("{} is not a rate", quoted(&format!("rate({rate})")));
            Unsayable::new(why, "write a number and a unit, such as rate(5 minutes)")
        };
        let (count, unit) = rate.split_once(char::is_whitespace).ok_or_else(wrong)?;
        let count: u32 = count.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
        let unit = unit.trim().to_ascii_lowercase();
        let minutes = match unit.trim_end_matches('s') {
            "minute" => 1,
            "hour" => 60,
            "day" => 1_440,
            _ => return Err(wrong()),
        };
        let minutes = u64::from(count) * minutes;
        let (frequency, interval) = interval(minutes).ok_or_else(|| {
            let why =
                format!("{} is not an interval of a recurrence", quoted(&format!("rate({rate})")));
            Unsayable::new(
                why,
                format!(
                    "use up to {MINUTES_MAX} minutes or hours, or whole days, up to {DAYS_MAX}"
                ),
            )
        })?;
        let mut recurrence = json!({"frequency": frequency, "interval": interval});
        if let Some(end) = self.end {
            self.check_order()?;
            set(&mut recurrence, "endTime", format_instant(end));
        }
        let step = TimeDelta::minutes(i64::try_from(minutes).unwrap_or(i64::MAX / 60_000));
        let mut notes = Vec::new();
        let start = if let Some(start) = self.start.or(self.created) {
            start
        } else {
            let why = "the file does not say when the intervals began, so they begin when the job \
                       is converted, and it fires one interval later";
            let remedy = "set startTime, if the minute matters";
            notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
            self.now + step
        };
        Ok(Times { start, recurrence: Some(recurrence), notes })
    }

    fn cron(&self, expression: &str) -> Result<Times, Unsayable> {
        self.check_order()?;
        let cron = Cron::event_bridge(expression)?;
        let timings = cron.timings(self.zone.as_deref(), self.now)?;
        let [timing] = timings.as_slice() else {
            let why = "the expression needs two recurrences";
            return Err(Unsayable::new(why, "write two schedules"));
        };
        let mut start = self.start.unwrap_or(timing.start_time);
        let mut end = self.end;
        if let Some((first, last)) = cron.years() {
            start = start.max(self.new_year(first)?);
            let last = self.new_year(last + 1)? - TimeDelta::seconds(1);
            end = Some(end.map_or(last, |end| end.min(last)));
            // Years that have passed: the job is over, and begins with the first of them.
            start = start.min(last);
        }
        let mut recurrence = timing.recurrence.clone();
        if let Some(end) = end {
            set(&mut recurrence, "endTime", format_instant(end));
        }
        Ok(Times { start, recurrence: Some(recurrence), notes: Vec::new() })
    }

    fn at(&self, text: &str) -> Result<Times, Unsayable> {
        let zone = self.zone.as_deref().and_then(Zone::named);
        let at = WrittenDate::parse(text).and_then(|date| date.instant(zone.as_ref()));
        let start = at.map_err(|error| {
            let why = format!("{} is not a time: {error}", quoted(&format!("at({text})")));
            Unsayable::new(why, "write at(2027-01-31T09:30:00)")
        })?;
        Ok(Times { start, recurrence: None, notes: Vec::new() })
    }

    fn check_order(&self) -> Result<(), Unsayable> {
        match (self.start, self.end) {
            (Some(start), Some(end)) if end < start => {
                let why = "the EndDate is before the StartDate";
                Err(Unsayable::new(why, "correct one of them"))
            }
            _ => Ok(()),
        }
    }

    /// The begin of a year in the zone of the schedule.
    fn new_year(&self, year: u32) -> Result<DateTime<Utc>, Unsayable> {
        let wrong = || Unsayable::new(format!("{year} is not a year"), "use a year up to 2199");
        let date = i32::try_from(year).ok().and_then(|year| NaiveDate::from_ymd_opt(year, 1, 1));
        let date = date.ok_or_else(wrong)?.format("%Y-%m-%dT00:00:00").to_string();
        let zone = self.zone.as_deref().and_then(Zone::named);
        WrittenDate::parse(&date).and_then(|date| date.instant(zone.as_ref())).map_err(|_| wrong())
    }
}

/// A number of minutes as a frequency with an interval. In UTC a day has 24 hours.
fn interval(minutes: u64) -> Option<(&'static str, u64)> {
    // The longest unit reads best.
    [("day", 1_440, DAYS_MAX), ("hour", 60, MINUTES_MAX), ("minute", 1, MINUTES_MAX)]
        .into_iter()
        .filter(|(_, unit, _)| minutes.is_multiple_of(*unit))
        .map(|(frequency, unit, max)| (frequency, minutes / unit, max))
        .find(|(_, interval, max)| *interval <= u64::from(*max))
        .map(|(frequency, interval, _)| (frequency, interval))
}
