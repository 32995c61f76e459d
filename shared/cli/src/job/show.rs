//! `job show`: a job on one page.

use chrono::TimeDelta;
use clap::Args;
use minutehand_client::{Description, HistoryProperties, JobPath, SkippedLast};
use serde_json::{Map, Value};

use super::backoff;
use super::expect::{self, expects};
use super::list::state;
use super::policy;
use crate::failure::Result;
use crate::merge::EXTENSIONS;
use crate::output::count;
use crate::output::marks::marks;
use crate::output::table::harmless;
use crate::output::times::{Times, capitalized, span_text};
use crate::repeat::Repeat;
use crate::snooze;
use crate::work::{Work, zone_of};

/// How many of the last results are shown.
const RESULTS_MAX: usize = 32;
/// The attempts among which the last one at the action is: those at the error action, and a notice, can be newer.
const LOOK_AT: usize = 50;
/// The most characters of the last message.
const MESSAGE_MAX: usize = 200;

/// The arguments of `job show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    #[command(flatten)]
    pub(super) repeat: Repeat,
}

pub(super) async fn show(work: &Work, args: &ShowArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let answer = work.client().describe(&path).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let history = work.client().history(&path, None).up_to(LOOK_AT).await?;
    let mut attempts = history.into_iter().map(|item| item.value.properties);
    let last = attempts.find(HistoryProperties::is_of_action);
    // Only who may change the job gets it.
    let ping_url = if expects(&answer.value.properties) {
        work.client().ping_url(&path).await.ok().map(|answer| answer.value.url)
    } else {
        None
    };
    work.screen.print(&page(work, &path, &answer.value, (last.as_ref(), ping_url)))?;
    if answer.value.failures > 0 {
        let name = work.defaults().short_job(&path);
        work.screen.hint(&format!("minutehand job history {name} --failed"));
    }
    Ok(())
}

fn page(
    work: &Work,
    path: &JobPath,
    job: &Description,
    (last, ping_url): (Option<&HistoryProperties>, Option<String>),
) -> String {
    let times = work.times(zone_of(&job.properties));
    let name = work.defaults().short_job(path);
    let mut lines = vec![
        format!("{}  {}", work.screen.bold(&name), state(work, &job.state)),
        capitalized(&job.sentence),
        String::new(),
    ];
    let mut line = |title: &str, text: &str| lines.push(format!("{title:<9} {text}"));
    if !job.recent.is_empty() {
        line("last", &marks(&work.screen, &job.recent, RESULTS_MAX));
    }
    line("runs", &counters(job));
    if let Some(took) = job.took_ms {
        line("took", &span_text(TimeDelta::milliseconds(took.into())));
    }
    if let Some(skip) = &job.last_skip {
        line("skipped", &skipped(skip, &times));
    }
    match &job.next {
        Some(next) => {
            let starts_at = job.next_starts_at.as_deref();
            let away = times.away(starts_at.unwrap_or(next));
            line("next", &format!("{}, {away}", times.with_start(next, starts_at)));
        }
        None => {
            for why in &job.not_firing {
                line("next", &format!("never: {}", why.message));
            }
        }
    }
    if let Some(action) = job.properties.get("action") {
        if expects(&job.properties) {
            line("expects", &expect::in_words(action));
        } else {
            line("calls", &calls(action));
            line("retries", &retries(action));
        }
    }
    if let Some(url) = ping_url {
        line("ping URL", &url);
    }
    if let Some(extensions) = job.properties.get(EXTENSIONS) {
        for words in extensions.get("retry").map(backoff::in_words).into_iter().flatten() {
            line("", &words);
        }
        for (title, words) in policy::titled(extensions) {
            line(title, &words);
        }
        if let Some(until) = snooze::told(extensions, &times) {
            line("snoozed", &until);
        }
    }
    if let Some(last) = last {
        line("last said", &said(work, last, &times));
    }
    let lines: Vec<String> = lines.iter().map(|line| work.screen.cut(line)).collect();
    lines.join("\n") + "\n"
}

fn counters(job: &Description) -> String {
    let mut text = format!("{}, {} failed", count(job.executions, "attempt"), job.failures);
    if job.faulted > 0 {
        text.extend([format!("; {} failed for good", count(job.faulted, "occurrence"))]);
    }
    if job.skipped > 0 {
        text.extend([format!("; {} skipped", job.skipped)]);
    }
    text
}

/// What was skipped last, and why.
fn skipped(skip: &SkippedLast, times: &Times) -> String {
    let why = match skip.reason.as_str() {
        "collectionOff" => "its collection was off",
        "overtaken" => "it fell into a time in which nothing worked",
        "tooLate" => "it would have started later than the job allows",
        "overlap" => "another attempt was running or waited",
        "notWatched" => "at some moment of its window no process could take its ping",
        other => other,
    };
    let from = times.written(&skip.from);
    if skip.occurrences == 1 {
        return format!("last {from}: {why}");
    }
    let (count, to) = (skip.occurrences, times.written(&skip.to));
    format!("last {count} from {from} to {to}: {why}")
}

/// What the action calls, on one line, without anything secret.
fn calls(action: &Value) -> String {
    let text = |pointer: &str| action.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/type");
    let target = match kind {
        "Http" | "Https" => format!("{} {}", text("/request/method"), text("/request/uri")),
        _ => {
            let object = action.as_object().into_iter().flat_map(Map::values);
            let names = [
                "queueUrl",
                "queueName",
                "queuePath",
                "topicPath",
                "topicArn",
                "functionName",
                "eventBusName",
                "storageAccount",
                "namespace",
            ];
            let parts: Vec<&str> = object
                .filter_map(Value::as_object)
                .flat_map(|object| names.iter().filter_map(|name| object.get(*name)?.as_str()))
                .collect();
            format!("{kind} {}", parts.join(" "))
        }
    };
    let user = match text("/request/authentication/type") {
        "" => String::new(),
        kind => format!("  with {kind} {}", text("/request/authentication/username")),
    };
    harmless(format!("{target}{user}").trim_end())
}

fn retries(action: &Value) -> String {
    let policy = |name: &str| action.pointer(&format!("/retryPolicy/{name}"));
    let retries = match policy("retryType").and_then(Value::as_str) {
        Some(kind) if kind.eq_ignore_ascii_case("none") => "none".to_owned(),
        _ => {
            let count = policy("retryCount").and_then(Value::as_u64).unwrap_or(4);
            let every = policy("retryInterval").and_then(Value::as_str).unwrap_or("00:00:30");
            format!("{count}, {every} apart")
        }
    };
    match action.get("errorAction") {
        Some(error) => format!("{retries}; then {}", calls(error)),
        None => retries,
    }
}

fn said(work: &Work, attempt: &HistoryProperties, times: &Times) -> String {
    let message = harmless(&attempt.told());
    let message = console::truncate_str(&message, MESSAGE_MAX, "…").into_owned();
    let how = if attempt.failed() { work.screen.bad("failed") } else { work.screen.good("ok") };
    let own = &attempt.minutehand;
    let by = own.asked_by.as_deref().map_or_else(String::new, |by| format!(" by {}", harmless(by)));
    let run = own.run().map_or_else(String::new, |run| format!(", {run}{by}"));
    format!("{how}, {}{run}: {message}", times.written(&attempt.start_time))
}
