//! Reads JSON text in its usual form, in half the time of any other form.
//!
//! In the usual form, names have their canonical spelling, lists are lists, whole numbers have no
//! fraction, texts have no escapes, and all values are valid. Any other text is for
//! [`Recurrence::from_json`], which knows more spellings and says what is wrong.

use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, Utc};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::date::WrittenDate;
use crate::recurrence::{Recurrence, Schedule, TimeZoneName};
use crate::words::Frequency;
use crate::zone::Zone;

/// A recurrence with its start.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Timing<'a> {
    start_time: Option<&'a str>,
    #[serde(borrow)]
    recurrence: Object<Usual<'a>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Usual<'a> {
    frequency: &'a str,
    interval: Option<u32>,
    count: Option<u32>,
    end_time: Option<&'a str>,
    schedule: Option<Object<Schedule>>,
    time_zone: Option<&'a str>,
}

/// An object; a type that only derives its reading would be read from a list as well.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData)).map(Object)
    }
}

struct Entries<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(entries))
    }
}

/// Reads a list of objects.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let list = Option::<Vec<Object<T>>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|Object(entry)| entry).collect()))
}

/// Reads a recurrence with or without its start; `None` if the text does not have the usual form.
pub(crate) fn read(text: &str) -> Option<(Option<DateTime<Utc>>, Recurrence)> {
    let (start_time, usual) = if text.contains("\"recurrence\"") {
        let Object(Timing { start_time, recurrence: Object(usual) }) =
            serde_json::from_str(text).ok()?;
        (start_time, usual)
    } else {
        let Object(usual) = serde_json::from_str::<Object<Usual<'_>>>(text).ok()?;
        (None, usual)
    };
    let schedule = usual.schedule.map(|Object(schedule)| schedule);
    let frequency = Frequency::read(usual.frequency)?;
    let interval = usual.interval.unwrap_or(1);
    let is_valid = (1..=frequency.interval_max()).contains(&interval)
        && usual.count.is_none_or(|count| (1..=i32::MAX.cast_unsigned()).contains(&count))
        && schedule.as_ref().is_none_or(is_valid);
    if !is_valid {
        return None;
    }
    let time_zone = match usual.time_zone {
        Some(name) => Some(TimeZoneName { name: name.to_owned(), zone: Zone::named(name)? }),
        None => None,
    };
    let zone = time_zone.as_ref().map(|name| &name.zone);
    let date = |text| WrittenDate::parse(text).and_then(|date| date.instant(zone));
    let start_time = start_time.map(date).transpose().ok()?;
    let end_time = usual.end_time.map(date).transpose().ok()?;
    let count = usual.count;
    Some((start_time, Recurrence { frequency, interval, count, end_time, schedule, time_zone }))
}

/// Returns whether no list is empty, and all values are in their ranges.
fn is_valid(schedule: &Schedule) -> bool {
    let within = |list: Option<&[i64]>, min, max| {
        let in_range = |value: &i64| (min..=max).contains(value);
        list.is_none_or(|list| !list.is_empty() && list.iter().all(in_range))
    };
    let week_days = schedule.week_days.as_ref();
    let occurrences = schedule.monthly_occurrences.as_ref();
    within(schedule.minutes.as_deref(), 0, 59)
        && within(schedule.hours.as_deref(), 0, 23)
        && week_days.is_none_or(|days| (1..=7).contains(&days.len()))
        && within(schedule.month_days.as_deref(), -31, 31)
        && schedule.month_days.as_ref().is_none_or(|days| !days.contains(&0))
        && occurrences.is_none_or(|list| {
            let is_nth = |nth: i64| nth != 0 && (-5..=5).contains(&nth);
            !list.is_empty() && list.iter().all(|each| each.occurrence.is_none_or(is_nth))
        })
        && within(schedule.months.as_deref(), 1, 12)
}
