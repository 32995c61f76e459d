//! The tools that change something.

use std::time::Duration;

use clap::Args;
use minutehand_client::{JobPath, Precondition};
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value, json};

use super::arguments::{Named, Object};
use super::read::{InCollection, document, labelled};
use crate::alert::AlertOptions;
use crate::collection::{self, CreateLimits, SetLimits};
use crate::failure::{Failure, Result};
use crate::job::policy::PolicyArgs;
use crate::job::schedule::ScheduleArgs;
use crate::job::why::instant_of;
use crate::job::{ActionArgs, changes, is_credential, put_new, run_and_wait, zoned};
use crate::masked::masked;
use crate::merge::merge;
use crate::snooze::{self, SNOOZED_UNTIL};
use crate::work::{Work, in_collection, zone_of};

/// How long `run_job` waits for the result: an action ends within a minute.
const RESULT_WAIT: Duration = Duration::from_secs(75);

/// The arguments of `create_job`.
#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    job: Named,
    #[command(flatten)]
    action: ActionArgs,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    policies: PolicyArgs,
    /// Create it switched off
    #[arg(long)]
    disabled: bool,
}

/// The arguments of `create_collection`.
#[derive(Debug, Args)]
pub(super) struct CreateCollection {
    /// Name of the collection
    #[arg(long)]
    name: String,
    #[command(flatten)]
    limits: CreateLimits,
}

/// The arguments of `update_collection`.
#[derive(Debug, Args)]
pub(super) struct UpdateCollection {
    /// Name of the collection
    #[arg(long)]
    name: String,
    /// Switch it on or off; none of its jobs fires while it is off
    #[arg(long, value_parser = ["enabled", "disabled"])]
    state: Option<String>,
    /// Show neither it nor its jobs as needing someone until then, at most 30 days: 2h, 2026-12-01; off ends it
    #[arg(long)]
    snooze: Option<String>,
    #[command(flatten)]
    limits: SetLimits,
    #[command(flatten)]
    alerts: AlertOptions,
}

/// The arguments of `redrive` and `cancel`.
#[derive(Debug, Args)]
pub(super) struct Redrive {
    #[command(flatten)]
    job: Named,
    /// Instant of the occurrence
    #[arg(long)]
    at: String,
}

/// The arguments of `update_job`.
#[derive(Debug, Args)]
pub(super) struct Update {
    #[command(flatten)]
    job: Named,
    /// Merge patch of the job's properties; null removes a property
    #[arg(long)]
    properties: Option<Object>,
    /// Do not show it as needing someone until then, at most 30 days: 2h, 2026-12-01; off ends it
    #[arg(long)]
    snooze: Option<String>,
    #[command(flatten)]
    action: ActionArgs,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    policies: PolicyArgs,
}

/// The arguments of `run_job`.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    job: Named,
    /// Wait for the result, and answer it
    #[arg(long)]
    wait: bool,
    /// Key of the run: a second call with it within a day begins no other run
    #[arg(long)]
    idempotency_key: Option<String>,
}

pub(super) async fn create(work: &Work, wanted: &Create) -> Result<Value> {
    let path = wanted.job.path(work)?;
    no_credential(work, &path, &wanted.action)?;
    let schedule = zoned(work, &wanted.schedule, &path.collection).await?;
    let mut properties = Map::new();
    properties.extend(wanted.action.action()?.map(|action| ("action".to_owned(), action)));
    wanted.action.put_into(&mut properties)?;
    wanted.policies.put_into(&mut properties)?;
    one_timing(work, &schedule)?.put_into(&mut properties);
    if wanted.disabled {
        properties.insert("state".to_owned(), "disabled".into());
    }
    put_new(work, &path, &json!({ "properties": properties })).await?;
    described(work, &path).await
}

pub(super) async fn update(work: &Work, wanted: &Update) -> Result<Value> {
    let path = wanted.job.path(work)?;
    let properties = wanted.properties.as_ref().map(|given| given.0.clone()).unwrap_or_default();
    let document = Value::Object(properties.clone());
    if masked(&document) != document {
        return Err(no_secrets(work, &path, "PROPERTY"));
    }
    no_credential(work, &path, &wanted.action)?;
    let is_timed = properties.contains_key("recurrence") || properties.contains_key("startTime");
    if wanted.schedule.is_any_given() && is_timed {
        return Err(Failure::refused(
            "it is said twice when the job fires: leave recurrence and startTime out of properties",
        ));
    }
    let Update { action, schedule, policies, .. } = wanted;
    let job = work.client().job(&path).await?;
    let stored = &job.value.properties;
    let mut changes = changes(schedule, action, policies, stored, work.now())?.into();
    merge(&mut changes, document);
    if let Some(text) = &wanted.snooze {
        let until = snooze::until(text, zone_of(stored), work.now())?;
        let until = until.map(format_instant);
        merge(&mut changes, json!({"minutehand": {SNOOZED_UNTIL: until}}));
    }
    if changes.as_object().is_none_or(Map::is_empty) {
        return Err(Failure::refused("it is not said what to change").hint(
            "give properties, such as {\"state\":\"disabled\"}, or arguments of create_job",
        ));
    }
    let condition = job.etag.as_deref().map_or(Precondition::Always, Precondition::Unchanged);
    work.client().patch_job(&path, &json!({ "properties": changes }), condition).await?;
    described(work, &path).await
}

pub(super) async fn create_collection(work: &Work, wanted: &CreateCollection) -> Result<Value> {
    let path = work.defaults().collection(Some(&wanted.name))?;
    document(&collection::put(work, &path, wanted.limits.properties()?).await?)
}

pub(super) async fn update_collection(work: &Work, wanted: &UpdateCollection) -> Result<Value> {
    let mut changes = wanted.limits.changes()?;
    if let Some(state) = &wanted.state {
        let state = if state == "enabled" { "Enabled" } else { "Disabled" };
        changes.push(format!("state={state}"));
    }
    if let Some(text) = &wanted.snooze {
        let until = snooze::until(text, None, work.now())?;
        let until = until.map_or_else(|| "null".to_owned(), format_instant);
        changes.push(format!("minutehand.{SNOOZED_UNTIL}={until}"));
    }
    let path = work.defaults().collection(Some(&wanted.name))?;
    document(&collection::change(work, &path, &changes, &wanted.alerts).await?)
}

pub(super) async fn redrive(work: &Work, wanted: &Redrive) -> Result<Value> {
    let path = wanted.job.path(work)?;
    let (at, _) = instant_of(work, &path, &wanted.at).await?;
    document(&work.client().redrive_occurrence(&path, &at).await?.text)
}

pub(super) async fn cancel(work: &Work, wanted: &Redrive) -> Result<Value> {
    let path = wanted.job.path(work)?;
    let (at, _) = instant_of(work, &path, &wanted.at).await?;
    document(&work.client().cancel_occurrence(&path, &at).await?.text)
}

pub(super) async fn ping_url(work: &Work, wanted: &Named) -> Result<Value> {
    document(&work.client().ping_url(&wanted.path(work)?).await?.text)
}

pub(super) async fn rotate_ping(work: &Work, wanted: &Named) -> Result<Value> {
    document(&work.client().rotate_ping(&wanted.path(work)?).await?.text)
}

pub(super) async fn run(work: &Work, wanted: &Run) -> Result<Value> {
    let path = wanted.job.path(work)?;
    let name = work.defaults().short_job(&path);
    let key = wanted.idempotency_key.as_deref();
    if !wanted.wait {
        work.client().run_job(&path, key).await?;
        return Ok(json!({"name": name, "done": "the job runs now; job_history shows the result"}));
    }
    let (attempt, _) = run_and_wait(work, &path, key, RESULT_WAIT).await?;
    let result = if attempt.failed() { "failed" } else { "succeeded" };
    Ok(json!({"name": name, "result": result, "message": {"fromTarget": attempt.message},
        "started": attempt.start_time, "ended": attempt.end_time}))
}

pub(super) async fn test_alert(work: &Work, wanted: &InCollection) -> Result<Value> {
    let path = work.defaults().collection(wanted.collection.as_deref())?;
    let tested = work.client().test_alert(&path).await.map_err(in_collection(work, &path))?;
    Ok(labelled(document(&tested.text)?))
}

pub(super) async fn delete(work: &Work, wanted: &Named) -> Result<Value> {
    let path = wanted.path(work)?;
    work.client().delete_job(&path).await?;
    Ok(json!({"name": work.defaults().short_job(&path), "done": "deleted"}))
}

fn one_timing(work: &Work, schedule: &ScheduleArgs) -> Result<crate::job::schedule::Timing> {
    let mut timings = schedule.timings(work.now())?;
    match (timings.pop(), timings.is_empty()) {
        (Some(timing), true) => Ok(timing),
        _ => Err(Failure::refused(
            "the cron expression names days of the month and days of the week, and fires on either: \
             create a job for each",
        )),
    }
}

/// Refuses headers that carry a credential.
fn no_credential(work: &Work, path: &JobPath, action: &ActionArgs) -> Result<()> {
    let mut headers = action.header.iter().filter_map(|header| header.split_once(':'));
    match headers.find(|(name, _)| is_credential(name.trim())) {
        Some((name, _)) => {
            Err(no_secrets(work, path, &format!("action.request.headers.{}", name.trim())))
        }
        None => Ok(()),
    }
}

fn no_secrets(work: &Work, path: &JobPath, property: &str) -> Failure {
    let name = work.defaults().short_job(path);
    Failure::refused("an assistant cannot set passwords and other credentials").hint(format!(
        "leave them out; a person adds them with `minutehand job set {name} {property}=@FILE`"
    ))
}

/// What the server has understood.
async fn described(work: &Work, path: &JobPath) -> Result<Value> {
    let job = work.client().describe(path).await?.value;
    let reasons: Vec<&str> = job.not_firing.iter().map(|why| why.message.as_str()).collect();
    Ok(json!({"name": work.defaults().short_job(path), "sentence": job.sentence,
        "state": job.state, "next": job.next, "notFiring": reasons}))
}
