//! What official clients cannot send: extensions, and time zones of recurrences.
//!
//! Their models drop both. A client that reads a job, changes it and puts it back must not remove
//! them, so a PUT that leaves them out keeps them, and `null` removes them.

use chrono::{DateTime, Utc};
use minutehand_recurrence::zone::Zone;
use minutehand_recurrence::{Recurrence, Rule, WrittenDate, format_instant, read_start_time};
use serde_json::{Map, Value};

use crate::extensions::EXTENSIONS;

const TIME_ZONE: &str = "timeZone";

/// Keeps the stored extensions in the body of a PUT that does not mention them.
///
/// `stored` are the stored properties. The body has canonical names.
pub fn keep_extensions(body: &mut Value, stored: &Value) {
    let Some(kept) = stored.get(EXTENSIONS).filter(|_| lacks_extensions(body)) else {
        return;
    };
    let Value::Object(body) = body else {
        return;
    };
    let properties = body.entry("properties").or_insert(Value::Null);
    if properties.is_null() {
        *properties = Value::Object(Map::new());
    }
    if let Value::Object(properties) = properties {
        properties.insert(EXTENSIONS.to_owned(), kept.clone());
    }
}

/// Whether a body does not mention its extensions.
#[must_use]
pub fn lacks_extensions(body: &Value) -> bool {
    body.pointer(&format!("/properties/{EXTENSIONS}")).is_none()
}

/// Whether a request names the time zone of a recurrence, or asks for none with `null`.
#[must_use]
pub fn names_time_zone(request: &Value) -> bool {
    request.pointer("/properties/recurrence/timeZone").is_some()
}

/// Adds a time zone to the body of a job that names none: the stored zone while the recurrence is
/// otherwise the same, else `default`, the zone of the collection, if the timing is a new one.
///
/// `stored` are the stored properties; `None` for a job that is created. The body has canonical
/// names. What cannot be read stays as it is, to be refused later.
pub fn add_time_zone(body: &mut Value, stored: Option<&Value>, default: Option<&str>) {
    let Some(properties) = body.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(Value::Object(recurrence)) = properties.get("recurrence") else {
        // A job that runs once has no recurrence to name a zone in.
        read_start_in(properties, default);
        return;
    };
    if recurrence.contains_key(TIME_ZONE) {
        return;
    }
    let zone = match stored {
        Some(stored) => unsent_zone(properties, recurrence, stored, default),
        None => default.map(str::to_owned),
    };
    if let (Some(zone), Some(Value::Object(recurrence))) = (zone, properties.get_mut("recurrence"))
    {
        recurrence.insert(TIME_ZONE.to_owned(), zone.into());
    }
}

/// The time zone of a changed job that names none.
fn unsent_zone(
    properties: &Map<String, Value>,
    recurrence: &Map<String, Value>,
    stored: &Value,
    default: Option<&str>,
) -> Option<String> {
    let before = stored.get("recurrence");
    let in_zone = |zone: Option<&str>| {
        let mut recurrence = recurrence.clone();
        recurrence.extend(zone.map(|zone| (TIME_ZONE.to_owned(), zone.into())));
        rule(&Value::Object(recurrence))
    };
    let zone_before = before.and_then(|before| before.get(TIME_ZONE)).and_then(Value::as_str);
    let rule_before = before.and_then(rule);
    let is_same_rule = rule_before.is_some() && in_zone(zone_before) == rule_before;
    match zone_before {
        Some(zone) if is_same_rule => Some(zone.to_owned()),
        None if is_same_rule
            && start(properties.get("startTime")) == start(stored.get("startTime")) =>
        {
            None
        }
        Some(_) | None => default.map(str::to_owned),
    }
}

fn rule(recurrence: &Value) -> Option<Rule> {
    Rule::canonical(&Recurrence::from_json(recurrence).ok()?).ok()
}

fn start(json: Option<&Value>) -> Option<DateTime<Utc>> {
    read_start_time(json?, None).ok()
}

/// Reads a start without an offset on the clock of a zone.
fn read_start_in(properties: &mut Map<String, Value>, zone: Option<&str>) {
    let zone = zone.and_then(Zone::named);
    let (Some(zone), Some(start)) = (zone, properties.get_mut("startTime")) else {
        return;
    };
    let written = start.as_str().and_then(|text| WrittenDate::parse(text).ok());
    if let Some(instant) = written.and_then(|date| date.instant(Some(&zone)).ok()) {
        *start = format_instant(instant).into();
    }
}
