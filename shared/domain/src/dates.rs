//! Excluded dates and extra dates of a job: exceptions from its recurrence.
//!
//! They are part of the rule, as its count and its end are: what is excluded does not exist, and an
//! extra occurrence is like any other. Both are read in the time zone of the recurrence.
//!
//! A job may have hundreds of them, and a timer stays below a kilobyte. So the job's definition keeps
//! them, and the timer's line has only a hash: see [`Schedule`](crate::schedule::Schedule).

use chrono::{DateTime, NaiveDate, Utc};
use minutehand_recurrence::zone::Zone;
use minutehand_recurrence::{DateError, Exceptions, Refused, Rule, WrittenDate, format_instant};
use serde_json::Value;

use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Reading, Shape};
use crate::refusal::Refusal;

/// The most entries of `exclude.dates`.
const EXCLUDED_MAX: usize = 366;
/// The most days of one of them.
const SERIES_DAYS_MAX: i64 = 366;
/// The most entries of `extraDates`.
const EXTRA_MAX: usize = 100;
/// The characters of a date.
const DATE_CHARS: usize = 10;

/// The property that holds all extensions.
const EXTENSIONS: &str = "minutehand";
const DATES: &str = "dates";
const EXTRA: &str = "extraDates";

/// The names in the extension `exclude`.
pub(crate) const EXCLUDE: Shape = Object(&[(DATES, Leaf)]);

/// The extension `exclude` of a job: the days on which it does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclude {
    /// Days in a row, each entry as its first and its last one.
    dates: Vec<[NaiveDate; 2]>,
}

/// The extension `extraDates` of a job: when it runs beside its recurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraDates(Vec<ExtraDate>);

/// A date as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ExtraDate {
    text: String,
    date: WrittenDate,
}

impl Exclude {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let allowed = "an array of dates such as \"2027-12-24\" or \"2027-12-27/2028-01-02\"";
        let sent = texts(fields, DATES, EXCLUDED_MAX, allowed)?;
        let sent = sent.ok_or_else(|| fields.missing(DATES, &format!("it is {allowed}")))?;
        let is_limited = fields.limiting_plan().is_some();
        let read = |(n, text): (usize, &&str)| {
            series(text, is_limited).map_err(|problem| about(fields, DATES, n, text, &problem))
        };
        Ok(Self { dates: sent.iter().enumerate().map(read).collect::<Result<_, _>>()? })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let text = |[first, last]: &[NaiveDate; 2]| {
            if first == last { first.to_string() } else { format!("{first}/{last}") }
        };
        ObjectBuilder::default().set(DATES, self.dates.iter().map(text).collect::<Value>())
    }
}

impl ExtraDates {
    /// Reads the property of the extensions.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Option<Self>, Refusal> {
        let allowed = "an array of dates with a time, such as \"2027-03-01T09:00:00\"";
        let Some(sent) = texts(fields, EXTRA, EXTRA_MAX, allowed)? else { return Ok(None) };
        let read = |(n, text): (usize, &&str)| {
            let about = |problem: &str| about(fields, EXTRA, n, text, problem);
            let date = WrittenDate::parse(text).map_err(|error| about(&error.to_string()))?;
            if text.len() == DATE_CHARS {
                return Err(about("add a time of day, as in 2027-03-01T09:00:00"));
            }
            if text.contains('.') {
                return Err(about("leave out the fraction of the second"));
            }
            Ok(ExtraDate { text: (*text).to_owned(), date })
        };
        sent.iter().enumerate().map(read).collect::<Result<_, _>>().map(Self).map(Some)
    }

    pub(crate) fn write(&self) -> Value {
        self.0.iter().map(|date| date.text.as_str()).collect()
    }

    fn instants(&self, zone: Option<&Zone>) -> Result<Vec<DateTime<Utc>>, Refused> {
        let instant = |(n, it): (usize, &ExtraDate)| {
            it.date.instant(zone).map_err(|error| Refused::NotAllowed {
                field: format!("{EXTENSIONS}.{EXTRA}.{n}"),
                given: it.text.clone(),
                allowed: error.to_string(),
                fixes: Vec::new(),
            })
        };
        self.0.iter().enumerate().map(instant).collect()
    }
}

/// An array of texts with at most `max` of them; `None` if it is absent.
fn texts<'a>(
    fields: &Fields<'a>,
    name: &str,
    max: usize,
    allowed: &str,
) -> Result<Option<Vec<&'a str>>, Refusal> {
    let texts =
        |value: &'a Value| value.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
    let texts = fields.read(name, texts, &format!("use {allowed}"))?;
    match &texts {
        Some(texts) if fields.limiting_plan().is_some() && texts.len() > max => {
            Err(fields.about(name, format!("has {} entries; use at most {max}.", texts.len())))
        }
        _ => Ok(texts),
    }
}

fn about(fields: &Fields<'_>, name: &str, n: usize, given: &str, problem: &str) -> Refusal {
    fields.wrong_as(&format!("{name}.{n}"), &Value::from(given).to_string(), problem)
}

/// The first and the last day of an entry.
fn series(text: &str, is_limited: bool) -> Result<[NaiveDate; 2], String> {
    let form = "use a date such as 2027-12-24, or the first and the last one of several, \
                such as 2027-12-27/2028-01-02";
    let day = |text: &str| {
        if text.len() != DATE_CHARS {
            return Err(form.to_owned());
        }
        let date = WrittenDate::parse(text).and_then(|date| date.instant(None));
        date.map(|date| date.date_naive()).map_err(|error| match error {
            DateError::Form => form.to_owned(),
            error => error.to_string(),
        })
    };
    let (first, last) = text.split_once('/').unwrap_or((text, text));
    let (first, last) = (day(first)?, day(last)?);
    let days = (last - first).num_days() + 1;
    if days < 1 {
        return Err("its last day is before its first one; exchange them".to_owned());
    }
    if is_limited && days > SERIES_DAYS_MAX {
        return Err(format!("it has {days} days; use at most {SERIES_DAYS_MAX} in one entry"));
    }
    Ok([first, last])
}

/// The dates of a job.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JobDates<'a> {
    pub(crate) exclude: Option<&'a Exclude>,
    pub(crate) extra: Option<&'a ExtraDates>,
}

impl JobDates<'_> {
    /// The exceptions that they make from a rule in a zone; `None` if they make none.
    ///
    /// # Errors
    ///
    /// If an extra date is outside the calendar.
    pub(crate) fn exceptions(self, zone: Option<&Zone>) -> Result<Option<Exceptions>, Refused> {
        let days = self.exclude.into_iter().flat_map(|exclude| exclude.dates.iter().copied());
        let extra = self.extra.map(|dates| dates.instants(zone)).transpose()?;
        let exceptions = Exceptions::new(zone, days, extra.unwrap_or_default());
        Ok(Some(exceptions).filter(|it| it.counts() != [0, 0]))
    }

    /// Refuses dates that have no effect: without a recurrence, and before its start or after its end.
    pub(crate) fn check(
        self,
        rule: Option<&Rule>,
        start_time: Option<DateTime<Utc>>,
    ) -> Result<(), Refusal> {
        let Some(rule) = rule else {
            let name = match (self.exclude, self.extra) {
                (Some(_), _) => "exclude",
                (None, Some(_)) => EXTRA,
                (None, None) => return Ok(()),
            };
            let problem = "has no effect, because the job runs once; give it a 'recurrence', or \
                leave this out.";
            return Err(Refusal::about(format!("{EXTENSIONS}.{name}"), problem));
        };
        let Some(extra) = self.extra else { return Ok(()) };
        for (n, at) in extra.instants(rule.zone())?.into_iter().enumerate() {
            let (relation, name, bound) = match (start_time, rule.end()) {
                (Some(start), _) if at < start => ("before", "startTime", start),
                (_, Some(end)) if at > end => ("after", "recurrence.endTime", end),
                _ => continue,
            };
            let (at, bound) = (format_instant(at), format_instant(bound));
            let problem = format!(
                "is {at}, {relation} '{name}', {bound}; leave it out, or change one of them."
            );
            return Err(Refusal::about(format!("{EXTENSIONS}.{EXTRA}.{n}"), problem));
        }
        Ok(())
    }
}

/// The exceptions in the stored document of a job; `None` if it has none that can be read.
pub(crate) fn stored_exceptions(document: &str, zone: Option<&Zone>) -> Option<Exceptions> {
    let document: Value = serde_json::from_str(document).ok()?;
    let fields = Fields::new(EXTENSIONS, document.get(EXTENSIONS)?, Reading::Stored).ok()?;
    let exclude = fields.object("exclude").ok()?;
    let exclude = exclude.map(|exclude| Exclude::read(&exclude)).transpose().ok()?;
    let extra = ExtraDates::read(&fields).ok()?;
    JobDates { exclude: exclude.as_ref(), extra: extra.as_ref() }.exceptions(zone).ok()?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::extensions::JobExtensions;
    use crate::json::Durations;
    use crate::plan::Plan;

    fn read(extensions: &Value, reading: Reading) -> Result<JobExtensions, Refusal> {
        JobExtensions::read(&Fields::new(EXTENSIONS, extensions, reading)?)
    }

    #[test]
    fn dates_are_written_as_they_were_sent() {
        for extensions in [
            json!({"exclude": {"dates": ["2027-12-24", "2027-12-27/2028-01-02"]}}),
            json!({"extraDates": ["2027-12-23T18:00", "2027-12-23T18:00:00+01:00"]}),
            json!({"exclude": {"dates": []}, "extraDates": []}),
        ] {
            let read = read(&extensions, Reading::Request(Plan::Standard)).unwrap();
            let written = read.write().answer(Durations::TimeSpan);
            assert_eq!(Value::Object(written), extensions);
        }
        // One day in a row is a day.
        let one = json!({"exclude": {"dates": ["2027-12-24/2027-12-24"]}});
        let read = read(&one, Reading::Request(Plan::Standard)).unwrap();
        let written = Value::Object(read.write().answer(Durations::TimeSpan));
        assert_eq!(written, json!({"exclude": {"dates": ["2027-12-24"]}}));
    }

    #[test]
    fn a_limit_that_is_tightened_later_does_not_break_a_stored_job() {
        let many = json!({"exclude": {"dates": vec!["2020-01-01/2027-12-24"; 400]},
            "extraDates": vec!["2027-12-25T18:00"; 200]});
        assert!(read(&many, Reading::Request(Plan::Standard)).is_err());
        let stored = read(&many, Reading::Stored).unwrap();
        let found = JobExtensions::dates(Some(&stored)).exceptions(None).unwrap();
        assert_eq!(found.unwrap().counts(), [2_915, 1]);
    }

    #[test]
    fn lists_that_mean_the_same_are_equal() {
        let zone = Zone::named("Europe/Berlin");
        let exceptions = |extensions: Value| {
            let read = read(&extensions, Reading::Request(Plan::Standard)).unwrap();
            JobExtensions::dates(Some(&read)).exceptions(zone.as_ref()).unwrap()
        };
        assert_eq!(
            exceptions(json!({"exclude": {"dates": ["2027-12-25", "2027-12-24"]},
                "extraDates": ["2027-12-23T18:00", "2027-12-23T17:00:00Z"]})),
            exceptions(json!({"exclude": {"dates": ["2027-12-24/2027-12-25"]},
                "extraDates": ["2027-12-23T18:00", "2027-12-24T18:00"]})),
        );
        assert_eq!(exceptions(json!({"exclude": {"dates": []}, "extraDates": []})), None);
        assert_eq!(exceptions(json!({"jitter": {"window": "PT1S"}})), None);
    }

    #[test]
    fn a_stored_document_gives_its_dates_alone() {
        let document = json!({"action": 7, "minutehand": {"retry": 3, "extraDates": ["2027-12-23T18:00"],
            "exclude": {"dates": ["2027-12-24"]}}});
        let found = stored_exceptions(&document.to_string(), None).unwrap();
        assert_eq!(found.counts(), [1, 1]);
        for document in ["", "{}", r#"{"minutehand": {"extraDates": [1]}}"#] {
            assert_eq!(stored_exceptions(document, None), None, "{document}");
        }
    }
}
