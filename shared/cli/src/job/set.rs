//! `job set`: changes properties, as a merge patch.

use std::path::Path;

use clap::Args;
use minutehand_client::Precondition;
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
    let mut changes = merge_patch(&args.changes)?;
    let mut etag = None;
    if args.changes.iter().any(|change| is_of_schedule(change)) {
        // The server replaces a schedule whole, so what is not named is sent again.
        let stored = work.client().job(&path).await?;
        keep_schedule(&mut changes, &stored.value.properties);
        etag = stored.etag;
    }
    let condition = etag.as_deref().map_or(Precondition::Always, Precondition::Unchanged);
    let answer = work.client().patch_job(&path, &changes, condition).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let job = work.client().describe(&path).await?.value;
    let name = work.defaults().short_job(&path);
    work.screen.line(&format!("changed {name}: {}", job.sentence))?;
    say_next(work, &job, "next fires")
}

/// Whether a change is about a part of the schedule, and not about the whole.
fn is_of_schedule(change: &str) -> bool {
    let change = change.trim();
    change.strip_prefix("properties.").unwrap_or(change).starts_with("recurrence.schedule.")
}

/// Adds to the schedule of a patch what the stored one has and the patch does not name.
fn keep_schedule(patch: &mut Value, stored: &Map<String, Value>) {
    let stored = stored.get("recurrence").and_then(|it| it.get("schedule")?.as_object());
    let changed = patch.pointer_mut("/properties/recurrence/schedule");
    let Some(changed) = changed.and_then(Value::as_object_mut) else { return };
    for (name, value) in stored.into_iter().flatten() {
        changed.entry(name).or_insert_with(|| value.clone());
    }
    // As in a merge patch, nothing removes a part.
    changed.retain(|_, value| !value.is_null());
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
    fn a_change_of_a_part_keeps_the_rest_of_the_schedule() {
        let stored = json!({"recurrence": {"frequency": "week",
            "schedule": {"hours": [9], "minutes": [30], "weekDays": ["monday"]}}});
        let kept = |arguments: &[&str]| {
            let changes: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
            let mut patch = merge_patch(&changes).unwrap();
            keep_schedule(&mut patch, stored.as_object().unwrap());
            patch["properties"]["recurrence"]["schedule"].clone()
        };
        assert_eq!(
            kept(&["recurrence.schedule.hours=[8]"]),
            json!({"hours": [8], "minutes": [30], "weekDays": ["monday"]})
        );
        assert_eq!(
            kept(&["recurrence.schedule.weekDays=null", "recurrence.interval=2"]),
            json!({"hours": [9], "minutes": [30]})
        );
        for (change, expected) in [
            ("recurrence.schedule.hours=[8]", true),
            ("properties.recurrence.schedule.hours=[8]", true),
            ("recurrence.schedule={}", false),
            ("recurrence.interval=2", false),
        ] {
            assert_eq!(is_of_schedule(change), expected, "{change}");
        }
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
