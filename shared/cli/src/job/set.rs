//! `job set`: changes properties, by options or by their names, as a merge patch.

use std::path::{Path, PathBuf};

use clap::Args;
use minutehand_client::{JobPath, Precondition};
use serde_json::{Map, Value, json};

use super::action::ActionArgs;
use super::change;
use super::create::{properties_of, say_next};
use super::expect::WindowArgs;
use super::policy::{PolicyArgs, secrets};
use super::schedule::ScheduleArgs;
use crate::check::{self, Change, JobChange};
use crate::failure::{Failure, Result};
use crate::input;
use crate::masked::{is_secret, masked};
use crate::merge::merge;
use crate::work::Work;

/// The arguments of `job set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// Name of the job, or COLLECTION/JOB
    name: String,
    /// Property and its new value, as JSON or text: recurrence.interval=2. @FILE reads the value from a file; null removes the property
    #[arg(value_name = "PROPERTY=VALUE")]
    changes: Vec<String>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    action: ActionArgs,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    policies: PolicyArgs,
    /// File with the properties to change, as JSON or YAML; - reads standard input. Options override it
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Switch it off
    #[arg(long)]
    disabled: bool,
    /// Say what would be changed, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn set(work: &Work, args: &SetArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    // What is wrong with the words is said before the server is asked.
    let named = merge_patch(&args.changes)?;
    let from_file = match &args.file {
        Some(file) => properties_of(input::object(file)?),
        None => Map::new(),
    };
    let stored = work.client().job(&path).await?;
    let mut changes = Value::Object(from_file);
    merge(&mut changes, args.options(work, &stored.value.properties)?.into());
    let mut changes = json!({ "properties": changes });
    merge(&mut changes, named);
    if changes.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty) {
        return Err(Failure::refused("it is not said what to change").hint(
            "give PROPERTY=VALUE, such as state=disabled, or options of `job create`, such as --at 10:00",
        ));
    }
    if args.changes.iter().any(|change| is_of_schedule(change)) {
        // The server replaces a schedule whole, so what is not named is sent again.
        keep_schedule(&mut changes, &stored.value.properties);
    }
    let name = work.defaults().short_job(&path);
    if args.dry_run {
        return dry_run(work, &path, &changes).await;
    }
    let condition = stored.etag.as_deref().map_or(Precondition::Always, Precondition::Unchanged);
    let answer = match work.client().patch_job(&path, &changes, condition).await {
        Err(error) if error.is_taken() => {
            return Err(Failure::refused(format!("{name} was changed at the same moment"))
                .hint("do it again, if it is still what you want"));
        }
        answer => answer?,
    };
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let job = work.client().describe(&path).await?.value;
    work.screen.line(&format!("changed {name}: {}", job.sentence))?;
    say_next(work, &job, "next fires")
}

/// Says what would be changed, and refuses what the server would refuse.
async fn dry_run(work: &Work, path: &JobPath, changes: &Value) -> Result<()> {
    let change = Change { is_patch: true, body: changes };
    let jobs = [JobChange { name: &path.job, change, is_new: false }];
    let checked = check::check(work, &path.collection, None, &jobs).await?.accepted()?;
    let checked = checked.into_iter().flatten().next().unwrap_or_default();
    if let Some(json) = &work.json {
        return json.document(&work.screen, &masked(changes).to_string());
    }
    let name = work.defaults().short_job(path);
    let sentence = checked.sentence.unwrap_or_default();
    work.screen.line(&format!("would change {name}: {sentence}"))?;
    for warning in &checked.warnings {
        work.screen.note(&warning.message);
    }
    Ok(())
}

impl SetArgs {
    /// The changes that the options say.
    fn options(&self, work: &Work, found: &Map<String, Value>) -> Result<Map<String, Value>> {
        let Self { schedule, action, policies, .. } = self;
        let mut patch = change::changes(schedule, action, policies, found, work.now())?;
        self.window.put_into(&mut patch, found)?;
        if self.disabled {
            patch.insert("state".to_owned(), "disabled".into());
        }
        Ok(patch)
    }
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
pub(crate) fn merge_patch<'a>(changes: impl IntoIterator<Item = &'a String>) -> Result<Value> {
    let mut patch = Value::Object(Map::new());
    changes.into_iter().try_for_each(|change| add(&mut patch, change))?;
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
