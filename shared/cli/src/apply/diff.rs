//! What differs between a job as a file has it and as the server has it.
//!
//! The result is a merge patch. A value that the server writes in another form is the same value: an
//! instant, a duration, a name in another case. What only the server knows stays: its status, stored
//! secrets, and the zone that a job was given by its collection.

use minutehand_recurrence::WrittenDate;
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value};

use super::secrets::is_reference;
use crate::masked::{WITHHELD, is_secret};
use crate::output::times::read;
use crate::snooze::SNOOZED_UNTIL;

/// What differs, as a merge patch, and as lines for people.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Difference {
    pub(super) patch: Map<String, Value>,
    pub(super) lines: Vec<String>,
}

/// Properties that only the server sets, or a person for a while: a file decides nothing about them.
const SERVERS: [&str; 6] = [
    "status",
    "paused",
    SNOOZED_UNTIL,
    "certificateThumbprint",
    "certificateSubjectName",
    "certificateExpiration",
];
/// Objects that a merge patch replaces as a whole.
const WHOLE: [&str; 1] = ["schedule"];
/// Names whose value may be written in any case.
const ANY_CASE: [&str; 9] =
    ["type", "method", "state", "frequency", "retryType", "weekDays", "day", "timeZone", "policy"];

/// Compares the properties of a job. A date without an offset is one in the zone.
pub(super) fn difference(
    wanted: &Map<String, Value>,
    found: &Map<String, Value>,
    zone: Option<Zone>,
) -> Difference {
    let (mut wanted, mut found) = (wanted.clone(), found.clone());
    let state = get(&found, "state").and_then(Value::as_str);
    if matches!(state, Some("completed" | "faulted")) {
        // No file can say that a job is over, and no change brings it back.
        found.retain(|name, _| !name.eq_ignore_ascii_case("state"));
        wanted.retain(|name, _| !name.eq_ignore_ascii_case("state"));
    } else if get(&wanted, "state").is_none() {
        wanted.insert("state".to_owned(), "enabled".into());
    }
    let mut comparison = Comparison { zone, lines: Vec::new() };
    let patch = comparison.compare(&wanted, &found, "");
    Difference { patch, lines: comparison.lines }
}

/// A comparison under way.
struct Comparison {
    zone: Option<Zone>,
    lines: Vec<String>,
}

impl Comparison {
    fn compare(
        &mut self,
        wanted: &Map<String, Value>,
        found: &Map<String, Value>,
        at: &str,
    ) -> Map<String, Value> {
        let mut patch = Map::new();
        for (name, value) in wanted {
            let here = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            let before = get(found, name);
            if SERVERS.contains(&name.as_str()) || is_kept(value, before) {
                continue;
            }
            match (value, before) {
                (Value::Object(value), Some(Value::Object(before)))
                    if !WHOLE.contains(&name.as_str()) && self.same_type(value, before) =>
                {
                    let changes = self.compare(value, before, &here);
                    if !changes.is_empty() {
                        patch.insert(name.clone(), changes.into());
                    }
                }
                (value, Some(before)) if self.same(name, value, before) => {}
                (Value::Null, None) => {}
                (value, before) => {
                    let was = before.map_or_else(|| "-".to_owned(), |value| shown(name, value));
                    self.lines.push(format!("{here}: {was} -> {}", shown(name, value)));
                    patch.insert(name.clone(), value.clone());
                }
            }
        }
        for (name, before) in found {
            if get(wanted, name).is_some() || SERVERS.contains(&name.as_str()) || is_secret(name) {
                continue;
            }
            // A job keeps the zone that its collection gave it, and an interval of 1 need not be written.
            let is_default = name == "interval" && *before == 1;
            if at == "recurrence" && (name == "timeZone" || is_default) {
                continue;
            }
            let here = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            self.lines.push(format!("{here}: {} -> -", shown(name, before)));
            patch.insert(name.clone(), Value::Null);
        }
        patch
    }

    /// An action or an authentication of another type replaces the old one as a whole.
    fn same_type(&self, wanted: &Map<String, Value>, found: &Map<String, Value>) -> bool {
        match (get(wanted, "type"), get(found, "type")) {
            (Some(wanted), Some(found)) => self.same("type", wanted, found),
            _ => true,
        }
    }

    /// Whether two values mean the same.
    fn same(&self, name: &str, wanted: &Value, found: &Value) -> bool {
        match (wanted, found) {
            (Value::String(wanted), Value::String(found)) => {
                wanted == found
                    || (ANY_CASE.contains(&name) && wanted.eq_ignore_ascii_case(found))
                    || self.instants(wanted, found)
                    || span(wanted).zip(span(found)).is_some_and(|(wanted, found)| wanted == found)
            }
            (Value::Array(wanted), Value::Array(found)) => {
                wanted.len() == found.len()
                    && wanted.iter().zip(found).all(|(wanted, found)| {
                        is_kept(wanted, Some(found)) || self.same(name, wanted, found)
                    })
            }
            (Value::Object(wanted), Value::Object(found)) => {
                wanted.len() == found.len()
                    && wanted.iter().all(|(name, value)| {
                        get(found, name).is_some_and(|found| self.same(name, value, found))
                    })
            }
            (Value::Number(wanted), Value::Number(found)) => wanted.as_f64() == found.as_f64(),
            (wanted, found) => wanted == found,
        }
    }

    fn instants(&self, wanted: &str, found: &str) -> bool {
        let wanted = WrittenDate::parse(wanted).and_then(|date| date.instant(self.zone.as_ref()));
        wanted.ok().zip(read(found)).is_some_and(|(wanted, found)| wanted == found)
    }
}

/// Finds a property by its name, in any case.
fn get<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| {
        object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    })
}

/// Whether a value stands for what is stored: a reference to a secret that is there, or the word for
/// one.
fn is_kept(value: &Value, before: Option<&Value>) -> bool {
    let is_stored =
        before.is_none_or(|before| before.as_str().is_some_and(|text| text.contains(WITHHELD)));
    value.as_str() == Some(WITHHELD) || (is_reference(value) && is_stored)
}

/// The seconds of a duration: `PT1M`, `P1DT2H` or `[d.]hh:mm:ss`.
fn span(text: &str) -> Option<u64> {
    if let Some(rest) = text.strip_prefix('P') {
        let (days, time) = rest.split_once('T').unwrap_or((rest, ""));
        let mut seconds = 0_u64;
        for (part, units) in [
            (days, [('D', 86_400), ('W', 604_800), ('\0', 0)].as_slice()),
            (time, [('H', 3_600), ('M', 60), ('S', 1)].as_slice()),
        ] {
            let mut number = String::new();
            for c in part.chars() {
                if c.is_ascii_digit() {
                    number.push(c);
                } else {
                    let (_, unit) = units.iter().find(|(unit, _)| *unit == c)?;
                    seconds =
                        seconds.checked_add(number.parse::<u64>().ok()?.checked_mul(*unit)?)?;
                    number.clear();
                }
            }
            if !number.is_empty() {
                return None;
            }
        }
        return Some(seconds);
    }
    let (days, clock) = text.split_once('.').unwrap_or(("0", text));
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let days = days.parse::<u64>().ok().filter(|_| parts.next().is_none())?;
    days.checked_mul(24)?
        .checked_add(hours)?
        .checked_mul(3_600)?
        .checked_add(minutes * 60 + seconds)
}

/// A value on one line, without secrets.
fn shown(name: &str, value: &Value) -> String {
    let value =
        crate::masked::masked(&Value::Object(Map::from_iter([(name.to_owned(), value.clone())])));
    let text = value.get(name).map(ToString::to_string).unwrap_or_default();
    console::truncate_str(&text, 60, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compared(wanted: Value, found: Value) -> (Value, Vec<String>) {
        let (Value::Object(wanted), Value::Object(found)) = (wanted, found) else { panic!() };
        let difference = difference(&wanted, &found, Zone::named("Europe/Berlin"));
        (Value::Object(difference.patch), difference.lines)
    }

    #[test]
    fn the_same_in_another_form_is_no_difference() {
        let wanted = json!({"startTime": "2027-01-01", "recurrence": {"frequency": "Week",
            "schedule": {"weekDays": ["Monday"], "hours": [9]}},
            "action": {"type": "http", "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M"},
                "request": {"headers": {"Cookie": {"$env": "C"}}, "authentication":
                    {"type": "basic", "username": "u", "password": {"$env": "P"}}}}});
        let found = json!({"startTime": "2026-12-31T23:00:00Z", "state": "enabled",
            "status": {"executionCount": 1},
            "recurrence": {"frequency": "week", "interval": 1, "timeZone": "Europe/Berlin",
                "schedule": {"weekDays": ["monday"], "hours": [9]}},
            "action": {"type": "Http", "retryPolicy": {"retryType": "fixed", "retryInterval": "00:01:00"},
                "request": {"headers": {"Cookie": "(withheld)"}, "authentication":
                    {"type": "Basic", "username": "u"}}}});
        assert_eq!(compared(wanted, found), (json!({}), vec![]));
    }

    #[test]
    fn a_job_that_is_over_stays_so() {
        let wanted = json!({"state": "enabled", "startTime": "2027-01-01T00:00:00Z"});
        let found = json!({"state": "completed", "startTime": "2027-01-01T00:00:00Z"});
        assert_eq!(compared(wanted, found), (json!({}), vec![]));
    }

    #[test]
    fn a_difference_is_a_merge_patch() {
        let wanted = json!({"recurrence": {"frequency": "day", "schedule": {"hours": [3]}},
            "action": {"type": "Http", "request": {"uri": "http://a/", "method": "GET"}}});
        let found = json!({"state": "disabled",
            "recurrence": {"frequency": "day", "count": 3, "schedule": {"hours": [2], "minutes": [0]}},
            "action": {"type": "Http", "request": {"uri": "http://a/", "method": "POST", "body": "x"}}});
        let (patch, lines) = compared(wanted, found);
        assert_eq!(
            patch,
            json!({"state": "enabled", "recurrence": {"count": null, "schedule": {"hours": [3]}},
                "action": {"request": {"method": "GET", "body": null}}})
        );
        assert!(
            lines.contains(&"action.request.method: \"POST\" -> \"GET\"".to_owned()),
            "{lines:?}"
        );
    }

    #[test]
    fn another_type_of_action_is_sent_whole() {
        let wanted = json!({"action": {"type": "Sqs", "sqsMessage": {"message": "m"}}});
        let found = json!({"state": "enabled", "action": {"type": "Http", "request": {}}});
        let (patch, _) = compared(wanted.clone(), found);
        assert_eq!(patch, wanted);
    }

    #[test]
    fn durations_have_two_forms() {
        for (one, other) in [("PT90S", "00:01:30"), ("P1DT2H", "1.02:00:00"), ("P2D", "2.00:00:00")]
        {
            assert_eq!(span(one), span(other), "{one}");
            assert!(span(one).is_some());
        }
        for text in ["", "P", "PT1X", "1:2", "soon", "a.b:c:d"] {
            assert!(span(text).is_none_or(|seconds| seconds == 0), "{text}");
        }
    }
}
