//! The tools: what each is called with, and what it answers.

use client::{HistoryFilter, JobPath};
use recurrence::{Timetable, format_instant};
use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::write;
use crate::failure::{Failure, Result};
use crate::job::schedule::ScheduleArgs;
use crate::work::Work;

/// The most items of one answer; an assistant reads all of it.
const ITEMS_MAX: usize = 200;
/// The items of an answer if no number is given.
const ITEMS_DEFAULT: usize = 20;

/// All tools, each with whether it changes anything.
pub(super) fn all() -> impl Iterator<Item = (bool, Tool)> {
    let annotations = ToolAnnotations::new().read_only(true).open_world(false);
    let reading = reading().map(move |tool| (false, tool.with_annotations(annotations.clone())));
    let writing = writing().map(|(destroys, tool)| {
        let annotations = ToolAnnotations::new().read_only(false).destructive(destroys);
        (true, tool.with_annotations(annotations))
    });
    reading.chain(writing)
}

fn name() -> Value {
    json!({"type": "string", "description": "COLLECTION/JOB, or JOB"})
}

fn reading() -> impl Iterator<Item = Tool> {
    let limit = || json!({"type": "integer", "minimum": 1, "maximum": ITEMS_MAX});
    let named = || object(&json!({"name": name()}), &["name"]);
    let history = json!({"name": name(), "failed": {"type": "boolean"}, "limit": limit()});
    let jobs = json!({"collection": {"type": "string"}, "limit": limit()});
    [
        tool("list_collections", "List the collections of jobs.", object(&json!({}), &[])),
        tool(
            "list_jobs",
            "List the jobs of a collection: state, next occurrence, counters.",
            object(&jobs, &[]),
        ),
        tool(
            "get_job",
            "Show a job: its definition, when it fires in words, the next occurrence, counters, and \
             every reason why it does not fire.",
            named(),
        ),
        tool(
            "job_history",
            "List the attempts of a job, newest first, with what the target answered.",
            object(&history, &["name"]),
        ),
        tool("why_not_firing", "Say why a job does not fire now, and what to do.", named()),
        tool(
            "preview",
            "Say in words when a job would fire, and list its next occurrences, without creating it.",
            object(&when(), &[]),
        ),
    ]
    .into_iter()
}

/// The tools that change something, each with whether something may be lost by it.
fn writing() -> impl Iterator<Item = (bool, Tool)> {
    let named = || object(&json!({"name": name()}), &["name"]);
    let change = json!({"name": name(), "properties": {"type": "object"}});
    let create = "Create a job that calls a URL. It never fires by surprise: an interval begins one \
                  interval from now. The answer says what was understood and when it first fires.";
    let update =
        "Change a job by a JSON merge patch of its properties, such as {\"state\":\"disabled\"}.";
    [
        (false, tool("create_job", create, object(&creation(), &["name", "url"]))),
        (true, tool("update_job", update, object(&change, &["name", "properties"]))),
        (false, tool("run_job", "Run a job once, now. job_history shows the result.", named())),
        (true, tool("delete_job", "Delete a job with its history.", named())),
    ]
    .into_iter()
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    Tool::new(name, description, schema)
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required,
        "additionalProperties": false})
}

/// The properties that say when a job fires, as the options of `job create`.
fn when() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "every": text("Interval: 15m, 2h, 1d, 2w, 1mo, 1y"),
        "at": text("Time of day: 09:00, or 08:00,17:00; needs on, daily or once"),
        "on": text("Days: mon-fri; sat,sun; 1,15,last; first-mon; last-fri"),
        "daily": {"type": "boolean"},
        "once": {"type": "boolean"},
        "cron": text("Five fields, or @daily; instead of every and at"),
        "months": text("Only in these months: jan,apr"),
        "zone": text("Time zone of the times: Europe/Berlin"),
        "start": text("Not before this instant"),
        "end": text("Not after this instant"),
        "count": {"type": "integer", "minimum": 1},
    })
}

fn creation() -> Value {
    let mut properties = when();
    let more = json!({
        "name": name(),
        "url": {"type": "string", "description": "http or https URL to call"},
        "method": {"type": "string"},
        "body": {"type": "string"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"},
            "description": "Headers without credentials"},
        "retry": {"type": "integer", "minimum": 0, "maximum": 20},
        "disabled": {"type": "boolean"},
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut properties, more) {
        all.extend(more);
    }
    properties
}

/// When a job fires, as an assistant says it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct When {
    every: Option<String>,
    at: Option<String>,
    on: Option<String>,
    daily: bool,
    once: bool,
    cron: Option<String>,
    months: Option<String>,
    zone: Option<String>,
    start: Option<String>,
    end: Option<String>,
    count: Option<u32>,
}

impl From<When> for ScheduleArgs {
    fn from(when: When) -> Self {
        let When { every, at, on, daily, once, cron, months, zone, start, end, count } = when;
        Self { at, on, daily, once, every, cron, months, zone, start, end, count }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    name: String,
    #[serde(default)]
    failed: bool,
    limit: Option<usize>,
}

impl Named {
    pub(super) fn path(&self, work: &Work) -> Result<JobPath> {
        work.defaults().job(&self.name)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    collection: Option<String>,
    limit: Option<usize>,
}

/// Reads the arguments of a tool.
pub(super) fn arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T> {
    serde_json::from_value(arguments.clone())
        .map_err(|error| Failure::refused(format!("the arguments do not fit: {error}")))
}

/// Calls a tool, and returns its answer as text.
pub(super) async fn call(work: &Work, name: &str, with: &Value) -> Result<String> {
    match name {
        "list_collections" => {
            let place = &work.defaults().place;
            let listed = work.client().collections(place).up_to(ITEMS_MAX).await?;
            Ok(array(listed.iter().map(|item| item.text.as_str())))
        }
        "list_jobs" => {
            let Listed { collection, limit } = arguments(with)?;
            let path = work.defaults().collection(collection.as_deref())?;
            let listed = work.client().jobs(&path, None).up_to(most(limit)).await?;
            Ok(array(listed.iter().map(|item| item.text.as_str())))
        }
        "get_job" => {
            let job: Named = arguments(with)?;
            Ok(work.client().describe(&job.path(work)?).await?.text)
        }
        "job_history" => {
            let job: Named = arguments(with)?;
            let which = if job.failed { HistoryFilter::Failed } else { HistoryFilter::All };
            let path = job.path(work)?;
            let items = work.client().history(&path, which).up_to(most(job.limit)).await?;
            Ok(array(items.iter().map(|item| item.text.as_str())))
        }
        "why_not_firing" => {
            let job: Named = arguments(with)?;
            let described = work.client().describe(&job.path(work)?).await?.value;
            let reasons: Vec<&str> =
                described.not_firing.iter().map(|why| why.message.as_str()).collect();
            Ok(match (&described.next, reasons.is_empty()) {
                (Some(next), true) => format!("It fires: next at {next}."),
                _ => reasons.join(" "),
            })
        }
        "preview" => preview(work, arguments(with)?),
        _ => write::call(work, name, with).await,
    }
}

fn most(limit: Option<usize>) -> usize {
    limit.unwrap_or(ITEMS_DEFAULT).clamp(1, ITEMS_MAX)
}

fn array<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn preview(work: &Work, when: When) -> Result<String> {
    let timings = ScheduleArgs::from(when).timings(work.now())?;
    let mut jobs = Vec::new();
    for timing in timings {
        let mut properties = Map::new();
        timing.put_into(&mut properties);
        let text = Value::Object(properties.clone()).to_string();
        let timetable = Timetable::from_json_text(&text, work.now())
            .map_err(|refused| Failure::refused(refused.to_string()))?;
        let next: Vec<String> =
            timetable.iter().take(ITEMS_DEFAULT / 2).map(format_instant).collect();
        jobs.push(
            json!({"sentence": timetable.sentence(), "next": next, "properties": properties}),
        );
    }
    Ok(json!({ "jobs": jobs }).to_string())
}
