//! Documents in: what clients send, and what the store keeps.

use minutehand_recurrence::{Frequency, Recurrence, Rule, read_start_time};
use serde_json::{Map, Value};

use super::checks::{check_backoff, check_completion, check_expect, check_pause, check_signing};
use crate::action::{MainAction, check_templates};
use crate::collection::{CollectionDefinition, CollectionState};
use crate::extensions::{CollectionExtensions, EXTENSIONS, JobExtensions};
use crate::job::{JobDefinition, JobState, Switch};
use crate::json::{Fields, Reading};
use crate::plan::{MaxRecurrence, Plan, Quota};
use crate::refusal::Refusal;

/// The largest number of a 32-bit client.
const INT_MAX: u32 = i32::MAX as u32;

/// Reads the body of a PUT for a job, or of a PATCH after merging, and checks all limits but the
/// size, which is known when the job is written.
///
/// # Errors
///
/// If a value is missing or not allowed.
pub fn accept(body: &Value, plan: Plan) -> Result<JobDefinition, Refusal> {
    let reading = Reading::Request(plan);
    let properties = Fields::new("body", body, reading)?.value("properties").ok_or_else(|| {
        Refusal::about("properties", "is missing; a job is {\"properties\":{\"action\":…}}.")
    })?;
    let job = read_job(properties, reading)?;
    // The parts of a recurrence must fit together. Whether it ever occurs depends on its start.
    let rule = job.recurrence.as_deref().map(Rule::canonical).transpose()?;
    if let Some(rule) = &rule {
        rule.check_start(job.start_time)?;
    }
    JobExtensions::dates(job.extensions.as_ref()).check(rule.as_ref(), job.start_time)?;
    check_expect(&job)?;
    check_backoff(&job, plan)?;
    check_signing(&job)?;
    check_pause(&job)?;
    check_completion(&job)?;
    if job.has_templates() {
        check_templates(&job.action)?;
    }
    Ok(job)
}

/// Reads the `properties` of a stored job with its secrets.
///
/// # Errors
///
/// If the structure is not that of a job.
pub fn load(properties: &Value) -> Result<JobDefinition, Refusal> {
    read_job(properties, Reading::Stored)
}

/// Reads the `properties` of a stored job whose secrets were not opened: all are withheld.
///
/// # Errors
///
/// If the structure is not that of a job.
pub fn load_shown(properties: &Value) -> Result<JobDefinition, Refusal> {
    read_job(properties, Reading::StoredWithoutSecrets)
}

fn read_job(properties: &Value, reading: Reading) -> Result<JobDefinition, Refusal> {
    // Messages name properties by their path within `properties`.
    let properties = Fields::new("properties", properties, reading)?.at_root();
    let recurrence = properties.value("recurrence").map(Recurrence::from_json).transpose()?;
    let zone = recurrence.as_ref().and_then(Recurrence::zone);
    let start_time =
        properties.value("startTime").map(|sent| read_start_time(sent, zone)).transpose()?;
    let extensions = properties.part(EXTENSIONS, JobExtensions::read)?;
    let has_templates = extensions.as_ref().is_some_and(|it| it.template);
    let properties = properties.with_templates(has_templates);
    Ok(JobDefinition {
        start_time,
        action: MainAction::read(&properties.required_object("action")?)?,
        recurrence: recurrence.map(Box::new),
        extensions,
        switch: read_switch(&properties)?,
    })
}

fn read_switch(properties: &Fields<'_>) -> Result<Switch, Refusal> {
    let names = "enabled, disabled";
    let state = properties.one_of("state", JobState::read_name, names)?;
    state.map_or(Ok(Switch::default()), |state| {
        state.switch().ok_or_else(|| {
            properties.wrong("state", &format!("only the scheduler sets it; use one of {names}"))
        })
    })
}

/// Reads the body of a PUT for a collection, or of a PATCH after merging.
///
/// # Errors
///
/// If a value is not allowed.
pub fn accept_collection(body: &Value) -> Result<CollectionDefinition, Refusal> {
    // The plan is one of the values.
    read_collection(body, Reading::Request(Plan::default()))
}

/// Reads a stored collection with its secrets.
///
/// # Errors
///
/// If the structure is not that of a collection.
pub fn load_collection(document: &Value) -> Result<CollectionDefinition, Refusal> {
    read_collection(document, Reading::Stored)
}

/// Reads a stored collection whose secrets were not opened: all are withheld.
///
/// # Errors
///
/// If the structure is not that of a collection.
pub fn load_collection_shown(document: &Value) -> Result<CollectionDefinition, Refusal> {
    read_collection(document, Reading::StoredWithoutSecrets)
}

fn read_collection(body: &Value, reading: Reading) -> Result<CollectionDefinition, Refusal> {
    let body = Fields::new("body", body, reading)?.at_root();
    let nothing = Value::Object(Map::new());
    let properties = body.value("properties").unwrap_or(&nothing);
    let properties = Fields::new("properties", properties, reading)?.at_root();
    let plan = match properties.object("sku")? {
        Some(sku) => {
            let names = Plan::ALL.map(Plan::name).join(", ");
            sku.one_of("name", Plan::read, &names)?.unwrap_or_default()
        }
        None => Plan::default(),
    };
    let properties = properties.in_plan(plan);
    let states = CollectionState::ALL.map(CollectionState::name).join(", ");
    Ok(CollectionDefinition {
        location: body.owned("location")?.filter(|text| !text.is_empty()),
        tags: body.texts("tags")?,
        plan,
        state: properties.one_of("state", CollectionState::read_name, &states)?.unwrap_or_default(),
        quota: properties.part("quota", read_quota)?,
        extensions: properties.part(EXTENSIONS, CollectionExtensions::read)?,
    })
}

fn read_quota(quota: &Fields<'_>) -> Result<Quota, Refusal> {
    Ok(Quota {
        max_job_count: quota.whole("maxJobCount", 1, INT_MAX)?,
        max_job_occurrence: quota.whole("maxJobOccurrence", 1, INT_MAX)?,
        max_recurrence: quota.part("maxRecurrence", read_max_recurrence)?,
    })
}

fn read_max_recurrence(max: &Fields<'_>) -> Result<MaxRecurrence, Refusal> {
    let names = Frequency::ALL.map(Frequency::name).join(", ");
    let frequency = max.required_one_of("frequency", Frequency::read, &names)?;
    let interval = max.whole("interval", 1, INT_MAX)?.unwrap_or(1);
    Ok(MaxRecurrence { frequency, interval })
}
