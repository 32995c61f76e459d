//! Previews: when a job would fire, and what to know about it, without storing anything.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use minutehand_recurrence::{
    ClockChange, Recurrence, Refused, Rule, Start, Timetable, named, read_start_time,
};
use serde_json::{Map, Value, json};

use crate::document::{JOB, canonical_names};
use crate::duration::Span;
use crate::extensions::{EXTENSIONS, JobExtensions};
use crate::json::{Fields, Reading};
use crate::plan::Plan;
use crate::policies::Policies;
use crate::refusal::Refusal;
use crate::schedule::Schedule;

/// How far ahead [`clock_changes`] looks.
const CHANGES_WITHIN: TimeDelta = TimeDelta::days(10 * 366);
/// How far from a clock change an occurrence may be that the change affects.
const NEAR_A_CHANGE: TimeDelta = TimeDelta::hours(3);
/// The most occurrences near one clock change that are examined: six hours of minutes.
const NEAR_A_CHANGE_MAX: usize = 361;

/// The timing in the document of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenTiming {
    /// The start; `None` is the instant at which the job is created.
    pub start_time: Option<DateTime<Utc>>,
    /// The rule; `None` if the job runs once.
    pub rule: Option<Rule>,
    /// Its extensions, policies among them.
    pub extensions: Option<JobExtensions>,
    /// Whether the job is disabled.
    pub is_disabled: bool,
}

/// Why a document has no timing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTiming {
    /// It is not a job; the text says why.
    #[error("{0}")]
    NotAJob(&'static str),
    /// The timing is refused.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// An extension is refused.
    #[error(transparent)]
    Extension(#[from] Refusal),
}

impl WrittenTiming {
    /// Reads a whole job, its `properties`, or a recurrence with or without a `startTime`. Only the
    /// timing is read: the action may be missing.
    ///
    /// # Errors
    ///
    /// If it is none of them, or if the timing is refused.
    pub fn read(job: &Value) -> Result<Self, NoTiming> {
        let job = job.as_object().ok_or(NoTiming::NotAJob("it is not a JSON object"))?;
        if let Some(properties) = property(job, "properties") {
            let properties = properties.as_object();
            let properties =
                properties.ok_or(NoTiming::NotAJob("its 'properties' is not an object"))?;
            return Self::of_properties(properties);
        }
        let has = |name| property(job, name).is_some();
        if has("recurrence") {
            return Self::of_properties(job);
        }
        if Recurrence::PROPERTIES.iter().any(|name| has(name)) {
            return Self::of_recurrence(job);
        }
        if has("startTime") || has("action") {
            return Self::of_properties(job);
        }
        let why = "it has neither 'properties' nor 'recurrence', 'frequency' or 'startTime'";
        Err(NoTiming::NotAJob(why))
    }

    /// The occurrences of the job if it is created, or its timing changes, at `now`. Its jitter is left
    /// aside, because the starts depend on an identifier that it does not have yet.
    ///
    /// # Errors
    ///
    /// If the rule never occurs, or a policy does not fit it.
    pub fn schedule(&self, now: DateTime<Utc>) -> Result<Schedule, NoTiming> {
        let extensions = self.extensions.as_ref();
        let schedule = match &self.rule {
            Some(rule) => {
                let start = self.start_time.map_or(Start::Anchor(now), Start::Given);
                let dates = JobExtensions::dates(extensions).exceptions(rule.zone())?;
                Schedule::of_rule(rule, start, (now, 0), dates.as_ref())?
            }
            None => Timetable::once(self.start_time, now).into(),
        };
        let policies = Policies::of(extensions, "");
        policies.check(schedule.smallest_gap())?;
        Ok(Schedule { policies: Policies { jitter: None, ..policies }, ..schedule })
    }

    /// Within which time after its instant each occurrence starts; `None` is at the instant.
    #[must_use]
    pub fn starts_within(&self) -> Option<Span> {
        self.extensions.as_ref()?.jitter
    }

    fn of_properties(properties: &Map<String, Value>) -> Result<Self, NoTiming> {
        let recurrence =
            property(properties, "recurrence").map(Recurrence::from_json).transpose()?;
        let state = property(properties, "state").and_then(Value::as_str);
        let timing = Self {
            is_disabled: state.is_some_and(|state| state.eq_ignore_ascii_case("disabled")),
            extensions: property(properties, EXTENSIONS).map(extensions).transpose()?,
            ..Self::new(recurrence.as_ref(), property(properties, "startTime"))?
        };
        let dates = JobExtensions::dates(timing.extensions.as_ref());
        dates.check(timing.rule.as_ref(), timing.start_time)?;
        Ok(timing)
    }

    fn of_recurrence(object: &Map<String, Value>) -> Result<Self, NoTiming> {
        let mut recurrence = object.clone();
        recurrence.retain(|name, _| !name.eq_ignore_ascii_case("startTime"));
        let recurrence = Recurrence::from_json(&Value::Object(recurrence))?;
        Self::new(Some(&recurrence), property(object, "startTime"))
    }

    fn new(recurrence: Option<&Recurrence>, start_time: Option<&Value>) -> Result<Self, NoTiming> {
        let zone = recurrence.and_then(Recurrence::zone);
        let start_time = start_time.map(|sent| read_start_time(sent, zone)).transpose()?;
        let rule = recurrence.map(Rule::canonical).transpose()?;
        if let Some(rule) = &rule {
            rule.check_start(start_time)?;
        }
        Ok(Self { start_time, rule, extensions: None, is_disabled: false })
    }
}

fn extensions(sent: &Value) -> Result<JobExtensions, Refusal> {
    let document = canonical_names(json!({"properties": {EXTENSIONS: sent}}), JOB)?;
    let sent = document.pointer("/properties/minutehand").unwrap_or(&Value::Null);
    JobExtensions::read(&Fields::new(EXTENSIONS, sent, Reading::Request(Plan::Standard))?)
}

/// Finds a property in any case. `null` counts as absent.
fn property<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let mut found =
        object.iter().filter(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null());
    found.next().map(|(_, value)| value)
}

/// Something to know about an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// For programs.
    pub kind: NoteKind,
    /// For people.
    pub text: String,
}

named! {
    /// The kinds of notes.
    pub enum NoteKind {
        /// It is due at once, because the job has no `startTime`.
        AtOnce = "atOnce",
        /// The clock skips its time, so that it is later.
        Moved = "moved",
        /// The clock shows its time twice; this is the first.
        FirstOfTwo = "firstOfTwo",
        /// The clock shows its time twice; this is the second.
        SecondOfTwo = "secondOfTwo",
        /// The clock changed since the occurrence before.
        OffsetChanged = "offsetChanged",
        /// It is an extra date.
        ExtraDate = "extraDate",
    }
}

/// What to know about an occurrence. `offset_before` is the offset at the occurrence before it.
#[must_use]
pub fn note(
    schedule: &Schedule,
    at: DateTime<Utc>,
    offset_before: Option<TimeDelta>,
) -> Option<Note> {
    let timetable = &schedule.timetable;
    if schedule.adds(at) {
        return Some(Note { kind: NoteKind::ExtraDate, text: "an extra date".to_owned() });
    }
    if schedule.at_once() == Some(at) {
        let text = "at once: the job has no startTime".to_owned();
        return Some(Note { kind: NoteKind::AtOnce, text });
    }
    note_of_change(timetable, at).or_else(|| {
        let (_, offset) = timetable.local(at);
        let before = offset_before.filter(|before| *before != offset)?;
        let (before, now) = (hours_and_minutes(before), hours_and_minutes(offset));
        let text = format!("the clock changed from {before} to {now}");
        Some(Note { kind: NoteKind::OffsetChanged, text })
    })
}

fn note_of_change(timetable: &Timetable, at: DateTime<Utc>) -> Option<Note> {
    let (local, _) = timetable.local(at);
    let (kind, text) = match timetable.clock_change(at)? {
        ClockChange::Moved { skipped } => {
            let (skipped, local) = (time(skipped), time(local));
            (NoteKind::Moved, format!("the clock skips {skipped}: moved to {local}"))
        }
        ClockChange::FirstOfTwo => {
            (NoteKind::FirstOfTwo, format!("the first of two {}", time(local)))
        }
        ClockChange::SecondOfTwo => {
            (NoteKind::SecondOfTwo, format!("the second of two {}", time(local)))
        }
    };
    Some(Note { kind, text })
}

/// The next occurrences that a clock change moves or doubles, one for each clock change, within ten
/// years and at most `max`.
#[must_use]
pub fn clock_changes(
    schedule: &Schedule,
    from: DateTime<Utc>,
    max: usize,
) -> Vec<(DateTime<Utc>, Note)> {
    let timetable = &schedule.timetable;
    let Some(zone) = timetable.zone() else {
        return Vec::new();
    };
    let until = from.checked_add_signed(CHANGES_WITHIN).unwrap_or(DateTime::<Utc>::MAX_UTC);
    // Bounded: a zone changes its clock a few times a year.
    let changes = std::iter::successors(zone.next_change(from), |change| zone.next_change(*change));
    let affected = changes.take_while(|change| *change <= until).filter_map(|change| {
        let first = change.checked_sub_signed(NEAR_A_CHANGE)?.max(from);
        let last = change.checked_add_signed(NEAR_A_CHANGE)?;
        let near = std::iter::successors(schedule.at_or_after(first), |at| schedule.after(*at));
        let mut near = near.take(NEAR_A_CHANGE_MAX).take_while(|at| *at <= last);
        near.find_map(|at| {
            let of_rule = Some(at).filter(|at| !schedule.adds(*at))?;
            Some((at, note_of_change(timetable, of_rule)?))
        })
    });
    affected.take(max).collect()
}

/// An offset from UTC as people write it: `+01:00`.
#[must_use]
pub fn hours_and_minutes(offset: TimeDelta) -> String {
    let seconds = offset.num_seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// A time of day; with seconds only if there are any.
fn time(at: NaiveDateTime) -> String {
    let text = at.time().to_string();
    text.strip_suffix(":00").map(ToOwned::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{WrittenDate, format_instant};
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    fn timetable(job: &Value) -> Schedule {
        WrittenTiming::read(job).unwrap().schedule(at("2027-01-01")).unwrap()
    }

    #[test]
    fn every_form_of_a_job_has_a_timing() {
        let daily = json!({"frequency": "day"});
        for job in [
            json!({"properties": {"recurrence": daily, "state": "Disabled"}}),
            json!({"recurrence": daily, "startTime": "2027-01-05"}),
            json!({"frequency": "day"}),
            json!({"StartTime": "2027-01-05"}),
            json!({"action": {}}),
        ] {
            assert!(WrittenTiming::read(&job).is_ok(), "{job}");
        }
        for (job, why) in [
            (json!([]), "it is not a JSON object"),
            (json!({"properties": 1}), "its 'properties' is not an object"),
            (json!({}), "it has neither 'properties' nor"),
            (json!({"frequency": "fortnight"}), "'recurrence.frequency' is \"fortnight\""),
        ] {
            let error = WrittenTiming::read(&job).unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn clock_changes_are_found_years_ahead_and_once_each() {
        let berlin = |schedule: Value| {
            timetable(&json!({"recurrence": {"frequency": "day", "schedule": schedule,
                "timeZone": "Europe/Berlin"}, "startTime": "2027-01-01"}))
        };
        let found = |timetable: &Schedule| -> Vec<String> {
            let changes = clock_changes(timetable, at("2027-01-01"), 3);
            changes
                .iter()
                .map(|(at, note)| format!("{} {}", format_instant(*at), note.text))
                .collect()
        };
        assert_eq!(
            found(&berlin(json!({"hours": [2], "minutes": [30]}))),
            [
                "2027-03-28T01:30:00Z the clock skips 02:30: moved to 03:30",
                "2027-10-31T00:30:00Z the first of two 02:30",
                "2028-03-26T01:30:00Z the clock skips 02:30: moved to 03:30",
            ]
        );
        assert_eq!(found(&berlin(json!({"hours": [9], "minutes": [0]}))), [""; 0]);
        // Every minute: the first of the doubled ones.
        let minutely = timetable(&json!({"recurrence": {"frequency": "minute",
            "schedule": {"minutes": (0..60).collect::<Vec<_>>()}, "timeZone": "Europe/Berlin"}}));
        assert_eq!(found(&minutely)[0], "2027-10-31T00:00:00Z the first of two 02:00");
        let utc = timetable(&json!({"recurrence": {"frequency": "day"}}));
        assert_eq!(found(&utc), [""; 0]);
    }

    #[test]
    fn notes_name_what_people_would_stumble_over() {
        let daily =
            timetable(&json!({"recurrence": {"frequency": "day", "timeZone": "Europe/Berlin",
            "schedule": {"hours": [9], "minutes": [0]}}}));
        let first = at("2027-01-01");
        assert_eq!(note(&daily, first, None).unwrap().kind.name(), "atOnce");
        let summer = at("2027-03-28T07:00:00Z");
        let note = note(&daily, summer, Some(TimeDelta::hours(1))).unwrap();
        assert_eq!(note.text, "the clock changed from +01:00 to +02:00");
    }
}
