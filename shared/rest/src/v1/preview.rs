//! `POST /minutehand/v1/preview`: when a job would fire. Nothing is read or stored.

use chrono::{DateTime, Months, Utc};
use minutehand_domain::duration::Span;
use minutehand_domain::preview::{NoTiming, WrittenTiming};
use minutehand_domain::refusal::Refusal;
use minutehand_recurrence::WrittenDate;
use serde_json::{Map, Value, json};

use super::occurrences::{OCCURRENCES, OCCURRENCES_MAX, Shown, iso, named_zone};
use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::request::unknown_property;

/// The time over which `perYear` counts.
const YEAR: Months = Months::new(12);
/// The properties of the body: a job or its timing, and how to show it.
const PROPERTIES: [&str; 6] = ["properties", "recurrence", "startTime", "from", "count", "zone"];

/// Answers when a job would fire if it were created, or its timing changed, at `from`.
pub(crate) fn preview(call: &Call) -> Result<Answer, Failure> {
    Parameters::of(call, &[])?;
    let body =
        call.body.as_object().ok_or_else(|| Failure::invalid("The body is not an object."))?;
    if let Some((unknown, hint)) = unknown_property(body, &PROPERTIES) {
        return Err(Refusal::about(unknown, format!("is not a property; {hint}")).into());
    }
    let now = call.rest.clock.now();
    let from = from(body)?.unwrap_or(now);
    let count = count(body)?;
    let zone = text(body, "zone")?.map(named_zone).transpose()?;
    let is_whole = body.contains_key("properties");
    let failure = |error| match error {
        NoTiming::NotAJob(why) => Failure::invalid(format!(
            "This is not a job: {why}. Send 'properties', or 'recurrence' with or without a \
             'startTime'."
        )),
        NoTiming::Refused(refused) => in_properties(refused.into(), is_whole).into(),
        NoTiming::Extension(refusal) => in_properties(refusal, is_whole).into(),
    };
    let timing = WrittenTiming::read(&call.body).map_err(failure)?;
    let timetable = timing.schedule(from).map_err(failure)?;
    let mut coming = timetable.iter();
    let occurrences: Vec<DateTime<Utc>> = coming.by_ref().take(count).collect();
    let year_later = from.checked_add_months(YEAR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let shown = Shown { schedule: &timetable, zone };
    let document = json!({
        "sentence": timetable.sentence(),
        "occurrences": shown.occurrences(&occurrences),
        "ends": coming.next().is_none(),
        "perYear": timetable.count_between(from, year_later),
        "smallestGap": timetable.smallest_gap().and_then(iso),
        "firesOnSave": !timing.is_disabled
            && timetable.iter().next().is_some_and(|first| first <= from),
        "disabled": timing.is_disabled,
        "clockChanges": shown.clock_changes(from),
        "rule": timetable.timetable.to_string(),
        "startsWithin": timing.starts_within().map(Span::iso),
    });
    Ok(Answer::json(axum::http::StatusCode::OK, &document))
}

fn in_properties(refusal: Refusal, is_whole: bool) -> Refusal {
    match refusal.target.clone().filter(|_| is_whole) {
        Some(target) => refusal.with_target(format!("properties.{target}")),
        None => refusal,
    }
}

fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Failure> {
    let value = body.get(name).filter(|value| !value.is_null());
    let text = |value: &'a Value| {
        value.as_str().ok_or_else(|| Refusal::about(name, "must be a JSON string.").into())
    };
    value.map(text).transpose()
}

fn from(body: &Map<String, Value>) -> Result<Option<DateTime<Utc>>, Failure> {
    let read = |text: &str| {
        let read = WrittenDate::parse(text).and_then(|date| date.instant(None));
        read.map_err(|error| Refusal::about("from", format!("is not an instant: {error}.")).into())
    };
    text(body, "from")?.map(read).transpose()
}

fn count(body: &Map<String, Value>) -> Result<usize, Failure> {
    let Some(value) = body.get("count").filter(|value| !value.is_null()) else {
        return Ok(OCCURRENCES);
    };
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| (1..=OCCURRENCES_MAX).contains(number)).ok_or_else(|| {
        let problem = format!("must be a whole number from 1 to {OCCURRENCES_MAX}.");
        Refusal::about("count", problem).into()
    })
}
