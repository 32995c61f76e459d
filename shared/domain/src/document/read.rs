//! Documents in: jobs and collections, every value checked.

use recurrence::{Frequency, Recurrence, Rule, read_start_time};
use serde_json::Value;

use super::fields::Fields;
use super::read_action::read_main_action;
use super::write::{Durations, Secrets, write_job};
use crate::collection::{CollectionDefinition, CollectionState};
use crate::job::{JobDefinition, JobState, Switch};
use crate::pricing_tier::{MaxRecurrence, PricingTier, Quota};
use crate::refusal::{Code, Refusal};

/// The most bytes of a job: compact JSON as it would be kept, secrets in clear.
pub const JOB_BYTES_MAX: usize = 16 * 1_024;

/// The largest number of a 32-bit client.
const INT_MAX: u32 = i32::MAX as u32;

/// Reads the body of a PUT for a job, or of a PATCH after merging.
///
/// # Errors
///
/// If a value is missing or not allowed, or the job is too large.
pub fn read_job(body: &Value, plan: PricingTier) -> Result<JobDefinition, Refusal> {
    let properties = Fields::of("body", body)?.value("properties").ok_or_else(|| {
        Refusal::invalid("'properties' is missing; a job is {\"properties\":{\"action\":…}}.")
    })?;
    // Messages name properties from here on.
    let properties = Fields::of("properties", properties)?.at_root();
    let recurrence = properties.value("recurrence").map(Recurrence::from_json).transpose()?;
    // That its parts go together is known now; that it ever occurs depends on the start.
    recurrence.as_ref().map(Rule::canonical).transpose()?;
    let zone = recurrence.as_ref().and_then(Recurrence::zone);
    let start_time =
        properties.value("startTime").map(|sent| read_start_time(sent, zone)).transpose()?;
    let job = JobDefinition {
        start_time,
        action: read_main_action(&properties, plan)?,
        recurrence,
        switch: read_switch(&properties)?,
    };
    let bytes = write_job(&job, Secrets::Kept, Durations::TimeSpan).to_string().len();
    if bytes > JOB_BYTES_MAX {
        return Err(Refusal::new(
            Code::JobTooLarge,
            format!(
                "The job has {bytes} bytes; {JOB_BYTES_MAX} are allowed. Shorten its body, headers \
                 or messages."
            ),
        ));
    }
    Ok(job)
}

fn read_switch(properties: &Fields<'_>) -> Result<Switch, Refusal> {
    let names = "enabled, disabled";
    let state = properties.one_of("state", JobState::read, names)?;
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
pub fn read_collection(body: &Value) -> Result<CollectionDefinition, Refusal> {
    let body = Fields::of("body", body)?.at_root();
    let nothing = Value::Object(serde_json::Map::new());
    let properties = body.value("properties").unwrap_or(&nothing);
    let properties = Fields::of("properties", properties)?.at_root();
    let plan = match properties.object("sku")? {
        Some(sku) => {
            let names = PricingTier::ALL.map(PricingTier::name).join(", ");
            sku.one_of("name", PricingTier::read, &names)?.unwrap_or_default()
        }
        None => PricingTier::default(),
    };
    let states = CollectionState::ALL.map(CollectionState::name).join(", ");
    Ok(CollectionDefinition {
        location: body.text("location")?.filter(|text| !text.is_empty()).map(str::to_owned),
        tags: body.texts("tags")?,
        plan,
        state: properties.one_of("state", CollectionState::read, &states)?.unwrap_or_default(),
        quota: properties.object("quota")?.map(|quota| read_quota(&quota)).transpose()?,
    })
}

fn read_quota(quota: &Fields<'_>) -> Result<Quota, Refusal> {
    Ok(Quota {
        max_job_count: quota.whole("maxJobCount", 1, INT_MAX)?,
        max_job_occurrence: quota.whole("maxJobOccurrence", 1, INT_MAX)?,
        max_recurrence: quota
            .object("maxRecurrence")?
            .map(|max| read_max_recurrence(&max))
            .transpose()?,
    })
}

fn read_max_recurrence(max: &Fields<'_>) -> Result<MaxRecurrence, Refusal> {
    let names = Frequency::ALL.map(Frequency::name).join(", ");
    let frequency = max
        .one_of("frequency", Frequency::read, &names)?
        .ok_or_else(|| max.missing("frequency", &format!("use one of {names}")))?;
    let interval = max.whole("interval", 1, INT_MAX)?.unwrap_or(1);
    Ok(MaxRecurrence { frequency, interval })
}
