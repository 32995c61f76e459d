//! `job set`: changes properties, as a merge patch.

use std::path::Path;

use clap::Args;
use client::Precondition;
use serde_json::{Map, Value, json};

use super::create::say_next;
use super::policy::secrets;
use crate::failure::{Failure, Result};
use crate::input;
use crate::masked::is_secret;
use crate::work::Work;

/// The arguments of `job set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Property and its new value, as JSON or text: recurrence.interval=2. @FILE reads the value from a file; null removes the property
    #[arg(required = true, value_name = "PROPERTY=VALUE")]
    changes: Vec<String>,
}

pub(super) async fn set(work: &Work, args: &SetArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let changes = merge_patch(&args.changes)?;
    let answer = work.client().patch_job(&path, &changes, Precondition::Always).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let job = work.client().describe(&path).await?.value;
    let name = work.defaults().short_job(&path);
    work.screen.line(&format!("changed {name}: {}", job.sentence))?;
    say_next(work, &job, "next fires")
}

/// The merge patch of a document whose properties change.
pub(crate) fn merge_patch(changes: &[String]) -> Result<Value> {
    let mut patch = Value::Object(Map::new());
    changes.iter().try_for_each(|change| add(&mut patch, change))?;
    Ok(json!({ "properties": patch }))
}

/// Adds a change to a merge patch.
fn add(changes: &mut Value, change: &str) -> Result<()> {
    let refused = |why: &str| Failure::refused(format!("'{change}': {why}"));
    let (path, text) = change
        .split_once('=')
        .ok_or_else(|| refused("write a property and its value, like state=disabled"))?;
    let path = path.trim().strip_prefix("properties.").unwrap_or(path.trim());
    let last = path.rsplit('.').next().unwrap_or_default();
    let value = match text.strip_prefix('@') {
        Some(file) if last == "secrets" => secrets(Path::new(file))?.into(),
        Some(file) => Value::String(input::secret(Path::new(file))?.to_string()),
        None if is_secret(last) && text != "null" => {
            return Err(Failure::refused(format!(
                "{path}: other users of this machine could read the value; use {path}=@FILE, or \
                 {path}=@- for standard input"
            )));
        }
        None => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    };
    let mut at = changes;
    for name in path.split('.') {
        if name.is_empty() {
            return Err(refused("the property is missing"));
        }
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(object) = at else {
            return Err(refused("the property is given twice"));
        };
        at = object.entry(name).or_insert(Value::Null);
    }
    *at = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(arguments: &[&str]) -> Result<Value> {
        let mut merged = json!({});
        arguments.iter().try_for_each(|argument| add(&mut merged, argument))?;
        Ok(merged)
    }

    #[test]
    fn changes_become_a_merge_patch() {
        assert_eq!(
            merged(&[
                "state=disabled",
                "recurrence.interval=2",
                "recurrence.schedule.hours=[8]",
                "properties.action.request.body={\"a\":1",
                "recurrence.endTime=null",
            ])
            .unwrap(),
            json!({"state": "disabled", "recurrence": {"interval": 2, "schedule": {"hours": [8]},
                "endTime": null}, "action": {"request": {"body": "{\"a\":1"}}})
        );
    }

    #[test]
    fn secrets_that_sign_are_read_from_a_file_one_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secrets");
        std::fs::write(&file, "whsec_new\n(withheld)\n").unwrap();
        let change = format!("minutehand.sign.secrets=@{}", file.display());
        let expected = json!({"minutehand": {"sign": {"secrets": ["whsec_new", "(withheld)"]}}});
        assert_eq!(merged(&[&change]).unwrap(), expected);
    }

    #[test]
    fn a_secret_is_never_an_argument() {
        let message =
            merged(&["action.request.authentication.password=hunter2"]).unwrap_err().message;
        assert!(message.contains("password=@FILE") && !message.contains("hunter2"), "{message}");
        assert!(merged(&["state"]).unwrap_err().message.contains("like state=disabled"));
        assert!(merged(&["=1"]).unwrap_err().message.contains("the property is missing"));
    }
}
