//! The policies of a job, from options to its extensions.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::{input, instant};

const HEADING: &str = "Policies";
/// The property that holds the extensions.
const EXTENSIONS: &str = "minutehand";

/// The options that set policies.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PolicyArgs {
    /// What runs after an outage: last, none, all, all:20 [default: last]
    #[arg(long, value_name = "WHICH", help_heading = HEADING)]
    pub(crate) catch_up: Option<String>,
    /// Leave out what would start later than this: 30s, 5m, 1h
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    pub(crate) max_lateness: Option<String>,
    /// Spread starts over this time after each instant: 30s, 10m
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    pub(crate) jitter: Option<String>,
    /// File with the secret that signs the requests (whsec_…), or two, one a line; - reads standard input
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) sign: Option<PathBuf>,
    /// Disable the job when this many occurrences in a row have failed for good, 1 to 100
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = input::positive::<u32>,
          allow_negative_numbers = true)]
    pub(crate) pause_after: Option<u32>,
}

impl PolicyArgs {
    /// Adds the policies to the properties of a job, beside what a file says of them.
    pub(crate) fn put_into(&self, properties: &mut Map<String, Value>) -> Result<()> {
        let mut policies = Map::new();
        if let Some(text) = &self.catch_up {
            policies.insert("catchUp".to_owned(), read_catch_up(text)?);
        }
        if let Some(text) = &self.max_lateness {
            policies.insert("maxLateness".to_owned(), span("--max-lateness", text)?);
        }
        if let Some(text) = &self.jitter {
            policies.insert("jitter".to_owned(), json!({ "window": span("--jitter", text)? }));
        }
        if let Some(file) = &self.sign {
            policies.insert("sign".to_owned(), json!({"secrets": secrets(file)?}));
        }
        if let Some(after) = self.pause_after {
            policies.insert("pauseOnFailure".to_owned(), json!({"after": after}));
        }
        if policies.is_empty() {
            return Ok(());
        }
        let extensions = properties.entry(EXTENSIONS).or_insert_with(|| json!({}));
        match extensions {
            Value::Object(extensions) => extensions.extend(policies),
            other => *other = policies.into(),
        }
        Ok(())
    }
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

fn read_catch_up(text: &str) -> Result<Value> {
    let wrong = || {
        Failure::refused(format!(
            "--catch-up '{text}' is unknown; write last, none, all, or all:20 for the latest 20"
        ))
    };
    Ok(match text.split_once(':') {
        None => match text {
            "last" | "none" | "all" => json!({ "policy": text }),
            _ => return Err(wrong()),
        },
        Some(("all", max)) => {
            let max: u32 = max.parse().map_err(|_| wrong())?;
            json!({ "policy": "all", "max": max })
        }
        Some(_) => return Err(wrong()),
    })
}

fn span(option: &str, text: &str) -> Result<Value> {
    let span = instant::span_of(&text.to_ascii_lowercase()).ok_or_else(|| {
        Failure::refused(format!("{option} '{text}' is not a span; write it like 30s, 5m or 1h"))
    })?;
    Ok(format!("PT{}S", span.num_seconds()).into())
}

/// The policies of a job in words; empty if it has none.
pub(super) fn in_words(extensions: &Value) -> Vec<String> {
    let text = |pointer: &str| extensions.pointer(pointer).and_then(Value::as_str);
    let number = |pointer: &str| extensions.pointer(pointer).and_then(Value::as_u64);
    let mut words = Vec::new();
    match text("/catchUp/policy") {
        Some("none") => words.push("after an outage: makes up for nothing".to_owned()),
        Some("all") => {
            let max = number("/catchUp/max").unwrap_or(100);
            let window = text("/catchUp/window").unwrap_or("1.00:00:00");
            words.push(format!(
                "after an outage: makes up for at most {max}, not older than {window}"
            ));
        }
        Some(_) | None => {}
    }
    if let Some(max) = text("/maxLateness") {
        words.push(format!("leaves out what would start more than {max} late"));
    }
    if let Some(window) = text("/jitter/window") {
        words.push(format!("starts within {window} after its time"));
    }
    words
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
            ..PolicyArgs::default()
        };
        let before = json!({"minutehand": {"retry": {}, "maxLateness": "PT1S"}});
        let after = json!({"minutehand": {"retry": {}, "maxLateness": "PT300S",
            "catchUp": {"policy": "all", "max": 20}, "jitter": {"window": "PT90S"}}});
        assert_eq!(put(&args, before).unwrap(), after);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_write() {
        for (args, expected) in [
            (given(|args| args.catch_up = Some("some".to_owned())), "last, none, all, or all:20"),
            (given(|args| args.catch_up = Some("none:3".to_owned())), "last, none, all, or all:20"),
            (given(|args| args.max_lateness = Some("soon".to_owned())), "30s, 5m or 1h"),
            (given(|args| args.jitter = Some("x".to_owned())), "--jitter 'x' is not a span"),
        ] {
            let message = put(&args, json!({})).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn policies_are_told_in_words() {
        let extensions = json!({"catchUp": {"policy": "all", "max": 20}, "maxLateness": "00:05:00",
            "jitter": {"window": "00:10:00"}});
        assert_eq!(
            in_words(&extensions),
            [
                "after an outage: makes up for at most 20, not older than 1.00:00:00",
                "leaves out what would start more than 00:05:00 late",
                "starts within 00:10:00 after its time",
            ]
        );
        assert_eq!(in_words(&json!({"catchUp": {"policy": "last"}})), [""; 0]);
    }
}
