//! When a job fires, from options to the properties of a job.
//!
//! The result always has a `startTime`: a job without one would run at once.

use chrono::{DateTime, DurationRound as _, Months, TimeDelta, Utc};
use clap::Args;
use minutehand_convert::Unsayable;
use minutehand_convert::cron::Cron;
use minutehand_recurrence::zone::{self, Zone};
use minutehand_recurrence::{Timetable, format_instant};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::job::days::{Days, sorted};
use crate::merge::object;
use crate::{input, instant};

const HEADING: &str = "When it fires";

/// What `--at` needs beside it.
const AT_NEEDS: &str = "--at alone does not say on which days: add --on mon-fri (or other days), --daily, \
                        or --once";

/// The options that say when a job fires.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ScheduleArgs {
    /// Time of day, or several that share hours or minutes: 09:00 or 08:00,17:00; with --once an
    /// instant, too
    #[arg(long, value_name = "HH:MM", help_heading = HEADING)]
    pub(crate) at: Option<String>,
    /// Days: mon-fri; sat,sun; 1,15,last of the month; first-mon; last-fri
    #[arg(long, value_name = "DAYS", help_heading = HEADING, conflicts_with_all = ["daily", "once"])]
    pub(crate) on: Option<String>,
    /// Every day
    #[arg(long, help_heading = HEADING, conflicts_with = "once")]
    pub(crate) daily: bool,
    /// One time only
    #[arg(long, help_heading = HEADING)]
    pub(crate) once: bool,
    /// Interval: 15m, 2h, 1d, 2w, 1mo, 1y; with --at, every n-th day, week or month
    #[arg(long, value_name = "INTERVAL", help_heading = HEADING)]
    pub(crate) every: Option<String>,
    /// Cron expression: '*/5 * * * *', '0 9 * * mon-fri', '0 6 L * *', @daily
    #[arg(long, value_name = "EXPRESSION", help_heading = HEADING,
          conflicts_with_all = ["at", "on", "daily", "once", "every", "months"])]
    pub(crate) cron: Option<String>,
    /// Months in which it fires: jan,apr or 1,4,7,10
    #[arg(long, value_name = "MONTHS", help_heading = HEADING)]
    pub(crate) months: Option<String>,
    /// Time zone of all times: Europe/Berlin [default: the collection's, else UTC]
    #[arg(long, value_name = "ZONE", help_heading = HEADING)]
    pub(crate) zone: Option<String>,
    /// Do not fire before this instant; an interval is counted from it
    #[arg(long, value_name = "INSTANT", help_heading = HEADING)]
    pub(crate) start: Option<String>,
    /// Do not fire after this instant
    #[arg(long, value_name = "INSTANT", help_heading = HEADING)]
    pub(crate) end: Option<String>,
    /// End after this many occurrences
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    pub(crate) count: Option<u32>,
}

/// The properties that say when a job fires.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Timing {
    pub(crate) start: DateTime<Utc>,
    /// `None` if it fires once.
    pub(crate) recurrence: Option<Value>,
}

impl Timing {
    /// Adds the timing to the properties of a job.
    pub(crate) fn put_into(&self, properties: &mut Map<String, Value>) {
        properties.insert("startTime".to_owned(), format_instant(self.start).into());
        if let Some(recurrence) = &self.recurrence {
            properties.insert("recurrence".to_owned(), recurrence.clone());
        }
    }

    /// Adds to a merge patch what replaces the timing of a job that has these properties.
    pub(crate) fn replace(&self, found: &Map<String, Value>, patch: &mut Map<String, Value>) {
        self.put_into(patch);
        let old = found.get("recurrence").and_then(Value::as_object);
        match (patch.get_mut("recurrence"), old) {
            (Some(Value::Object(new)), Some(old)) => {
                for name in old.keys() {
                    new.entry(name).or_insert(Value::Null);
                }
            }
            (None, Some(_)) => {
                patch.insert("recurrence".to_owned(), Value::Null);
            }
            (_, _) => {}
        }
    }
}

/// The timetable of a job with these properties that is created now.
pub(crate) fn timetable(properties: &Map<String, Value>, now: DateTime<Utc>) -> Result<Timetable> {
    let timing: Map<String, Value> = ["startTime", "recurrence"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), properties.get(name)?.clone())))
        .collect();
    let timetable = Timetable::from_json_text(&Value::Object(timing).to_string(), now);
    timetable.map_err(|refused| Failure {
        hint: refused.detail(),
        ..Failure::refused(refused.to_string())
    })
}

impl ScheduleArgs {
    /// Whether nothing says when the job fires.
    pub(crate) fn is_empty(&self) -> bool {
        self.at.is_none()
            && self.on.is_none()
            && !self.daily
            && !self.once
            && self.every.is_none()
            && self.cron.is_none()
            && self.months.is_none()
    }

    /// Whether any of the options is given.
    pub(crate) fn is_any_given(&self) -> bool {
        !self.is_empty()
            || self.zone.is_some()
            || self.start.is_some()
            || self.end.is_some()
            || self.count.is_some()
    }

    /// The timings of the jobs that are created now: one, or two for a cron expression that means a day
    /// of the month or a day of the week.
    pub(crate) fn timings(&self, now: DateTime<Utc>) -> Result<Vec<Timing>> {
        let Some(expression) = &self.cron else {
            return Ok(vec![self.timing(now)?]);
        };
        let zone = self.zone.as_deref().map(zone_named).transpose()?;
        let unsayable = |unsayable: Unsayable| {
            Failure::refused(format!("--cron: {}", unsayable.why)).hint(unsayable.remedy)
        };
        let start = self.start(zone, now)?.unwrap_or_else(|| next_minute(now));
        let cron = Cron::unix(expression).map_err(unsayable)?;
        let timings = cron.timings(zone.as_ref().map(Zone::name), now).map_err(unsayable)?;
        timings
            .into_iter()
            .map(|timing| {
                let timing = Timing { start, recurrence: Some(timing.recurrence) };
                self.bounded(timing, zone, now)
            })
            .collect()
    }

    fn timing(&self, now: DateTime<Utc>) -> Result<Timing> {
        let zone = self.zone.as_deref().map(zone_named).transpose()?;
        let every = self.every.as_deref().map(Every::parse).transpose()?;
        let timing = match (&self.at, every) {
            (None, _) if self.once => Err(Failure::refused(
                "--once needs the instant: add --at 18:00 or --at '2026-12-24 18:00'",
            )),
            (None, _) if self.on.is_some() || self.daily => {
                Err(Failure::refused("the time of day is missing: add --at 09:00"))
            }
            (None, None) => Err(nothing_said()),
            (None, Some(every)) => self.interval(every, zone, now),
            (Some(at), None) if self.once => self.one_time(at, zone, now),
            (Some(_), Some(_)) if self.once => {
                Err(Failure::refused("--once and --every exclude each other: give one of them"))
            }
            (Some(at), every) => self.calendar(at, every, zone, now),
        }?;
        self.bounded(timing, zone, now)
    }

    /// At an instant, one time.
    fn one_time(&self, at: &str, zone: Option<Zone>, now: DateTime<Utc>) -> Result<Timing> {
        if self.count.is_some()
            || self.end.is_some()
            || self.start.is_some()
            || self.months.is_some()
        {
            return Err(Failure::refused(
                "--once takes only --at and --zone: drop --start, --end, --count and --months",
            ));
        }
        let mut start = instant::parse(at, zone, now)?;
        if start <= now && Times::parse(at).is_ok() {
            // A time of day that is over today is tomorrow's.
            start = instant::parse(&format!("tomorrow {at}"), zone, now)?;
        }
        if start <= now {
            return Err(Failure::refused(format!(
                "--at {at} is over: give an instant to come, or `minutehand job run` runs a job now"
            )));
        }
        Ok(Timing { start, recurrence: None })
    }

    /// Every n minutes, hours, days, weeks, months or years, from one interval from now on.
    fn interval(&self, every: Every, zone: Option<Zone>, now: DateTime<Utc>) -> Result<Timing> {
        if self.months.is_some() {
            return Err(Failure::refused("--months needs --at with --on or --daily"));
        }
        let this_minute = now.duration_trunc(TimeDelta::minutes(1)).unwrap_or(now);
        let too_long = || Failure::refused("--every is longer than the calendar");
        let start = match self.start(zone, now)? {
            Some(start) => start,
            None => every.after(this_minute).ok_or_else(too_long)?,
        };
        let mut recurrence = every.recurrence();
        self.add_zone(&mut recurrence, zone);
        Ok(Timing { start, recurrence: Some(Value::Object(recurrence)) })
    }

    /// At times of day, on days.
    fn calendar(
        &self,
        at: &str,
        every: Option<Every>,
        zone: Option<Zone>,
        now: DateTime<Utc>,
    ) -> Result<Timing> {
        let days = match (&self.on, self.daily, every) {
            (Some(on), _, _) => Days::parse(on)?,
            (None, true, _) | (None, false, Some(Every { unit: "day", .. })) => Days::Daily,
            (None, false, Some(Every { unit: unit @ ("minute" | "hour"), .. })) => {
                return Err(Failure::refused(format!(
                    "--every with {unit}s and --at exclude each other: an interval has no time of \
                     day; --start says when it begins"
                )));
            }
            (None, false, Some(_)) => {
                return Err(Failure::refused("the days are missing: add --on mon, or --on 1"));
            }
            (None, false, None) => return Err(Failure::refused(AT_NEEDS)),
        };
        let months = self.months.as_deref().map(months).transpose()?;
        let times = Times::parse(at)?;
        let (unit, mut schedule) = days.schedule(months.is_some());
        let every = every.unwrap_or(Every { n: 1, unit });
        if every.unit != unit {
            return Err(Failure::refused(format!(
                "--every with {}s does not fit these days: they repeat by the {unit}",
                every.unit
            )));
        }
        schedule.insert("hours".to_owned(), json!(times.hours));
        schedule.insert("minutes".to_owned(), json!(times.minutes));
        if let Some(months) = months {
            schedule.insert("months".to_owned(), json!(months));
        }
        let mut recurrence = every.recurrence();
        recurrence.insert("schedule".to_owned(), Value::Object(schedule));
        self.add_zone(&mut recurrence, zone);
        let start = self.start(zone, now)?.unwrap_or_else(|| next_minute(now));
        Ok(Timing { start, recurrence: Some(Value::Object(recurrence)) })
    }

    /// The instant of `--start`.
    fn start(&self, zone: Option<Zone>, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
        self.start.as_deref().map(|start| instant::parse(start, zone, now)).transpose()
    }

    fn add_zone(&self, recurrence: &mut Map<String, Value>, zone: Option<Zone>) {
        if let Some(zone) = zone.filter(|_| self.zone.is_some()) {
            recurrence.insert("timeZone".to_owned(), zone.name().into());
        }
    }

    /// Adds the count and the end.
    fn bounded(
        &self,
        mut timing: Timing,
        zone: Option<Zone>,
        now: DateTime<Utc>,
    ) -> Result<Timing> {
        let Some(Value::Object(recurrence)) = &mut timing.recurrence else {
            return Ok(timing);
        };
        if let Some(count) = self.count {
            recurrence.insert("count".to_owned(), count.into());
        }
        if let Some(end) = &self.end {
            let end = instant::parse(end, zone, now)?;
            if end < timing.start {
                return Err(Failure::refused(format!(
                    "--end {} is before the start, {}: it would never fire",
                    format_instant(end),
                    format_instant(timing.start)
                )));
            }
            recurrence.insert("endTime".to_owned(), format_instant(end).into());
        }
        Ok(timing)
    }
}

fn nothing_said() -> Failure {
    Failure::refused("it is not said when the job fires").hint(
        "--every 15m; --at 09:00 with --on mon-fri, --daily or --once; --cron '0 9 * * 1-5'; or -f \
         FILE with a whole job",
    )
}

/// The first whole minute after now, so that a time of day that has just begun is not due at once.
fn next_minute(now: DateTime<Utc>) -> DateTime<Utc> {
    let minute = TimeDelta::minutes(1);
    let this = now.duration_trunc(minute).unwrap_or(now);
    if this == now { this } else { this + minute }
}

/// Finds a time zone by its name.
pub(crate) fn zone_named(name: &str) -> Result<Zone> {
    Zone::named(name).ok_or_else(|| {
        let failure = Failure::refused(format!("'{name}' is not a time zone"));
        match zone::meant(name) {
            Some(near) => failure.hint(format!("did you mean '{near}'? Names are those of IANA")),
            None => failure.hint("use an IANA name, such as Europe/Berlin"),
        }
    })
}

/// Times of day: every hour with every minute.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Times {
    hours: Vec<u32>,
    minutes: Vec<u32>,
}

impl Times {
    fn parse(text: &str) -> Result<Self> {
        let mut times = Vec::new();
        for part in text.split(',') {
            times.push(time(part.trim()).ok_or_else(|| {
                Failure::refused(format!(
                    "--at: '{}' is not a time of day; write it like 09:00 or 17:30",
                    part.trim()
                ))
            })?);
        }
        let times = sorted(times);
        let hours: Vec<u32> = sorted(times.iter().map(|(hour, _)| *hour).collect());
        let minutes: Vec<u32> = sorted(times.iter().map(|(_, minute)| *minute).collect());
        if hours.len() * minutes.len() != times.len() {
            return Err(Failure::refused(format!(
                "--at {text}: one job fires at every hour with every minute, so these times would \
                 bring others with them; make a job for each"
            )));
        }
        Ok(Self { hours, minutes })
    }
}

fn time(text: &str) -> Option<(u32, u32)> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (hour, minute) = (number(hour)?, number(minute).filter(|_| minute.len() == 2)?);
    (hour < 24 && minute < 60).then_some((hour, minute))
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Every {
    n: u32,
    pub(super) unit: &'static str,
}

impl Every {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let refused = |why: &str| Failure::refused(format!("--every {text}: {why}"));
        let forms = "write an interval like 15m, 2h, 1d, 2w, 1mo or 1y";
        let lower = text.trim().to_ascii_lowercase();
        let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
        let (n, unit) = lower.split_at(digits);
        let n: u32 = if n.is_empty() { 1 } else { n.parse().map_err(|_| refused(forms))? };
        let unit = match unit.trim() {
            "m" | "min" | "minute" | "minutes" => "minute",
            "h" | "hour" | "hours" => "hour",
            "d" | "day" | "days" => "day",
            "w" | "week" | "weeks" => "week",
            "mo" | "month" | "months" => "month",
            "y" | "year" | "years" => "year",
            "s" | "sec" | "second" | "seconds" => {
                return Err(refused("a job fires at most once a minute: use 1m"));
            }
            _ => match instant::span_of(&lower) {
                Some(span) if span.num_seconds() % 60 == 0 => {
                    let n = u32::try_from(span.num_minutes()).map_err(|_| refused(forms))?;
                    return Ok(Self { n, unit: "minute" });
                }
                _ => return Err(refused(forms)),
            },
        };
        if n == 0 {
            return Err(refused("an interval is at least 1"));
        }
        Ok(Self { n, unit })
    }

    fn recurrence(self) -> Map<String, Value> {
        let interval = (self.n != 1).then(|| self.n.into());
        object([("frequency", Some(self.unit.into())), ("interval", interval)])
    }

    /// The instant one interval later.
    fn after(self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let minutes = match self.unit {
            "minute" => 1,
            "hour" => 60,
            "day" => 24 * 60,
            "week" => 7 * 24 * 60,
            "month" => return at.checked_add_months(Months::new(self.n)),
            _ => return at.checked_add_months(Months::new(self.n.checked_mul(12)?)),
        };
        at.checked_add_signed(TimeDelta::try_minutes(i64::from(self.n) * minutes)?)
    }
}

/// Reads months: `jan,apr` or `1,4,7,10`.
fn months(text: &str) -> Result<Vec<u32>> {
    let mut months = Vec::new();
    for part in text.to_ascii_lowercase().split(',').map(str::trim) {
        let number = part.parse().ok().filter(|month| (1..=12).contains(month));
        months.push(number.or_else(|| instant::month_of(part)).ok_or_else(|| {
            Failure::refused(format!("--months: '{part}' is not a month; write jan or 1"))
        })?);
    }
    Ok(sorted(months))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::times::read;

    fn args(line: &str) -> ScheduleArgs {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: ScheduleArgs,
        }
        let words = std::iter::once("x").chain(line.split(' '));
        <Line as clap::Parser>::try_parse_from(words).unwrap().args
    }

    fn timings(line: &str) -> Result<Vec<(String, Value)>> {
        // A Sunday.
        let now = read("2026-11-22T13:48:06.5Z").unwrap();
        let timings = args(line).timings(now)?.into_iter();
        let shown = timings
            .map(|timing| (format_instant(timing.start), timing.recurrence.unwrap_or_default()));
        Ok(shown.collect())
    }

    fn timing(line: &str) -> Result<(String, Value)> {
        timings(line).map(|mut timings| timings.remove(0))
    }

    #[test]
    fn a_cron_expression_is_one_job_or_two() {
        let sentences = |expression: &str| {
            let args =
                ScheduleArgs { cron: Some(expression.to_owned()), ..ScheduleArgs::default() };
            let now = read("2026-11-22T13:48:06.5Z").unwrap();
            let timings = args.timings(now)?;
            assert!(timings.iter().all(|timing| timing.start > now), "{expression}");
            let sentence = |timing: &Timing| {
                let mut job = Map::new();
                timing.put_into(&mut job);
                let timetable = minutehand_recurrence::Timetable::from_json_text(
                    &Value::Object(job).to_string(),
                    now,
                );
                timetable.unwrap().sentence()
            };
            Ok::<_, Failure>(timings.iter().map(sentence).collect::<Vec<_>>())
        };
        for (expression, expected) in [
            (
                "30 2 * * 1-5",
                &["every week on Monday, Tuesday, Wednesday, Thursday and Friday at 02:30 UTC"][..],
            ),
            ("0 18 L * *", &["every month on the last day at 18:00 UTC"]),
            ("@daily", &["every day at 00:00 UTC"]),
            (
                "0 6 1 * mon",
                &["every month on day 1 at 06:00 UTC", "every week on Monday at 06:00 UTC"],
            ),
        ] {
            assert_eq!(sentences(expression).unwrap(), expected, "{expression}");
        }
        for (expression, says) in
            [("0 9 15W * *", "'15W'"), ("* * *", "--cron"), ("@reboot", "start of a machine")]
        {
            let failure = sentences(expression).unwrap_err();
            assert!(failure.message.contains(says) && failure.hint.is_some(), "{failure:?}");
        }
    }

    #[test]
    fn options_become_a_start_and_a_recurrence() {
        for (line, start, recurrence) in [
            (
                "--at 09:00 --on mon-fri --zone europe/berlin",
                "2026-11-22T13:49:00Z",
                json!({"frequency": "week", "timeZone": "Europe/Berlin", "schedule": {
                    "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"],
                    "hours": [9], "minutes": [0]}}),
            ),
            (
                "--at 08:00,17:00 --daily",
                "2026-11-22T13:49:00Z",
                json!({"frequency": "day", "schedule": {"hours": [8, 17], "minutes": [0]}}),
            ),
            (
                "--at 9:00,9:30 --every 2w --on fri --count 4",
                "2026-11-22T13:49:00Z",
                json!({"frequency": "week", "interval": 2, "count": 4, "schedule": {
                    "weekDays": ["friday"], "hours": [9], "minutes": [0, 30]}}),
            ),
            (
                "--at 06:00 --on 1 --months jan,4,july,10",
                "2026-11-22T13:49:00Z",
                json!({"frequency": "month", "schedule": {
                    "monthDays": [1], "months": [1, 4, 7, 10], "hours": [6], "minutes": [0]}}),
            ),
            (
                "--at 10:00 --on first-mon",
                "2026-11-22T13:49:00Z",
                json!({"frequency": "month", "schedule": {"hours": [10], "minutes": [0],
                    "monthlyOccurrences": [{"day": "monday", "occurrence": 1}]}}),
            ),
            ("--every 15m", "2026-11-22T14:03:00Z", json!({"frequency": "minute", "interval": 15})),
            (
                "--every 1h30m",
                "2026-11-22T15:18:00Z",
                json!({"frequency": "minute", "interval": 90}),
            ),
            ("--every hour", "2026-11-22T14:48:00Z", json!({"frequency": "hour"})),
            ("--every 1mo", "2026-12-22T13:48:00Z", json!({"frequency": "month"})),
            ("--every 1d --start now", "2026-11-22T13:48:06.5Z", json!({"frequency": "day"})),
            (
                "--every 2h --end 2026-11-23T00:00:00Z",
                "2026-11-22T15:48:00Z",
                json!({"frequency": "hour", "interval": 2, "endTime": "2026-11-23T00:00:00Z"}),
            ),
            (
                "--every 2h --zone Asia/Tokyo --end 2026-11-24T00:00",
                "2026-11-22T15:48:00Z",
                json!({"frequency": "hour", "interval": 2, "timeZone": "Asia/Tokyo",
                    "endTime": "2026-11-23T15:00:00Z"}),
            ),
            ("--at 18:00 --once", "2026-11-22T18:00:00Z", Value::Null),
            ("--at 08:00 --once --zone Europe/Berlin", "2026-11-23T07:00:00Z", Value::Null),
            ("--at 2026-12-24T18:00 --once", "2026-12-24T18:00:00Z", Value::Null),
        ] {
            assert_eq!(timing(line).unwrap(), (start.to_owned(), recurrence), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_refused_with_what_can() {
        for (line, says) in [
            ("--at 09:00", "add --on mon-fri (or other days), --daily, or --once"),
            ("--on mon", "add --at 09:00"),
            ("--daily", "add --at 09:00"),
            ("--once", "--once needs the instant"),
            ("--zone UTC", "it is not said when the job fires"),
            ("--every 30s", "at most once a minute"),
            ("--every 0m", "at least 1"),
            ("--every often", "write an interval like 15m"),
            ("--every 15m --at 09:00", "an interval has no time of day"),
            ("--every 2w --at 09:00", "add --on mon, or --on 1"),
            ("--every 2mo --at 09:00 --on mon", "they repeat by the week"),
            ("--at 09:00,17:30 --daily", "make a job for each"),
            ("--at 24:00 --daily", "'24:00' is not a time of day"),
            ("--at 9 --daily", "'9' is not a time of day"),
            ("--at 2020-01-01 --once", "is over"),
            ("--at 09:00 --daily --zone Europe/Berln", "'Europe/Berln' is not a time zone"),
            ("--at 09:00 --daily --months smarch", "'smarch' is not a month"),
            ("--every 1h --end 2020-01-01", "is before the start"),
            ("--at 09:00 --once --count 2", "--once takes only --at and --zone"),
        ] {
            let failure = timing(line).unwrap_err();
            assert!(failure.message.contains(says), "{line}: {failure}");
            assert_eq!(failure.code, crate::failure::REFUSED, "{line}");
        }
    }
}
