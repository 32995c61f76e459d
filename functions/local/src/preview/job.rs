//! Finds the timing in the text of a job.

use chrono::{DateTime, Utc};
use recurrence::{Recurrence, Rule, read_start_time};
use serde_json::{Map, Value};

use super::{PreviewError, WHAT_TO_GIVE};

/// The timing of a job.
pub(super) struct Job {
    pub(super) start_time: Option<DateTime<Utc>>,
    /// `None` if the job runs once.
    pub(super) rule: Option<Rule>,
    pub(super) disabled: bool,
}

/// Reads a whole job, its `properties`, or a recurrence with or without a `startTime`.
pub(super) fn read(text: &str) -> Result<Job, PreviewError> {
    // Files written by PowerShell begin with a byte-order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(not_a_job("the input is empty"));
    }
    let json: Value = serde_json::from_str(text).map_err(PreviewError::NotJson)?;
    let job = json.as_object().ok_or_else(|| not_a_job("it is not a JSON object"))?;
    if let Some(properties) = property(job, "properties") {
        let properties =
            properties.as_object().ok_or_else(|| not_a_job("its 'properties' is not an object"))?;
        return from_properties(properties);
    }
    let has = |name| property(job, name).is_some();
    if has("recurrence") {
        return from_properties(job);
    }
    if Recurrence::PROPERTIES.iter().any(|name| has(name)) {
        return from_bare_recurrence(job);
    }
    if has("startTime") || has("action") {
        return from_properties(job);
    }
    Err(not_a_job("it has neither 'properties' nor 'recurrence', 'frequency' or 'startTime'"))
}

fn from_properties(properties: &Map<String, Value>) -> Result<Job, PreviewError> {
    let recurrence = property(properties, "recurrence").map(Recurrence::from_json).transpose()?;
    let state = property(properties, "state").and_then(Value::as_str);
    Ok(Job {
        disabled: state.is_some_and(|state| state.eq_ignore_ascii_case("disabled")),
        ..job(recurrence.as_ref(), property(properties, "startTime"))?
    })
}

fn from_bare_recurrence(object: &Map<String, Value>) -> Result<Job, PreviewError> {
    let mut recurrence = object.clone();
    recurrence.retain(|name, _| !name.eq_ignore_ascii_case("startTime"));
    let recurrence = Recurrence::from_json(&Value::Object(recurrence))?;
    job(Some(&recurrence), property(object, "startTime"))
}

fn job(recurrence: Option<&Recurrence>, start_time: Option<&Value>) -> Result<Job, PreviewError> {
    let zone = recurrence.and_then(Recurrence::zone);
    let start_time = start_time.map(|sent| read_start_time(sent, zone)).transpose()?;
    let rule = recurrence.map(Rule::canonical).transpose()?;
    if let Some(rule) = &rule {
        rule.check_start(start_time)?;
    }
    Ok(Job { start_time, rule, disabled: false })
}

/// Finds a property, ignoring the case of its name. `null` counts as absent.
fn property<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let mut found =
        object.iter().filter(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null());
    found.next().map(|(_, value)| value)
}

fn not_a_job(why: &str) -> PreviewError {
    PreviewError::NotAJob(format!("This is not a job: {why}. {WHAT_TO_GIVE}."))
}
