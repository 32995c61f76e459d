//! The first form of a rule: as it was sent, and as it is answered.
//!
//! Each value is checked by itself here; how the parts go together is the business of the second
//! form, [`Rule`](crate::Rule).

use std::fmt;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::date::{WrittenDate, format_instant};
use crate::error::{Refused, nearest};
use crate::words::{Frequency, Weekday};
use crate::zone::{self, Zone};

/// The most entries that `weekDays` may have.
const WEEK_DAYS_MAX: usize = 7;

/// A recurrence as it was sent: names made canonical, values in their order, each once.
///
/// ```
/// use minutehand_recurrence::Recurrence;
///
/// let sent = serde_json::json!({"frequency": "Weekly", "schedule": {"weekDays": "Monday"}});
/// let recurrence = Recurrence::from_json(&sent).unwrap();
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

/// The schedule of a recurrence as it was sent; `None` is absent, and no list is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Schedule {
    pub(crate) minutes: Option<Vec<i64>>,
    pub(crate) hours: Option<Vec<i64>>,
    pub(crate) week_days: Option<Vec<Weekday>>,
    pub(crate) month_days: Option<Vec<i64>>,
    pub(crate) monthly_occurrences: Option<Vec<MonthlyOccurrence>>,
    pub(crate) months: Option<Vec<i64>>,
}

/// One weekday of a month, or all of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MonthlyOccurrence {
    pub(crate) day: Weekday,
    pub(crate) occurrence: Option<i64>,
}

/// A time zone under the name that it was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeZoneName {
    pub(crate) sent: String,
    pub(crate) zone: Zone,
}

impl Recurrence {
    /// The properties of a recurrence.
    pub const PROPERTIES: [&'static str; 6] =
        ["frequency", "interval", "count", "endTime", "schedule", "timeZone"];

    /// Reads the JSON of a `recurrence`.
    ///
    /// # Errors
    ///
    /// [`Refused`] with the property, what was given and what is allowed.
    pub fn from_json(sent: &Value) -> Result<Self, Refused> {
        let object = Object::new("recurrence", sent)?;
        let [frequency, interval, count, end_time, schedule, time_zone] = object.properties([
            &["frequency"],
            &["interval"],
            &["count"],
            &["endTime"],
            &["schedule"],
            &["timeZone"],
        ])?;
        let frequency = read_frequency(frequency)?;
        let interval_max = frequency.interval_max();
        let interval = match interval {
            Some(sent) => whole(sent, 1..=i64::from(interval_max)).ok_or_else(|| {
                let name = frequency.name();
                Refused::not_allowed(
                    "recurrence.interval",
                    sent,
                    format!("with frequency '{name}' use a whole number from 1 to {interval_max}"),
                )
            })?,
            None => 1,
        };
        let time_zone = time_zone.map(read_time_zone).transpose()?;
        let zone = time_zone.as_ref().map(|name| &name.zone);
        Ok(Self {
            frequency,
            interval: u32::try_from(interval).unwrap_or(interval_max),
            count: count.map(read_count).transpose()?,
            end_time: end_time
                .map(|sent| read_date("recurrence.endTime", sent, zone))
                .transpose()?,
            schedule: schedule.map(Schedule::from_json).transpose()?,
            time_zone,
        })
    }

    /// The zone whose clock the rule is read on; `None` is UTC.
    ///
    /// A `startTime` without an offset is a time on this clock, too.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        self.time_zone.as_ref().map(|name| &name.zone)
    }
}

/// Reads the `startTime` of a job, without an offset on the clock of the recurrence's zone.
///
/// # Errors
///
/// [`Refused`] if it is not a date.
pub fn read_start_time(sent: &Value, zone: Option<&Zone>) -> Result<DateTime<Utc>, Refused> {
    read_date("startTime", sent, zone)
}

fn read_date(field: &str, sent: &Value, zone: Option<&Zone>) -> Result<DateTime<Utc>, Refused> {
    let text = sent
        .as_str()
        .ok_or_else(|| Refused::not_allowed(field, sent, "use a date in quotation marks"))?;
    WrittenDate::parse(text)
        .and_then(|date| date.instant(zone))
        .map_err(|error| Refused::not_allowed(field, sent, error.to_string()))
}

fn read_frequency(sent: Option<&Value>) -> Result<Frequency, Refused> {
    let names = Frequency::ALL.map(Frequency::name).join(", ");
    let allowed = format!("use one of {names}");
    let Some(sent) = sent else {
        return Err(Refused::Missing { field: "recurrence.frequency".to_owned(), allowed });
    };
    sent.as_str()
        .and_then(Frequency::read)
        .ok_or_else(|| Refused::not_allowed("recurrence.frequency", sent, allowed))
}

fn read_count(sent: &Value) -> Result<u32, Refused> {
    whole(sent, 1..=i64::from(i32::MAX)).and_then(|count| u32::try_from(count).ok()).ok_or_else(
        || {
            Refused::not_allowed(
                "recurrence.count",
                sent,
                "use a whole number from 1 to 2147483647",
            )
        },
    )
}

fn read_time_zone(sent: &Value) -> Result<TimeZoneName, Refused> {
    let found = sent.as_str().and_then(|name| {
        Zone::named(name).map(|zone| TimeZoneName { sent: name.to_owned(), zone })
    });
    found.ok_or_else(|| {
        let like = sent.as_str().and_then(|name| nearest(name, zone::names()));
        let example = like.unwrap_or("Europe/Paris");
        let allowed = format!("use an IANA or Windows name of a time zone, such as '{example}'");
        Refused::not_allowed("recurrence.timeZone", sent, allowed)
    })
}

impl Schedule {
    fn from_json(sent: &Value) -> Result<Self, Refused> {
        let object = Object::new("recurrence.schedule", sent)?;
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
            minutes: minutes.map(|sent| read_minutes("minutes", 59, sent)).transpose()?,
            hours: hours.map(|sent| read_minutes("hours", 23, sent)).transpose()?,
            week_days: week_days.map(read_week_days).transpose()?,
            month_days: month_days
                .map(|sent| {
                    let allowed = "use whole numbers from 1 to 31, or from -31 to -1 counted from the end of the month";
                    list("monthDays", sent, allowed, |day| {
                        whole(day, -31..=31).filter(|day| *day != 0)
                    })
                })
                .transpose()?,
            monthly_occurrences: monthly_occurrences.map(read_occurrences).transpose()?,
            months: months
                .map(|sent| {
                    list("months", sent, "use whole numbers from 1 to 12", |month| {
                        whole(month, 1..=12)
                    })
                })
                .transpose()?,
        })
    }

    /// Whether it says nothing: the same as none.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn read_minutes(name: &str, max: i64, sent: &Value) -> Result<Vec<i64>, Refused> {
    list(name, sent, &format!("use whole numbers from 0 to {max}"), |value| whole(value, 0..=max))
}

fn read_week_days(sent: &Value) -> Result<Vec<Weekday>, Refused> {
    let allowed = "use up to 7 of monday, tuesday, wednesday, thursday, friday, saturday, sunday";
    if sent.as_array().is_some_and(|days| days.len() > WEEK_DAYS_MAX) {
        return Err(Refused::not_allowed("recurrence.schedule.weekDays", sent, allowed));
    }
    list("weekDays", sent, allowed, |day| day.as_str().and_then(Weekday::read))
}

fn read_occurrences(sent: &Value) -> Result<Vec<MonthlyOccurrence>, Refused> {
    let field = "recurrence.schedule.monthlyOccurrences";
    let allowed = "use objects such as {\"day\":\"friday\",\"occurrence\":-1}";
    let mut read = Vec::new();
    for sent in entries(field, sent, allowed)? {
        let [day, occurrence] =
            Object::new(field, sent)?.properties([&["day"], &["occurrence"]])?;
        let names = "use one of monday, tuesday, wednesday, thursday, friday, saturday, sunday";
        let Some(day) = day else {
            let field = format!("{field}.day");
            return Err(Refused::Missing { field, allowed: names.to_owned() });
        };
        let day = day
            .as_str()
            .and_then(Weekday::read)
            .ok_or_else(|| Refused::not_allowed(format!("{field}.day"), day, names))?;
        let occurrence = occurrence
            .map(|sent| {
                let allowed = "use a whole number from 1 to 5, from -5 to -1 counted from the end of the month, or leave it out for every such day";
                whole(sent, -5..=5).filter(|nth| *nth != 0).ok_or_else(|| {
                    Refused::not_allowed(format!("{field}.occurrence"), sent, allowed)
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

/// The values of a list or a bare value, each once, in their order.
fn list<T: PartialEq>(
    name: &str,
    sent: &Value,
    allowed: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Refused> {
    let field = format!("recurrence.schedule.{name}");
    let mut values = Vec::new();
    for entry in entries(&field, sent, allowed)? {
        let value = read(entry).ok_or_else(|| Refused::not_allowed(&field, entry, allowed))?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(values)
}

/// The entries of a list; a bare value is a list of one; an empty list is refused.
fn entries<'a>(field: &str, sent: &'a Value, allowed: &str) -> Result<&'a [Value], Refused> {
    match sent {
        Value::Array(entries) if entries.is_empty() => {
            Err(Refused::not_allowed(field, "[]", format!("{allowed}, or leave it out")))
        }
        Value::Array(entries) => Ok(entries),
        bare => Ok(std::slice::from_ref(bare)),
    }
}

/// A whole number in a range; `3.0` is one.
fn whole(sent: &Value, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let number = sent.as_i64().or_else(|| {
        let float = sent.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15)?;
        format!("{float:.0}").parse().ok()
    })?;
    range.contains(&number).then_some(number)
}

/// An object whose properties are all known.
struct Object<'a> {
    path: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    fn new(path: &'a str, sent: &'a Value) -> Result<Self, Refused> {
        let map = sent
            .as_object()
            .ok_or_else(|| Refused::not_allowed(path, sent, "use a JSON object"))?;
        Ok(Self { path, map })
    }

    /// The values of its properties, each of which may have several spellings, in any case.
    ///
    /// `null` is absent. A name that is in none of the lists is refused: a misspelt `schedule`
    /// must not become a daily job.
    fn properties<const N: usize>(
        &self,
        known: [&[&'static str]; N],
    ) -> Result<[Option<&'a Value>; N], Refused> {
        let mut found: [Option<(&str, &Value)>; N] = [None; N];
        for (name, value) in self.map {
            let mut slots = found.iter_mut().zip(known);
            let Some((slot, spellings)) =
                slots.find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
            else {
                return Err(self.unknown(name, &known));
            };
            if value.is_null() {
                continue;
            }
            match *slot {
                // Our answers have `occurrence` in two cases, and may come back.
                Some((first, same)) if first.eq_ignore_ascii_case(name) && same == value => {}
                Some((first, _)) => {
                    let canonical = spellings.first().copied().unwrap_or(first);
                    return Err(Refused::Twice {
                        field: format!("{}.{canonical}", self.path),
                        first: first.to_owned(),
                        second: name.clone(),
                    });
                }
                None => *slot = Some((name, value)),
            }
        }
        Ok(found.map(|slot| slot.map(|(_, value)| value)))
    }

    fn unknown(&self, name: &str, known: &[&[&'static str]]) -> Refused {
        let names = known.iter().copied().flatten().copied();
        let hint = nearest(name, names).map_or_else(
            || {
                let canonical: Vec<_> =
                    known.iter().filter_map(|names| names.first().copied()).collect();
                format!("'{}' has {}.", self.path, canonical.join(", "))
            },
            |meant| format!("did you mean '{meant}'?"),
        );
        let written: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        Refused::Unknown { field: format!("{}.{written}", self.path), hint }
    }
}

impl fmt::Display for Recurrence {
    /// Compact JSON in the order of the original service's answers.
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
            write!(f, r#","timeZone":{}"#, Value::from(zone.sent.as_str()))?;
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
