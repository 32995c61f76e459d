//! The policies of a job, from options to its extensions.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use super::backoff::{BackoffArgs, FAILURES};
use crate::failure::{Failure, Result};
use crate::input;
use crate::instant::optional_span;
use crate::merge::{EXTENSIONS, object, object_in};
use crate::output::{count, plural};

const HEADING: &str = "Policies";

/// The options that set policies.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PolicyArgs {
    #[command(flatten)]
    pub(crate) backoff: BackoffArgs,
    /// What runs after an outage: last, none, all, all:20 [default: last]
    #[arg(long, value_name = "WHICH", help_heading = HEADING)]
    pub(crate) catch_up: Option<String>,
    /// Leave out what would start later than this: 5m
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    pub(crate) max_lateness: Option<String>,
    /// Spread starts over this time after an instant: 10m
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    pub(crate) jitter: Option<String>,
    /// Do not run then: 2027-12-24, 2027-12-27/2028-01-02; several with commas, or the option again
    #[arg(long, value_name = "DATE", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) exclude_date: Vec<String>,
    /// Also run then, by the clock of the zone: 2027-12-23T18:00; several as above
    #[arg(long, value_name = "DATE", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) extra_date: Vec<String>,
    /// Longest time of an action, 1s to 60s [default: 60s]
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    pub(crate) timeout: Option<String>,
    /// Time for a target that answers 202 to report: 2h
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    pub(crate) completion: Option<String>,
    /// If an occurrence is due while an attempt runs: allow, or skip to leave it out [default: allow]
    #[arg(long, value_name = "WHAT", help_heading = HEADING)]
    pub(crate) overlap: Option<String>,
    /// File with the secret that signs the requests (whsec_…), or two; - is standard input
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) sign: Option<PathBuf>,
    /// Disable the job after N failures in a row
    #[arg(long, value_name = "N", help_heading = FAILURES, value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    pub(crate) pause_after: Option<u32>,
}

impl PolicyArgs {
    /// Adds the policies to the properties of a job, beside what a file says of them.
    pub(crate) fn put_into(&self, properties: &mut Map<String, Value>) -> Result<()> {
        self.backoff.put_into(properties)?;
        let dates = |given: &[String]| (!given.is_empty()).then(|| json!(given));
        let overlap = self.overlap.as_deref().map(read_overlap);
        let policies = object([
            ("catchUp", self.catch_up.as_deref().map(read_catch_up).transpose()?),
            ("maxLateness", optional_span("--max-lateness", self.max_lateness.as_deref())?),
            ("timeout", optional_span("--timeout", self.timeout.as_deref())?),
            (
                "completion",
                within("within", optional_span("--completion", self.completion.as_deref())?),
            ),
            ("jitter", within("window", optional_span("--jitter", self.jitter.as_deref())?)),
            ("exclude", within("dates", dates(&self.exclude_date))),
            ("extraDates", dates(&self.extra_date)),
            ("overlap", within("policy", overlap.transpose()?)),
            ("sign", within("secrets", self.sign.as_deref().map(secrets).transpose()?)),
            ("pauseOnFailure", within("after", self.pause_after)),
        ]);
        if policies.is_empty() {
            return Ok(());
        }
        object_in(properties, EXTENSIONS)?.extend(policies);
        Ok(())
    }
}

/// A value as the only property of an object.
fn within(name: &str, value: Option<impl Into<Value>>) -> Option<Value> {
    let value: Value = value?.into();
    Some(json!({name: value}))
}

/// The secrets in a file, one a line.
pub(crate) fn secrets(file: &Path) -> Result<Vec<String>> {
    let text = input::secret(file)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let secrets: Vec<String> = lines.map(str::to_owned).collect();
    if secrets.is_empty() {
        return Err(Failure::refused(format!("{} has no secret", file.display())));
    }
    Ok(secrets)
}

fn read_overlap(text: &str) -> Result<&str> {
    match text {
        "allow" | "skip" => Ok(text),
        _ => Err(Failure::refused(format!("--overlap '{text}' is unknown; write allow or skip"))),
    }
}

fn read_catch_up(text: &str) -> Result<Value> {
    let wrong = || {
        Failure::refused(format!(
            "--catch-up '{text}' is unknown; write last, none, all, or all:20 for the latest 20"
        ))
    };
    match (text, text.split_once(':')) {
        ("last" | "none" | "all", _) => Ok(json!({ "policy": text })),
        (_, Some(("all", max))) => {
            let max: u32 = max.parse().map_err(|_| wrong())?;
            Ok(json!({ "policy": "all", "max": max }))
        }
        _ => Err(wrong()),
    }
}

/// The lines of `job show` on the policies of a job, each with its title; empty if it has none.
pub(super) fn titled(extensions: &Value) -> Vec<(&'static str, String)> {
    let mut lines: Vec<_> =
        in_words(extensions).into_iter().map(|words| ("policy", words)).collect();
    if let Some(after) = extensions.pointer("/pauseOnFailure/after").and_then(Value::as_u64) {
        lines.push(("pauses", format!("after {} in a row", count(after, "failure"))));
    }
    if let Some(secrets) = extensions.pointer("/sign/secrets").and_then(Value::as_array) {
        lines.push(("signs", format!("its requests, with {}", plural(secrets.len(), "secret"))));
    }
    lines
}

/// The policies that decide when and whether a job runs, in words.
fn in_words(extensions: &Value) -> Vec<String> {
    let text = |pointer: &str| extensions.pointer(pointer).and_then(Value::as_str);
    let number = |pointer: &str| extensions.pointer(pointer).and_then(Value::as_u64);
    let catch_up = match text("/catchUp/policy") {
        Some("none") => Some("after an outage: makes up for nothing".to_owned()),
        Some("all") => {
            let max = number("/catchUp/max").unwrap_or(100);
            let window = text("/catchUp/window").unwrap_or("1.00:00:00");
            Some(format!("after an outage: makes up for at most {max}, not older than {window}"))
        }
        Some(_) | None => None,
    };
    let fills_in = extensions.get("template") == Some(&Value::Bool(true));
    let skips = text("/overlap/policy") == Some("skip");
    let words = [
        catch_up,
        text("/maxLateness").map(|max| format!("leaves out what would start more than {max} late")),
        text("/timeout").map(|max| format!("gives up an action after {max}")),
        text("/completion/within")
            .map(|within| format!("may answer 202 and report the end within {within}")),
        number("/depth").map(|depth| format!("was put by a job, number {depth} in a chain")),
        fills_in.then(|| "names in double braces become values".to_owned()),
        text("/jitter/window").map(|window| format!("starts within {window} after its time")),
        dates(extensions.pointer("/exclude/dates")).map(|dates| format!("not on {dates}")),
        dates(extensions.get("extraDates")).map(|dates| format!("also at {dates}")),
        skips.then(|| "leaves out what comes while another attempt runs".to_owned()),
    ];
    words.into_iter().flatten().collect()
}

/// The most dates that are told one by one.
const DATES_TOLD_MAX: usize = 6;

/// A list of dates in words; `None` if there are none.
fn dates(list: Option<&Value>) -> Option<String> {
    let dates: Vec<&str> = list?.as_array()?.iter().filter_map(Value::as_str).collect();
    let told = dates.iter().take(DATES_TOLD_MAX).map(|date| date.replace('/', " to "));
    let told = told.collect::<Vec<_>>().join(", ");
    Some(match dates.len().checked_sub(DATES_TOLD_MAX) {
        Some(more) if more > 0 => format!("{told} and {more} more"),
        _ if told.is_empty() => return None,
        _ => told,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_join_those_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secrets");
        std::fs::write(&file, "whsec_new\n\n whsec_old \n").unwrap();
        let mut properties = Map::new();
        properties.insert(EXTENSIONS.to_owned(), json!({"retry": {}, "sign": null}));
        PolicyArgs::default().put_into(&mut properties).unwrap();
        let args =
            PolicyArgs { sign: Some(file.clone()), pause_after: Some(5), ..PolicyArgs::default() };
        args.put_into(&mut properties).unwrap();
        let expected = json!({"retry": {}, "sign": {"secrets": ["whsec_new", "whsec_old"]},
            "pauseOnFailure": {"after": 5}});
        assert_eq!(properties[EXTENSIONS], expected);
        std::fs::write(&file, " \n").unwrap();
        assert!(secrets(&file).unwrap_err().message.contains("has no secret"));
    }

    fn put(args: &PolicyArgs, properties: Value) -> Result<Value> {
        let Value::Object(mut properties) = properties else { panic!("an object") };
        args.put_into(&mut properties)?;
        Ok(properties.into())
    }

    fn given(change: impl Fn(&mut PolicyArgs)) -> PolicyArgs {
        let mut args = PolicyArgs::default();
        change(&mut args);
        args
    }

    #[test]
    fn options_become_extensions_and_leave_the_others() {
        assert_eq!(put(&PolicyArgs::default(), json!({})).unwrap(), json!({}));
        let args = PolicyArgs {
            catch_up: Some("all:20".to_owned()),
            max_lateness: Some("5m".to_owned()),
            jitter: Some("90s".to_owned()),
            exclude_date: vec!["2027-12-24".to_owned(), "2027-12-27/2028-01-02".to_owned()],
            extra_date: vec!["2027-12-23T18:00".to_owned()],
            overlap: Some("skip".to_owned()),
            ..PolicyArgs::default()
        };
        let before = json!({"minutehand": {"retry": {}, "maxLateness": "PT1S"}});
        let after = json!({"minutehand": {"retry": {}, "maxLateness": "PT300S",
            "catchUp": {"policy": "all", "max": 20}, "jitter": {"window": "PT90S"},
            "overlap": {"policy": "skip"},
            "exclude": {"dates": ["2027-12-24", "2027-12-27/2028-01-02"]},
            "extraDates": ["2027-12-23T18:00"]}});
        assert_eq!(put(&args, before).unwrap(), after);
    }

    #[test]
    fn what_a_file_says_is_never_replaced_by_something_else() {
        let args = given(|args| args.jitter = Some("90s".to_owned()));
        let jitter = json!({"minutehand": {"jitter": {"window": "PT90S"}}});
        assert_eq!(put(&args, json!({"minutehand": null})).unwrap(), jitter);
        for wrong in [json!("x"), json!([]), json!(3)] {
            let message = put(&args, json!({"minutehand": wrong})).unwrap_err().message;
            assert!(message.starts_with("'minutehand' of the file must be an object"), "{message}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_write() {
        for (args, expected) in [
            (given(|args| args.catch_up = Some("some".to_owned())), "last, none, all, or all:20"),
            (given(|args| args.catch_up = Some("none:3".to_owned())), "last, none, all, or all:20"),
            (given(|args| args.max_lateness = Some("soon".to_owned())), "30s, 5m or 1h"),
            (given(|args| args.jitter = Some("x".to_owned())), "--jitter 'x' is not a span"),
            (given(|args| args.overlap = Some("buffer".to_owned())), "write allow or skip"),
        ] {
            let message = put(&args, json!({})).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn policies_are_told_in_words() {
        let extensions = json!({"catchUp": {"policy": "all", "max": 20}, "maxLateness": "00:05:00",
            "jitter": {"window": "00:10:00"}, "overlap": {"policy": "skip"}});
        assert_eq!(
            in_words(&extensions),
            [
                "after an outage: makes up for at most 20, not older than 1.00:00:00",
                "leaves out what would start more than 00:05:00 late",
                "starts within 00:10:00 after its time",
                "leaves out what comes while another attempt runs",
            ]
        );
        assert_eq!(in_words(&json!({"catchUp": {"policy": "last"}})), [""; 0]);
        let days: Vec<_> = (1..9).map(|day| format!("2027-01-0{day}")).collect();
        assert_eq!(
            in_words(&json!({"exclude": {"dates": days}, "extraDates": ["2027-12-23T18:00"]})),
            [
                "not on 2027-01-01, 2027-01-02, 2027-01-03, 2027-01-04, 2027-01-05, 2027-01-06 and 2 \
                 more",
                "also at 2027-12-23T18:00",
            ]
        );
        assert_eq!(in_words(&json!({"exclude": {"dates": []}, "extraDates": []})), [""; 0]);
    }
}
