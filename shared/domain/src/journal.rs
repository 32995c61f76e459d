//! The journal: one entry for each change that a user makes, with what changed, for each run that a user
//! asks for, and for each job that the scheduler pauses.
//!
//! An entry holds the change as two JSON merge patches (RFC 7396): one leads from the state before to
//! the state after, the other back. Neither contains a secret: the documents that are compared have
//! none, because they are those that answers are made of. If the two are longer than [`PATCHES_BYTES_MAX`] together, only the names of the
//! properties are kept.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};

use minutehand_recurrence::named;

use crate::name::Name;
use crate::tick::{from_ticks, ticks};

/// How long an entry is kept.
pub const JOURNAL_KEPT_FOR: TimeDelta = TimeDelta::days(400);
/// How long the entry of a run is kept. A program may ask for runs all day, so that they are more than changes.
const RUNS_KEPT_FOR: TimeDelta = TimeDelta::days(60);
/// The sender of changes that the scheduler makes.
pub const SCHEDULER: &str = "scheduler";
/// The most bytes of the two patches of an entry, as compact JSON.
pub const PATCHES_BYTES_MAX: usize = 4 * 1024;
/// The most names of properties in an entry.
const NAMES_MAX: usize = 50;
/// The most characters of one name: users choose those of tags.
const NAME_CHARS_MAX: usize = 100;
/// The names of the state of a job and of a collection.
const STATES: [&str; 2] = ["state", "properties.state"];
/// The name of the property with which the scheduler says that it paused a job.
const PAUSED: &str = "minutehand.paused";
/// How deep the names of properties go: `action.request.uri`.
const NAMES_DEPTH_MAX: usize = 3;

/// A change, or a run that a user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// When it was made.
    pub at: DateTime<Utc>,
    /// The sender of the request, or [`SCHEDULER`].
    pub who: String,
    /// The id of the request, which the log has, too; empty if there was none.
    pub request_id: String,
    /// What was done.
    pub operation: Operation,
    /// The name of the job in the spelling in which it was first given; `None` if the collection
    /// changed.
    pub job: Option<Name>,
    /// What changed.
    pub difference: DocumentChange,
    /// The run that was asked for.
    pub run: Option<JournalRun>,
}

/// A run that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalRun {
    /// Its instant, under which the history has it.
    pub at: DateTime<Utc>,
    /// The instant of the occurrence that it repeats, if it does.
    pub redrive_of: Option<DateTime<Utc>>,
}

impl JournalEntry {
    /// When it is no longer answered, whether or not it has been removed.
    #[must_use]
    pub fn expires_at(&self) -> DateTime<Utc> {
        let kept_for = if self.run.is_some() { RUNS_KEPT_FOR } else { JOURNAL_KEPT_FOR };
        self.at.checked_add_signed(kept_for).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// What is stored beside the name of [`Operation::stored`], if that does not say all: the kind, and the run.
    #[must_use]
    pub fn stored_kind(&self) -> Option<String> {
        let name = self.operation.name();
        let run = self.run.map(|JournalRun { at, redrive_of }| {
            let of = redrive_of.map(|of| format!(" {}", ticks(of))).unwrap_or_default();
            format!("{name} {}{of}", ticks(at))
        });
        run.or_else(|| (self.operation.stored() != name).then(|| name.to_owned()))
    }
}

/// Reads the kind of an entry: its name, and what is stored beside it. A kind of a later version is the one that
/// its name says. `None` if the name is none.
#[must_use]
pub fn read_stored_kind(name: &str, kind: Option<&str>) -> Option<(Operation, Option<JournalRun>)> {
    let mut words = kind.unwrap_or_default().split(' ');
    let operation = words.next().and_then(Operation::named);
    let mut instant = || words.next().and_then(|word| from_ticks(word.parse().ok()?));
    let run = instant().map(|at| JournalRun { at, redrive_of: instant() });
    match operation {
        Some(operation) => Some((operation, run)),
        None => Operation::named(name).map(|operation| (operation, None)),
    }
}

named! {
    /// The kinds of changes.
    pub enum Operation {
        /// Something was created.
        Created = "created",
        /// Its definition changed.
        Changed = "changed",
        /// It was switched on, and nothing else changed.
        SwitchedOn = "switchedOn",
        /// It was switched off, and nothing else changed.
        SwitchedOff = "switchedOff",
        /// It was deleted.
        Deleted = "deleted",
        /// The scheduler switched it off, because it failed too often.
        Paused = "paused",
        /// It was switched on after such a pause.
        Resumed = "resumed",
        /// It was run in addition to its recurrence.
        Ran = "ran",
        /// It was run once more for an occurrence that failed.
        Redriven = "redriven",
    }
}

impl Operation {
    /// The name under which it is stored: one that earlier versions read, too.
    #[must_use]
    pub const fn stored(self) -> &'static str {
        match self {
            Self::Paused => Self::SwitchedOff.name(),
            Self::Resumed => Self::SwitchedOn.name(),
            Self::Ran | Self::Redriven => Self::Changed.name(),
            Self::Created
            | Self::Changed
            | Self::SwitchedOn
            | Self::SwitchedOff
            | Self::Deleted => self.name(),
        }
    }

    /// The kind of a change between two documents.
    fn between(before: Option<&Value>, after: Option<&Value>, names: &[String]) -> Self {
        let (Some(_), Some(after)) = (before, after) else {
            return if after.is_some() { Self::Created } else { Self::Deleted };
        };
        let (states, others): (Vec<&str>, Vec<&str>) =
            names.iter().map(String::as_str).partition(|name| STATES.contains(name));
        // Only the scheduler says that a job is paused, and only as long as it is.
        let is_of_pause = others == [PAUSED];
        if states.is_empty() || !(others.is_empty() || is_of_pause) {
            return Self::Changed;
        }
        let state = after.pointer("/properties/state").or_else(|| after.get("state"));
        let state = state.and_then(Value::as_str).unwrap_or_default();
        match (state.eq_ignore_ascii_case("enabled"), is_of_pause) {
            (true, false) => Self::SwitchedOn,
            (true, true) => Self::Resumed,
            (false, false) => Self::SwitchedOff,
            (false, true) => Self::Paused,
        }
    }
}

/// What changed between two documents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentChange {
    /// The paths of the properties that changed, at most three names deep.
    pub names: Vec<String>,
    /// The patches there and back; `None` if they are too long.
    pub patches: Option<Patches>,
}

/// Two JSON merge patches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patches {
    /// From the state before to the state after.
    pub there: Value,
    /// From the state after to the state before.
    pub back: Value,
}

/// Compares a document before and after a change; `None` stands for a document that does not exist.
///
/// Both documents are without secrets. The name `secrets` stands for all of them: a change that writes
/// secrets may change them, and only the sealed ones would tell.
#[must_use]
pub fn difference(
    before: Option<&Value>,
    after: Option<&Value>,
    writes_secrets: bool,
) -> (Operation, DocumentChange) {
    let nothing = Value::Object(Map::new());
    let (old, new) = (before.unwrap_or(&nothing), after.unwrap_or(&nothing));
    let mut names = Vec::new();
    collect_names(old, new, "", 1, &mut names);
    let operation = Operation::between(before, after, &names);
    if writes_secrets {
        names.push(SECRETS.to_owned());
    }
    names.truncate(NAMES_MAX);
    let patches = Patches {
        there: patch(old, new).unwrap_or_else(|| nothing.clone()),
        back: patch(new, old).unwrap_or(nothing),
    };
    let bytes = patches.there.to_string().len() + patches.back.to_string().len();
    let patches = (bytes <= PATCHES_BYTES_MAX).then_some(patches);
    (operation, DocumentChange { names, patches })
}

/// The name that stands for all secrets of a document.
pub const SECRETS: &str = "secrets";

/// The merge patch that leads from one value to another; `None` if they are equal.
fn patch(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return Some(new.clone());
    };
    let mut changes = Map::new();
    for (name, value) in new {
        // In a merge patch null removes, so that a new object is a patch of nothing.
        let before = old.get(name).unwrap_or(&Value::Null);
        if let Some(change) = patch(before, value) {
            changes.insert(name.clone(), change);
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    changes.extend(gone.map(|name| (name.clone(), Value::Null)));
    Some(changes.into())
}

fn collect_names(old: &Value, new: &Value, path: &str, depth: usize, names: &mut Vec<String>) {
    let none = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&none), new.as_object().unwrap_or(&none));
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    for name in new.keys().chain(gone) {
        let (before, after) = (old.get(name), new.get(name));
        if before == after {
            continue;
        }
        let short: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
        let path = if path.is_empty() { short } else { format!("{path}.{short}") };
        match (before, after) {
            (Some(before @ Value::Object(_)), Some(after @ Value::Object(_)))
                if depth < NAMES_DEPTH_MAX =>
            {
                collect_names(before, after, &path, depth + 1, names);
            }
            _ => names.push(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::merge_patch;
    use crate::json::Shape;

    fn compare(before: &Value, after: &Value) -> (&'static str, Vec<String>, Option<Patches>) {
        let document = |value: &Value| (!value.is_null()).then(|| value.clone());
        let (before, after) = (document(before), document(after));
        let (operation, difference) = difference(before.as_ref(), after.as_ref(), false);
        (operation.name(), difference.names, difference.patches)
    }

    #[test]
    fn the_table() {
        let job = json!({"a": {"b": 1, "c": [1], "d": {"e": {"f": 1}}}, "state": "enabled"});
        let off = json!({"a": {"b": 1, "c": [1], "d": {"e": {"f": 1}}}, "state": "disabled"});
        let other =
            json!({"a": {"b": 2, "c": [2], "d": {"e": {"f": 2}}}, "x": 1, "state": "enabled"});
        for (before, after, operation, names) in [
            (&Value::Null, &job, "created", &["a", "state"][..]),
            (&job, &Value::Null, "deleted", &["a", "state"]),
            (&job, &off, "switchedOff", &["state"]),
            (&off, &job, "switchedOn", &["state"]),
            (&job, &job, "changed", &[]),
            (&job, &other, "changed", &["a.b", "a.c", "a.d.e", "x"]),
            (&off, &other, "changed", &["a.b", "a.c", "a.d.e", "x", "state"]),
        ] {
            let (found, found_names, patches) = compare(before, after);
            assert_eq!(
                (found, found_names.as_slice()),
                (operation, &names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..])
            );
            // The patches lead there and back.
            let Patches { there, back } = patches.unwrap();
            let document = |value: &Value| if value.is_null() { json!({}) } else { value.clone() };
            let (before, after) = (document(before), document(after));
            assert_eq!(merge_patch(before.clone(), there, Shape::Leaf), after);
            assert_eq!(merge_patch(after, back, Shape::Leaf), before);
        }
        let collection = |state: &str| json!({"properties": {"state": state}});
        let (operation, names, _) = compare(&collection("Enabled"), &collection("Suspended"));
        assert_eq!((operation, names), ("switchedOff", vec!["properties.state".to_owned()]));
    }

    #[test]
    fn a_pause_is_told_from_a_switch() {
        let on = json!({"state": "enabled", "minutehand": {"pauseOnFailure": {"after": 3}}});
        let paused = json!({"state": "disabled", "minutehand": {
            "pauseOnFailure": {"after": 3}, "paused": {"at": "2027-01-01T00:00:00Z", "reason": "r"}}});
        let off = json!({"state": "disabled", "minutehand": {"pauseOnFailure": {"after": 3}}});
        let other = json!({"state": "enabled", "minutehand": {"pauseOnFailure": {"after": 4}}});
        for (before, after, operation) in [
            (&on, &paused, "paused"),
            (&paused, &on, "resumed"),
            (&paused, &off, "changed"),
            (&paused, &other, "changed"),
            (&on, &off, "switchedOff"),
        ] {
            assert_eq!(compare(before, after).0, operation, "{after}");
        }
    }

    #[test]
    fn long_patches_leave_the_names() {
        let document = |n: usize| json!({"body": "x".repeat(n), "tags": {"a": 1}});
        let (_, names, patches) = compare(&document(1_000), &document(2_000));
        assert!(patches.is_some());
        assert_eq!(names, ["body"]);
        let (_, names, patches) = compare(&document(2_000), &document(2_100));
        assert_eq!((names, patches), (vec!["body".to_owned()], None));
        let many: Map<String, Value> = (0..200).map(|n| (n.to_string(), json!(1))).collect();
        assert_eq!(compare(&json!({}), &many.into()).1.len(), NAMES_MAX);
    }

    #[test]
    fn earlier_versions_read_the_name_of_each_kind() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let run = |redrive_of| Some(JournalRun { at: at(60), redrive_of });
        for (operation, run, name, kind) in [
            (Operation::Created, None, "created", None),
            (Operation::SwitchedOff, None, "switchedOff", None),
            (Operation::Paused, None, "switchedOff", Some("paused")),
            (Operation::Resumed, None, "switchedOn", Some("resumed")),
            (Operation::Ran, run(None), "changed", Some("ran 600000000")),
            (
                Operation::Redriven,
                run(Some(at(30))),
                "changed",
                Some("redriven 600000000 300000000"),
            ),
        ] {
            let (who, request_id) = ("token ops".to_owned(), String::new());
            let difference = DocumentChange::default();
            let entry =
                JournalEntry { at: at(60), who, request_id, operation, job: None, difference, run };
            assert_eq!((operation.stored(), entry.stored_kind().as_deref()), (name, kind));
            assert_eq!(read_stored_kind(name, kind), Some((operation, run)));
            let days = if run.is_some() { 60 } else { 400 };
            assert_eq!(entry.expires_at(), at(60) + TimeDelta::days(days));
        }
        let later = read_stored_kind("changed", Some("polished 5"));
        assert_eq!(later, Some((Operation::Changed, None)));
        assert_eq!(read_stored_kind("polished", None), None);
    }

    #[test]
    fn secrets_are_one_name() {
        let (operation, difference) =
            difference(Some(&json!({"a": 1})), Some(&json!({"a": 1})), true);
        assert_eq!((operation, difference.names), (Operation::Changed, vec![SECRETS.to_owned()]));
    }
}
