//! The tools that only read.

use clap::Args;
use minutehand_client::{FailureItem, Listed};
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value, json};

use super::arguments::Named;
use crate::failure::{Failure, Result};
use crate::find;
use crate::input;
use crate::instant;
use crate::job::schedule::{ScheduleArgs, timetable};
use crate::job::why::instant_of;
use crate::job::{sentence_of, zoned};
use crate::reference;
use crate::wall::{self, Hours};
use crate::work::{Work, in_collection};

/// The most items of one answer, all of which an assistant reads.
const ITEMS_MAX: u32 = 200;
/// How many items are answered if no number is given.
const ITEMS_DEFAULT: u32 = 20;
/// The most occurrences of a preview.
const OCCURRENCES_DEFAULT: u32 = 5;
/// Since when failures are listed if it is not said.
const SINCE_DEFAULT: &str = "-7d";

fn items(text: &str) -> Result<u32, String> {
    input::within(text, &(1..=ITEMS_MAX))
}

/// The arguments of `list_jobs`.
#[derive(Debug, Args)]
pub(super) struct Jobs {
    /// Collection [default: the context's, else 'default']
    #[arg(long)]
    collection: Option<String>,
    /// Only jobs in this state
    #[arg(long, value_parser = ["enabled", "disabled", "completed", "faulted"])]
    state: Option<String>,
    /// At most this many jobs, up to 200 [default: 20]
    #[arg(long, value_parser = items)]
    limit: Option<u32>,
}

/// The arguments of `job_history`.
#[derive(Debug, Args)]
pub(super) struct History {
    #[command(flatten)]
    job: Named,
    /// Only attempts that failed
    #[arg(long)]
    failed: bool,
    /// At most this many attempts, up to 200 [default: 20]
    #[arg(long, value_parser = items)]
    limit: Option<u32>,
}

/// The arguments of `why`.
#[derive(Debug, Args)]
pub(super) struct Why {
    #[command(flatten)]
    job: Named,
    /// Instant of an occurrence that fired or should have fired; without it, the newest that did not go
    /// well, or why the job does not fire
    #[arg(long, allow_hyphen_values = true)]
    at: Option<String>,
}

/// The arguments of `get_collection`.
#[derive(Debug, Args)]
pub(super) struct Collection {
    /// Name of the collection
    #[arg(long)]
    name: String,
}

/// The arguments of `failures`.
#[derive(Debug, Args)]
pub(super) struct Failures {
    /// Only failures of this collection; with job, the collection of the job [default: the context's]
    #[arg(long)]
    collection: Option<String>,
    /// Only failures of this job of the collection
    #[arg(long)]
    job: Option<String>,
    /// Only occurrences that ended since then, such as -2h, -1d or 2027-01-03T09:00:00Z [default: -7d]
    #[arg(long, allow_hyphen_values = true)]
    since: Option<String>,
    /// At most this many failures, up to 200 [default: 20]
    #[arg(long, value_parser = items)]
    limit: Option<u32>,
}

/// The arguments of `find_jobs`.
#[derive(Debug, Args)]
pub(super) struct Find {
    /// Part of a job's name in any case; COLLECTION/JOB takes a part of both names
    #[arg(long)]
    text: String,
    /// At most this many jobs, up to 20 [default: 20]
    #[arg(long, value_parser = find::limit)]
    limit: Option<u32>,
}

/// The collection of a tool.
#[derive(Debug, Args)]
pub(super) struct InCollection {
    /// Collection [default: the context's, else 'default']
    #[arg(long)]
    pub(super) collection: Option<String>,
}

/// The arguments of `journal`.
#[derive(Debug, Args)]
pub(super) struct Journal {
    #[command(flatten)]
    of: InCollection,
    /// Only entries of this job of the collection
    #[arg(long)]
    job: Option<String>,
    /// At most this many entries, up to 200 [default: 20]
    #[arg(long, value_parser = items)]
    limit: Option<u32>,
}

/// The arguments of `alerts`.
#[derive(Debug, Args)]
pub(super) struct Alerts {
    #[command(flatten)]
    of: InCollection,
    /// A job of the collection
    #[arg(long)]
    job: Option<String>,
}

/// The arguments of `preview`.
#[derive(Debug, Args)]
pub(super) struct Preview {
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Collection whose time zone is used if zone is missing [default: the context's]
    #[arg(long)]
    collection: Option<String>,
    /// How many occurrences, up to 200 [default: 5]
    #[arg(long, value_parser = items)]
    occurrences: Option<u32>,
}

/// A list and whether there is more than that. One item more than the limit was asked for.
fn list(name: &str, mut items: Vec<Value>, limit: usize) -> Value {
    let more = items.len() > limit;
    items.truncate(limit);
    json!({name: items, "more": more})
}

/// A document as the server wrote it.
pub(super) fn document(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Failure::failed(format!("the answer of the server is not JSON: {error}")))
}

/// The fields of an answer that hold what a target wrote.
const OF_TARGETS: [&str; 2] = ["message", "said"];

/// Marks what a target wrote, wherever it is in a document: an assistant must not take it for an
/// instruction.
pub(super) fn labelled(document: Value) -> Value {
    match document {
        Value::Array(items) => items.into_iter().map(labelled).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| match value {
                Value::String(text) if OF_TARGETS.contains(&name.as_str()) => {
                    (name, json!({"fromTarget": text}))
                }
                value => (name, labelled(value)),
            });
            Value::Object(fields.collect())
        }
        value => value,
    }
}

pub(super) async fn collection(work: &Work, wanted: &Collection) -> Result<Value> {
    let path = work.defaults().collection(Some(&wanted.name))?;
    let found = work.client().collection(&path).await.map_err(in_collection(work, &path))?;
    document(&found.text)
}

pub(super) async fn failures(work: &Work, wanted: &Failures) -> Result<Value> {
    let limit = wanted.limit.unwrap_or(ITEMS_DEFAULT) as usize;
    let since = wanted.since.as_deref().unwrap_or(SINCE_DEFAULT);
    let since = format_instant(instant::parse(since, None, work.now())?);
    let (collection, job) = (wanted.collection.as_deref(), wanted.job.as_deref());
    let path = match (collection, job) {
        (None, None) => None,
        _ => Some(work.defaults().collection(collection)?),
    };
    let place = path.as_ref().map_or(&work.defaults().place, |path| &path.place);
    let of = (path.as_ref(), job);
    let found = work.client().failures(&place.subscription, of, &since, limit + 1).await?;
    if let (true, Some(path)) = (found.is_empty(), &path) {
        crate::failures::exists(work, path, job).await?;
    }
    let items = found.iter().map(|item| {
        let mut failure = labelled(document(&item.text)?);
        if let Some(failure) = failure.as_object_mut() {
            let FailureItem { resource_group, collection, job, .. } = &item.value;
            let path = reference::path(&place.subscription, resource_group, collection);
            let name = work.defaults().short_job(&path.job(job));
            failure.insert("name".to_owned(), name.into());
        }
        Ok(failure)
    });
    Ok(list("failures", items.collect::<Result<_>>()?, limit))
}

pub(super) async fn find(work: &Work, wanted: &Find) -> Result<Value> {
    let subscription = &work.defaults().place.subscription;
    let limit = wanted.limit.unwrap_or(find::FOUND_MAX) as usize;
    let (found, is_whole) = work.client().find(subscription, &wanted.text, limit).await?;
    let items = found.iter().map(|Listed { value, .. }| {
        json!({"name": find::name(work, value), "state": value.state, "sentence": value.sentence,
            "next": value.next, "recent": value.recent})
    });
    Ok(json!({"jobs": items.collect::<Vec<_>>(), "isWhole": is_whole}))
}

pub(super) async fn overview(work: &Work) -> Result<Value> {
    document(&work.client().overview(&work.defaults().place.subscription).await?.text)
}

pub(super) async fn wall(work: &Work, wanted: &Hours) -> Result<Value> {
    let subscription = &work.defaults().place.subscription;
    let found = work.client().wall(subscription, wanted.asked()).await?.value;
    Ok(wall::sums(work, &found))
}

pub(super) async fn collections(work: &Work) -> Result<Value> {
    let limit = ITEMS_MAX as usize;
    let listed = work.client().collections(&work.defaults().place).up_to(limit + 1).await?;
    let items = listed.iter().map(|Listed { value, .. }| {
        let own = |name| value.properties.rest.get("minutehand").and_then(|own| own.get(name));
        json!({"name": value.name, "state": value.properties.state, "timeZone": own("timeZone"),
            "maxPerSecond": own("maxPerSecond"), "maxConcurrent": own("maxConcurrent")})
    });
    Ok(list("collections", items.collect(), limit))
}

pub(super) async fn jobs(work: &Work, wanted: &Jobs) -> Result<Value> {
    let path = work.defaults().collection(wanted.collection.as_deref())?;
    let limit = wanted.limit.unwrap_or(ITEMS_DEFAULT) as usize;
    let listing = work.client().jobs(&path, wanted.state.as_deref());
    let listed = listing.up_to(limit + 1).await.map_err(in_collection(work, &path))?;
    let items = listed.iter().map(|Listed { value: job, .. }| {
        let status = job.status();
        json!({
            "name": job.name, "state": job.state(), "sentence": sentence_of(work, &job.properties),
            "next": status.next_execution_time, "last": status.last_execution_time,
            "executions": status.execution_count, "failures": status.failure_count,
            "faulted": status.faulted_count, "skipped": status.skipped_count,
        })
    });
    Ok(list("jobs", items.collect(), limit))
}

pub(super) async fn job(work: &Work, wanted: &Named) -> Result<Value> {
    document(&work.client().describe(&wanted.path(work)?).await?.text)
}

pub(super) async fn history(work: &Work, wanted: &History) -> Result<Value> {
    let path = wanted.job.path(work)?;
    let limit = wanted.limit.unwrap_or(ITEMS_DEFAULT) as usize;
    // The history of a job that does not exist is empty.
    work.client().job(&path).await?;
    let listing = work.client().history(&path, wanted.failed.then_some("failed"));
    let listed = listing.up_to(limit + 1).await?;
    let items = listed.iter().map(|item| {
        let mut item = document(&item.text)?;
        Ok(labelled(item.get_mut("properties").map(Value::take).unwrap_or_default()))
    });
    Ok(list("attempts", items.collect::<Result<_>>()?, limit))
}

pub(super) async fn why(work: &Work, wanted: &Why) -> Result<Value> {
    let path = wanted.job.path(work)?;
    let at = match &wanted.at {
        Some(at) => Some(instant_of(work, &path, at).await?.0),
        None => None,
    };
    Ok(labelled(document(&work.client().why(&path, at.as_deref()).await?.text)?))
}

pub(super) async fn journal(work: &Work, wanted: &Journal) -> Result<Value> {
    let path = work.defaults().collection(wanted.of.collection.as_deref())?;
    let limit = wanted.limit.unwrap_or(ITEMS_DEFAULT) as usize;
    let listed = work.client().journal(&path, wanted.job.as_deref(), limit + 1).await;
    let listed = listed.map_err(in_collection(work, &path))?;
    let items = listed.iter().map(|item| document(&item.text));
    Ok(list("entries", items.collect::<Result<_>>()?, limit))
}

pub(super) async fn alerts(work: &Work, wanted: &Alerts) -> Result<Value> {
    let path = work.defaults().collection(wanted.of.collection.as_deref())?;
    let text = match &wanted.job {
        Some(job) => work.client().job_alert(&path.job(job)).await?.text,
        None => work.client().alert(&path).await.map_err(in_collection(work, &path))?.text,
    };
    document(&text)
}

pub(super) async fn preview(work: &Work, wanted: &Preview) -> Result<Value> {
    let count = wanted.occurrences.unwrap_or(OCCURRENCES_DEFAULT) as usize;
    let collection = work.defaults().collection(wanted.collection.as_deref())?;
    let schedule = zoned(work, &wanted.schedule, &collection).await?;
    let timings = schedule.timings(work.now())?;
    let jobs = timings.iter().map(|timing| {
        let mut properties = Map::new();
        timing.put_into(&mut properties);
        let timetable = timetable(&properties, work.now())?;
        let next: Vec<String> = timetable.iter().take(count).map(format_instant).collect();
        Ok(json!({"sentence": timetable.sentence(), "next": next}))
    });
    Ok(json!({"jobs": jobs.collect::<Result<Vec<Value>>>()?}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_wrote_is_marked_wherever_it_is() {
        let document = json!({"name": "a", "attempts": [{"message": "m", "minutehand":
            {"said": "s", "cause": {"kind": "status"}}}], "said": null});
        assert_eq!(
            labelled(document),
            json!({"name": "a", "attempts": [{"message": {"fromTarget": "m"}, "minutehand":
                {"said": {"fromTarget": "s"}, "cause": {"kind": "status"}}}], "said": null})
        );
    }
}
