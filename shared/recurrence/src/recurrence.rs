//! The first form of a rule: as its author sent it.
//!
//! This module checks each value on its own. [`Rule`](crate::Rule), the second form, checks whether
//! the parts fit together.

use std::fmt;
use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::date::WrittenDate;
use crate::error::{Fix, Refused, meant};
use crate::instant::format_instant;
use crate::object::{Object, whole};
use crate::usual;
use crate::words::{Frequency, Weekday};
use crate::zone::{self, Zone};

/// The maximum number of entries in `weekDays`.
const WEEK_DAYS_MAX: usize = 7;

/// The parts of a schedule that are lists, as messages name them.
const MINUTES: &str = "recurrence.schedule.minutes";
const HOURS: &str = "recurrence.schedule.hours";
const WEEK_DAYS: &str = "recurrence.schedule.weekDays";
const MONTH_DAYS: &str = "recurrence.schedule.monthDays";
const MONTHLY_OCCURRENCES: &str = "recurrence.schedule.monthlyOccurrences";
const MONTHS: &str = "recurrence.schedule.months";

/// The properties of a job that say when it runs.
const TIMING_PROPERTIES: [&str; 2] = ["startTime", "recurrence"];

/// A recurrence as its author sent it: names are canonical, lists keep their order, and repeated
/// values are removed.
///
/// ```
/// use minutehand_recurrence::Recurrence;
///
/// let json = serde_json::json!({"frequency": "Weekly", "schedule": {"weekDays": "Monday"}});
/// let recurrence = Recurrence::from_json(&json).unwrap();
/// assert_eq!(
///     recurrence.to_string(),
///     r#"{"frequency":"week","interval":1,"schedule":{"weekDays":["monday"]}}"#,
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    pub(crate) frequency: Frequency,
    pub(crate) interval: u32,
    pub(crate) count: Option<u32>,
    pub(crate) end_time: Option<DateTime<Utc>>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) time_zone: Option<TimeZoneName>,
}

/// The schedule of a recurrence; `None` means that the part is missing, and no list is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Schedule {
    pub(crate) minutes: Option<Vec<i64>>,
    pub(crate) hours: Option<Vec<i64>>,
    pub(crate) week_days: Option<Vec<Weekday>>,
    pub(crate) month_days: Option<Vec<i64>>,
    #[serde(default, deserialize_with = "usual::objects")]
    pub(crate) monthly_occurrences: Option<Vec<MonthlyOccurrence>>,
    pub(crate) months: Option<Vec<i64>>,
}

/// One weekday of a month, such as the last Friday; without a number, every such day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MonthlyOccurrence {
    pub(crate) day: Weekday,
    pub(crate) occurrence: Option<i64>,
}

/// A time zone, and the name that the author used for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeZoneName {
    pub(crate) name: String,
    pub(crate) zone: Zone,
}

impl Recurrence {
    /// The names of all properties of a recurrence.
    pub const PROPERTIES: [&'static str; 6] =
        ["frequency", "interval", "count", "endTime", "schedule", "timeZone"];

    /// Reads a recurrence from JSON.
    ///
    /// # Errors
    ///
    /// [`Refused`] if a property has an unknown name or an invalid value.
    pub fn from_json(json: &Value) -> Result<Self, Refused> {
        let object = Object::new("recurrence", json)?;
        let [frequency, interval, count, end_time, schedule, time_zone] = object.properties([
            &["frequency"],
            &["interval"],
            &["count"],
            &["endTime"],
            &["schedule"],
            &["timeZone"],
        ])?;
        let frequency = read_frequency(frequency)?;
        let interval = interval.map(|json| {
            read_whole("recurrence.interval", json, frequency.interval_max(), Some(frequency))
        });
        let interval = interval.transpose()?.unwrap_or(1);
        let time_zone = time_zone.map(read_time_zone).transpose()?;
        let zone = time_zone.as_ref().map(|name| &name.zone);
        Ok(Self {
            frequency,
            interval,
            count: count
                .map(|json| read_whole("recurrence.count", json, i32::MAX.cast_unsigned(), None))
                .transpose()?,
            end_time: end_time
                .map(|json| read_date("recurrence.endTime", json, zone))
                .transpose()?,
            schedule: schedule.map(Schedule::from_json).transpose()?,
            time_zone,
        })
    }

    /// Returns the time zone of the recurrence; `None` means UTC.
    ///
    /// A `startTime` without an offset is also a time of this zone.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        self.time_zone.as_ref().map(|name| &name.zone)
    }
}

/// Reads the `startTime` of a job; a date without an offset is a time of the given zone.
///
/// # Errors
///
/// [`Refused`] if the value is not a date.
pub fn read_start_time(json: &Value, zone: Option<&Zone>) -> Result<DateTime<Utc>, Refused> {
    read_date("startTime", json, zone)
}

/// Reads an object with a `startTime` and a `recurrence`, or a recurrence alone.
pub(crate) fn read_timing(
    json: &Value,
) -> Result<(Option<DateTime<Utc>>, Option<Recurrence>), Refused> {
    let is_name =
        |name: &String| TIMING_PROPERTIES.iter().any(|known| known.eq_ignore_ascii_case(name));
    if !json.as_object().is_some_and(|map| map.keys().any(is_name)) {
        return Ok((None, Some(Recurrence::from_json(json)?)));
    }
    let [start_time, recurrence] = Object::new("", json)?
        .properties(TIMING_PROPERTIES.each_ref().map(std::slice::from_ref))?;
    let recurrence = recurrence.map(Recurrence::from_json).transpose()?;
    let zone = recurrence.as_ref().and_then(Recurrence::zone);
    let start_time = start_time.map(|json| read_start_time(json, zone)).transpose()?;
    Ok((start_time, recurrence))
}

fn read_date(field: &str, json: &Value, zone: Option<&Zone>) -> Result<DateTime<Utc>, Refused> {
    let allowed = "use a date in quotation marks, such as \"2027-01-31T09:30:00Z\"";
    let text = json.as_str().ok_or_else(|| Refused::not_allowed(field, json, allowed))?;
    WrittenDate::parse(text)
        .and_then(|date| date.instant(zone))
        .map_err(|error| Refused::not_allowed(field, json, error.to_string()))
}

fn read_frequency(json: Option<&Value>) -> Result<Frequency, Refused> {
    let allowed = || format!("use one of {}", Frequency::ALL.map(Frequency::name).join(", "));
    let Some(json) = json else {
        let field = "recurrence.frequency".to_owned();
        return Err(Refused::Missing { field, allowed: allowed() });
    };
    json.as_str().and_then(Frequency::read).ok_or_else(|| {
        let written = json.as_str().unwrap_or_default();
        let names = Frequency::ALL.map(Frequency::name);
        let meant = meant(written, names);
        Refused::not_allowed("recurrence.frequency", json, allowed() + &meant)
            .or(Fix::one_of(written, names))
    })
}

/// Reads a number that may be at most `max`, perhaps because of a frequency.
fn read_whole(
    field: &str,
    json: &Value,
    max: u32,
    with: Option<Frequency>,
) -> Result<u32, Refused> {
    let range = 1..=i64::from(max);
    let number = whole(json, range.clone()).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        let with = with.map(|it| format!("with frequency '{}' ", it.name())).unwrap_or_default();
        let allowed = format!("{with}use a whole number from 1 to {max}");
        Refused::not_allowed(field, json, allowed).or(Fix::nearest_of(json, range))
    })
}

fn read_time_zone(json: &Value) -> Result<TimeZoneName, Refused> {
    let found = json.as_str().and_then(|name| {
        Zone::named(name).map(|zone| TimeZoneName { name: name.to_owned(), zone })
    });
    found.ok_or_else(|| {
        let like = json.as_str().and_then(zone::meant);
        let example = like.unwrap_or("Europe/Paris");
        let allowed = format!("use an IANA or Windows time zone name, such as '{example}'");
        Refused::not_allowed("recurrence.timeZone", json, allowed)
            .or(like.map(|zone| Fix::Use(zone.into())))
    })
}

impl Schedule {
    fn from_json(json: &Value) -> Result<Self, Refused> {
        let object = Object::new("recurrence.schedule", json)?;
        let [minutes, hours, week_days, month_days, monthly_occurrences, months] = object
            .properties([
                &["minutes", "minute"],
                &["hours", "hour"],
                &["weekDays"],
                &["monthDays"],
                &["monthlyOccurrences"],
                &["months"],
            ])?;
        Ok(Self {
            minutes: minutes.map(|json| read_numbers(MINUTES, 0..=59, json)).transpose()?,
            hours: hours.map(|json| read_numbers(HOURS, 0..=23, json)).transpose()?,
            week_days: week_days.map(read_week_days).transpose()?,
            month_days: month_days
                .map(|json| {
                    let allowed = || "use whole numbers from 1 to 31, or from -31 to -1 counted from the end of the month";
                    list(MONTH_DAYS, json, allowed, |day| {
                        whole(day, -31..=31).filter(|day| *day != 0)
                    })
                })
                .transpose()?,
            monthly_occurrences: monthly_occurrences.map(read_occurrences).transpose()?,
            months: months.map(|json| read_numbers(MONTHS, 1..=12, json)).transpose()?,
        })
    }

    /// Returns whether the schedule has no parts, which means the same as no schedule.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn read_numbers(
    field: &str,
    range: RangeInclusive<i64>,
    json: &Value,
) -> Result<Vec<i64>, Refused> {
    let allowed = || format!("use whole numbers from {} to {}", range.start(), range.end());
    list(field, json, allowed, |value| whole(value, range.clone()))
}

fn read_week_days(json: &Value) -> Result<Vec<Weekday>, Refused> {
    let allowed = "use up to 7 of monday, tuesday, wednesday, thursday, friday, saturday, sunday";
    if json.as_array().is_some_and(|days| days.len() > WEEK_DAYS_MAX) {
        return Err(Refused::not_allowed(WEEK_DAYS, json, allowed));
    }
    list(WEEK_DAYS, json, || allowed, |day| day.as_str().and_then(Weekday::read_name))
}

fn read_occurrences(json: &Value) -> Result<Vec<MonthlyOccurrence>, Refused> {
    let field = MONTHLY_OCCURRENCES;
    let allowed = || "use objects such as {\"day\":\"friday\",\"occurrence\":-1}";
    let mut read = Vec::new();
    for json in entries(field, json, allowed)? {
        let [day, occurrence] =
            Object::new(field, json)?.properties([&["day"], &["occurrence"]])?;
        let names = "use one of monday, tuesday, wednesday, thursday, friday, saturday, sunday";
        let Some(day) = day else {
            let field = format!("{field}.day");
            return Err(Refused::Missing { field, allowed: names.to_owned() });
        };
        let day = day
            .as_str()
            .and_then(Weekday::read_name)
            .ok_or_else(|| Refused::not_allowed(format!("{field}.day"), day, names))?;
        let occurrence = occurrence
            .map(|json| {
                let allowed = "use a whole number from 1 to 5, from -5 to -1 counted from the end of the month, or leave it out for every such day";
                whole(json, -5..=5).filter(|nth| *nth != 0).ok_or_else(|| {
                    Refused::not_allowed(format!("{field}.occurrence"), json, allowed)
                })
            })
            .transpose()?;
        let occurrence = MonthlyOccurrence { day, occurrence };
        if !read.contains(&occurrence) {
            read.push(occurrence);
        }
    }
    Ok(read)
}

/// Reads a list, or a single value as a list of one; repeated values are removed.
fn list<T: PartialEq, M: Into<String>>(
    field: &str,
    json: &Value,
    allowed: impl Fn() -> M,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Refused> {
    let mut values = Vec::new();
    for entry in entries(field, json, &allowed)? {
        let value = read(entry).ok_or_else(|| Refused::not_allowed(field, entry, allowed()))?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(values)
}

/// Returns the entries of a list; a single value is a list of one, and an empty list is refused.
fn entries<'a, M: Into<String>>(
    field: &str,
    json: &'a Value,
    allowed: impl Fn() -> M,
) -> Result<&'a [Value], Refused> {
    match json {
        Value::Array(entries) if entries.is_empty() => {
            let allowed: String = allowed().into();
            let refused = Refused::not_allowed(field, "[]", format!("{allowed}, or leave it out"));
            Err(refused.or([Fix::LeaveOut]))
        }
        Value::Array(entries) => Ok(entries),
        bare => Ok(std::slice::from_ref(bare)),
    }
}

impl fmt::Display for Recurrence {
    /// Writes compact JSON, with the properties in the order of Azure Scheduler's answers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"frequency":"{}""#, self.frequency.name())?;
        if let Some(count) = self.count {
            write!(f, r#","count":{count}"#)?;
        }
        if let Some(end) = self.end_time {
            write!(f, r#","endTime":"{}""#, format_instant(end))?;
        }
        write!(f, r#","interval":{}"#, self.interval)?;
        if let Some(schedule) = &self.schedule {
            write!(f, r#","schedule":{schedule}"#)?;
        }
        if let Some(zone) = &self.time_zone {
            write!(f, r#","timeZone":{}"#, Value::from(zone.name.as_str()))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = |list: &Vec<i64>| join(list.iter().map(ToString::to_string));
        let weekday = |day: &Weekday| format!("\"{}\"", day.name());
        let occurrence = |nth: &MonthlyOccurrence| {
            let day = nth.day.name();
            let occurrence = nth.occurrence.map(|nth| format!(r#","occurrence":{nth}"#));
            format!(r#"{{"day":"{day}"{}}}"#, occurrence.unwrap_or_default())
        };
        let lists = [
            ("minutes", self.minutes.as_ref().map(numbers)),
            ("hours", self.hours.as_ref().map(numbers)),
            ("weekDays", self.week_days.as_ref().map(|days| join(days.iter().map(weekday)))),
            ("monthDays", self.month_days.as_ref().map(numbers)),
            (
                "monthlyOccurrences",
                self.monthly_occurrences.as_ref().map(|list| join(list.iter().map(occurrence))),
            ),
            ("months", self.months.as_ref().map(numbers)),
        ];
        let lists = lists.into_iter().filter_map(|(name, list)| Some((name, list?)));
        let lists = lists.map(|(name, list)| format!(r#""{name}":[{list}]"#));
        write!(f, "{{{}}}", join(lists))
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}
