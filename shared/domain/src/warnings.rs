//! Warnings about a job that is valid and may still surprise its author.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::{Recurrence, format_instant, named};
use serde_json::Value;
use url::{Host, Url};

use crate::action::{HttpRequest, Target};
use crate::credentials::is_credential_header;
use crate::job::{JobDefinition, Switch};
use crate::schedule::Schedule;

/// A job that ends within this time gets a warning.
const SOON: TimeDelta = TimeDelta::days(7);

/// Something that the author of a job should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The kind, for programs.
    pub kind: WarningKind,
    /// The sentence for people.
    pub text: String,
    /// The path of the property to look at, within the properties of the job.
    pub target: Option<&'static str>,
}

named! {
    /// The kinds of warnings.
    pub enum WarningKind {
        /// The job also fires at once when it is saved.
        FiresOnSave = "firesOnSave",
        /// No occurrence is left: the job completes at once.
        CompletesAtOnce = "completesAtOnce",
        /// The last occurrence is soon.
        EndsSoon = "endsSoon",
        /// A day of the month is missing in some months, which the job leaves out.
        SkipsMonths = "skipsMonths",
        /// Credentials are sent over http.
        CredentialsInClear = "credentialsInClear",
    }
}

/// The warnings about a job that is saved now. `timetable` are its occurrences if its timing changes
/// with that, and `None` if its timing stays.
#[must_use]
pub fn warnings(
    job: &JobDefinition,
    timetable: Option<&Schedule>,
    now: DateTime<Utc>,
) -> Vec<Warning> {
    let timetable = timetable.filter(|_| job.switch == Switch::Enabled);
    let timing = timetable.and_then(|timetable| about_timing(job, timetable, now));
    let months = job.recurrence.as_deref().and_then(about_months);
    let mut targets = job.action.targets();
    let clear = targets.any(sends_credentials_in_clear).then(|| Warning {
        kind: WarningKind::CredentialsInClear,
        text: "The request sends credentials over http, where others can read them; use https."
            .to_owned(),
        target: Some("action"),
    });
    timing.into_iter().chain(months).chain(clear).collect()
}

fn about_timing(job: &JobDefinition, timetable: &Schedule, now: DateTime<Utc>) -> Option<Warning> {
    let Some(first) = timetable.iter().next() else {
        return Some(Warning {
            kind: WarningKind::CompletesAtOnce,
            text: "No occurrence is left, so the job completes at once; change 'endTime'."
                .to_owned(),
            target: Some("recurrence.endTime"),
        });
    };
    // An anchor is cut to whole seconds.
    if first <= now {
        let (text, target) = match job.start_time {
            None => ("It also fires at once: no startTime is given.", "startTime"),
            Some(_) => ("It fires at once: its startTime has passed.", "startTime"),
        };
        let kind = WarningKind::FiresOnSave;
        return Some(Warning { kind, text: text.to_owned(), target: Some(target) });
    }
    let ends_at = now.checked_add_signed(SOON)?;
    let is_last = timetable.at_or_after(ends_at).is_none() && !timetable.runs_once();
    is_last.then(|| Warning {
        kind: WarningKind::EndsSoon,
        text: format!("Its last occurrence is before {}.", format_instant(ends_at)),
        target: Some("recurrence"),
    })
}

/// The warning about days that some months do not have.
fn about_months(recurrence: &Recurrence) -> Option<Warning> {
    let written: Value = serde_json::from_str(&recurrence.to_string()).ok()?;
    let days = written.pointer("/schedule/monthDays")?.as_array()?;
    let mut days = days.iter().filter_map(Value::as_i64);
    let longest = days.try_fold(0, |longest, day| (day.abs() > 28).then(|| longest.max(day.abs())));
    // If one of the days is in every month, no month is left out whole; that is what most mean.
    let day = longest.filter(|day| *day > 28)?;
    let n = match day {
        31 => "five months a year",
        30 => "every February",
        _ => "February, except in leap years,",
    };
    Some(Warning {
        kind: WarningKind::SkipsMonths,
        text: format!("Day {day} leaves out {n}; use day -1 for the last day of every month."),
        target: Some("recurrence.schedule.monthDays"),
    })
}

fn sends_credentials_in_clear(target: &Target) -> bool {
    let Target::Http(HttpRequest { uri, headers, authentication, .. }) = target else {
        return false;
    };
    let Ok(url) = Url::parse(uri) else {
        return false;
    };
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let mut names = headers.iter().flatten().map(|(name, _)| name);
    let has_credentials = authentication.is_some() || names.any(|name| is_credential_header(name));
    url.scheme() == "http" && !is_here && has_credentials
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::accept;
    use crate::plan::Plan;
    use crate::timing::Timing;

    const NOW: &str = "2027-01-01T12:00:00Z";

    fn kinds(properties: &Value) -> Vec<&'static str> {
        let now: DateTime<Utc> = NOW.parse().unwrap();
        let mut properties = properties.clone();
        if properties["action"].is_null() {
            let request = json!({"uri": "https://example.org", "method": "GET"});
            properties["action"] = json!({"type": "Https", "request": request});
        }
        let job = accept(&json!({"properties": properties}), Plan::Standard).unwrap();
        let timetable = Timing::created(&job, now).schedule(&job, "j", now).unwrap();
        let found = warnings(&job, Some(&timetable), now);
        // Without a change of timing, only what does not depend on it is worth a warning.
        let kept = warnings(&job, None, now);
        assert!(kept.iter().all(|warning| found.contains(warning)), "{kept:?}");
        found.iter().map(|warning| warning.kind.name()).collect()
    }

    #[test]
    fn the_table() {
        let monthly = |days: Value| {
            json!({"startTime": "2027-02-01", "recurrence":
                {"frequency": "month", "schedule": {"monthDays": days}}})
        };
        let http = |uri: &str| {
            let authentication = json!({"type": "Basic", "username": "u", "password": "p"});
            let request = json!({"uri": uri, "method": "GET", "authentication": authentication});
            json!({"startTime": "2027-02-01", "action": {"type": "Http", "request": request}})
        };
        for (job, expected) in [
            (json!({"startTime": "2027-02-01"}), &[][..]),
            (json!({}), &["firesOnSave"]),
            (json!({"startTime": "2026-01-01"}), &["firesOnSave"]),
            (json!({"recurrence": {"frequency": "day"}}), &["firesOnSave"]),
            (json!({"startTime": "2026-01-01T09:00", "recurrence": {"frequency": "day"}}), &[]),
            (json!({"recurrence": {"frequency": "day"}, "state": "disabled"}), &[]),
            (
                json!({"startTime": "2027-01-02", "recurrence": {"frequency": "day", "count": 3}}),
                &["endsSoon"],
            ),
            (
                json!({"startTime": "2026-01-01", "recurrence":
                    {"frequency": "day", "endTime": "2026-06-01"}}),
                &["completesAtOnce"],
            ),
            (monthly(json!([31])), &["skipsMonths"]),
            (monthly(json!([29, 30])), &["skipsMonths"]),
            (monthly(json!([1, 31])), &[]),
            (monthly(json!([-1])), &[]),
            (http("http://example.org"), &["credentialsInClear"]),
            (http("http://localhost:8000"), &[]),
            (http("https://example.org"), &[]),
        ] {
            assert_eq!(kinds(&job), expected, "{job}");
        }
    }
}
