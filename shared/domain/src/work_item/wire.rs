//! The message format of work items.
//!
//! A message is one line of JSON with a version. Messages outlive the process that wrote them, so
//! every form that was ever written must stay readable. A worker that finds a newer version than
//! its own leaves the message to a newer worker.
//!
//! Property names are short, because a message is sent for every occurrence:
//!
//! | property | meaning |
//! |---|---|
//! | `v` | version: 8 for the end of an open attempt, of which a reader of version 7 knows nothing; 7 for an alert that follows no attempt, which a reader of version 6 would bury; 6 for alerts in a format or under rules, which a reader of version 5 would send as an event; 5 for attempts that take turns, which a reader of version 4 would start at once; 4 for attempts under policies, which a reader of version 3 would start without; 3 for attempts of several jobs, which a reader of version 2 would take for those of one; 2 for a notice of a failure, which a reader of version 1 would take for the action; else 1 |
//! | `do` | `x` (attempt), `conclude` (check finished), `delete` (delete job), `purge` (purge collection), `alert` (send an alert that follows no attempt) |
//! | `j` | the job: `u` identity, `c` identity of its collection, `k` name; of an `x`, the job of its first attempt |
//! | `a` | the attempts of an `x`, at least one: see [`pack`](super::pack) |
//! | `g` | generation, of a `conclude` and a `delete` |
//! | `c` | identity of the collection, of a `purge` and an `alert` |
//! | `t` | what an `alert` tells: `w` kind, `n` instant in ticks; `i` id of a test; or `k` job, `o` occurrence in ticks, `b` seconds or occurrences, `m` jobs |
//! | `w` | how often it was delivered before it had to wait, if it was: see [`encode_waiting`] |
//!
//! An attempt has `g` (generation) and `n` (nominal instant, in ticks). It has `r` (id of the run),
//! `e` (error action), `f` (notice of a failure), `t` (number), `d` (due instant), `l` (waits in a
//! timer), `s` (when it was first sent, if it was due before), `p` (under policies), `o` (takes turns), `b`
//! (what it waited for: its slot, as the instant in ticks and the number of the book, `true` for a
//! seat or a call to an origin that hangs, or `false` for its end), `h` (such a call), `k` (alert), `q` (the caller who asked for the run) and `j` (its job) only where they differ from none, `false`, `false`, 0, `n`, `false`, none, `false`, `false`, none, `false`, `false`, none and the job of the message.
//!
//! A reader that does not know `q` makes the same attempt, and its record does not name the caller. One that
//! does not know `h` looks for a seat, and then makes the attempt although its origin hangs.
//!
//! A reader that knows neither cannot read the switch of a collection with limits either, and starts
//! none of its attempts.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::{JobRef, WorkItem};
use crate::alert::CollectionAlert;
use crate::attempt::{Attempt, Occurrence, Role};
use crate::firing::{Slot, Waited};
use crate::tick::{from_ticks, ticks};

/// The newest version that can be read.
const VERSION: u32 = 8;
/// The property with the deliveries before.
const DELIVERIES: &str = "w";

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableMessage {
    /// The message is not JSON: it is damaged, or another program wrote it.
    #[error("the message is not a work item: {0}")]
    NotJson(#[from] serde_json::Error),
    /// A newer version wrote the message.
    #[error("the message has version {found}, and this worker reads up to {VERSION}")]
    Newer {
        /// The version of the message.
        found: u32,
    },
    /// A property is missing or its value is impossible.
    #[error("the message is not a work item: {0}")]
    NotAWorkItem(String),
}

/// Writes a work item as a message.
#[must_use]
pub fn encode(work_item: &WorkItem) -> String {
    message(work_item).to_string()
}

/// Writes a work item as a message that replaces one which had to wait. A queue that counts every
/// delivery would bury a message that waits for long. So it gets a new message, which says how often
/// the ones before were delivered in vain.
///
/// A reader that does not know of this counts from the beginning.
#[must_use]
pub fn encode_waiting(work_item: &WorkItem, deliveries: u32) -> String {
    let mut message = message(work_item);
    if let (1.., Some(properties)) = (deliveries, message.as_object_mut()) {
        properties.insert(DELIVERIES.to_owned(), deliveries.into());
    }
    message.to_string()
}

/// How often the messages were delivered that this one replaces; 0 for a message that replaces none.
#[must_use]
pub fn deliveries_before(message: &str) -> u32 {
    let message: Option<Value> = serde_json::from_str(message).ok();
    let deliveries = message.as_ref().and_then(|message| message.get(DELIVERIES)?.as_u64());
    u32::try_from(deliveries.unwrap_or_default()).unwrap_or(u32::MAX)
}

/// Writes attempts of several jobs as one message. Leaves out what is not an attempt.
pub(super) fn encode_packet(work_items: &[&WorkItem]) -> String {
    let mut first: Option<&JobRef> = None;
    let mut attempts = Vec::new();
    let mut version = 3;
    for work_item in work_items {
        let WorkItem::Attempt { job, attempt } = work_item else { continue };
        let mut wire = write_attempt(attempt);
        version = version.max(version_of(attempt));
        if let (true, Some(wire)) = (*first.get_or_insert(job) != job, wire.as_object_mut()) {
            wire.insert("j".to_owned(), write_job(job));
        }
        attempts.push(wire);
    }
    let job = first.map(write_job);
    json!({"v": version, "do": "x", "j": job, "a": attempts}).to_string()
}

fn message(work_item: &WorkItem) -> Value {
    match work_item {
        WorkItem::Attempt { job, attempt } => {
            json!({"v": version_of(attempt), "do": "x", "j": write_job(job), "a": [write_attempt(attempt)]})
        }
        WorkItem::CheckFinished { job, generation } => {
            json!({"v": 1, "do": "conclude", "j": write_job(job), "g": generation})
        }
        WorkItem::DeleteJob { job, generation } => {
            json!({"v": 1, "do": "delete", "j": write_job(job), "g": generation})
        }
        WorkItem::PurgeCollection { collection_uid } => {
            json!({"v": 1, "do": "purge", "c": collection_uid})
        }
        WorkItem::Alert { collection_uid, alert } => {
            json!({"v": 7, "do": "alert", "c": collection_uid, "t": alert.to_wire()})
        }
    }
}

/// The oldest version whose readers understand an attempt.
fn version_of(attempt: &Attempt) -> u32 {
    match (attempt.under_policy, attempt.role) {
        _ if attempt.waited == Some(Waited::Completion) => VERSION,
        _ if attempt.is_alert => 6,
        _ if attempt.takes_turn => 5,
        (true, _) => 4,
        (false, Role::Notice) => 2,
        (false, Role::Main | Role::Error) => 1,
    }
}

/// Reads a message. Returns at least one work item, and one for each attempt in the message.
///
/// # Errors
///
/// Returns an error if the message is not a work item, or if a newer version wrote it.
pub fn decode(message: &str) -> Result<Vec<WorkItem>, UnreadableMessage> {
    let message: Value = serde_json::from_str(message)?;
    let version = u32::try_from(number(&message, "v")?).map_err(|_| wrong("v"))?;
    if version > VERSION {
        return Err(UnreadableMessage::Newer { found: version });
    }
    let work_item = match text(&message, "do")?.as_str() {
        "x" => return read_attempts(&message),
        "conclude" => {
            WorkItem::CheckFinished { job: read_job(&message)?, generation: number(&message, "g")? }
        }
        "delete" => {
            WorkItem::DeleteJob { job: read_job(&message)?, generation: number(&message, "g")? }
        }
        "purge" => WorkItem::PurgeCollection { collection_uid: text(&message, "c")? },
        "alert" => WorkItem::Alert {
            collection_uid: text(&message, "c")?,
            alert: message
                .get("t")
                .and_then(CollectionAlert::read_wire)
                .ok_or_else(|| wrong("t"))?,
        },
        _ => return Err(wrong("do")),
    };
    Ok(vec![work_item])
}

/// Reads a message of a queue that has no packets.
///
/// # Errors
///
/// As [`decode`], and if the message has several work items.
pub fn decode_one(message: &str) -> Result<WorkItem, UnreadableMessage> {
    let mut work_items = decode(message)?;
    match (work_items.pop(), work_items.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(UnreadableMessage::NotAWorkItem("several attempts".to_owned())),
    }
}

fn write_job(JobRef { uid, collection_uid, key }: &JobRef) -> Value {
    json!({"u": uid, "c": collection_uid, "k": key})
}

fn read_job(message: &Value) -> Result<JobRef, UnreadableMessage> {
    let job = message.get("j").ok_or_else(|| wrong("j"))?;
    Ok(JobRef { uid: text(job, "u")?, collection_uid: text(job, "c")?, key: text(job, "k")? })
}

fn write_attempt(attempt: &Attempt) -> Value {
    let nominal_at = attempt.occurrence.nominal_at();
    let mut wire = Map::new();
    let mut insert = |name: &str, value: Value| drop(wire.insert(name.to_owned(), value));
    insert("g", attempt.generation.into());
    insert("n", ticks(nominal_at).into());
    if let Occurrence::Run { run_id, .. } = &attempt.occurrence {
        insert("r", run_id.as_str().into());
    }
    match attempt.role {
        Role::Main => {}
        Role::Error => insert("e", true.into()),
        Role::Notice => insert("f", true.into()),
    }
    if attempt.number > 0 {
        insert("t", attempt.number.into());
    }
    if attempt.due_at != nominal_at {
        insert("d", ticks(attempt.due_at).into());
    }
    if attempt.is_long {
        insert("l", true.into());
    }
    if let Some(sent_at) = attempt.sent_late_at {
        insert("s", ticks(sent_at).into());
    }
    if attempt.under_policy {
        insert("p", true.into());
    }
    if attempt.takes_turn {
        insert("o", true.into());
    }
    match attempt.waited {
        None => {}
        Some(Waited::Slot(Slot { at, book })) => insert("b", json!([ticks(at), book])),
        Some(Waited::Seat) => insert("b", true.into()),
        Some(Waited::Place) => {
            insert("b", true.into());
            insert("h", true.into());
        }
        Some(Waited::Completion) => insert("b", false.into()),
    }
    if attempt.is_alert {
        insert("k", true.into());
    }
    if let Some(caller) = &attempt.asked_by {
        insert("q", caller.as_str().into());
    }
    Value::Object(wire)
}

fn read_attempts(message: &Value) -> Result<Vec<WorkItem>, UnreadableMessage> {
    let job = read_job(message)?;
    let attempts = message.get("a").and_then(Value::as_array).ok_or_else(|| wrong("a"))?;
    if attempts.is_empty() {
        return Err(UnreadableMessage::NotAWorkItem("no attempt".to_owned()));
    }
    let work_item = |wire: &Value| {
        let job = if wire.get("j").is_some() { read_job(wire)? } else { job.clone() };
        Ok(WorkItem::Attempt { job, attempt: read_attempt(wire)? })
    };
    attempts.iter().map(work_item).collect()
}

fn read_attempt(wire: &Value) -> Result<Attempt, UnreadableMessage> {
    let nominal_at = instant(wire.get("n"), "n")?;
    let number = match wire.get("t") {
        None => Some(0),
        Some(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    Ok(Attempt {
        generation: self::number(wire, "g")?,
        occurrence: match non_null(wire, "r") {
            None => Occurrence::Scheduled { nominal_at },
            Some(_) => Occurrence::Run { asked_at: nominal_at, run_id: text(wire, "r")? },
        },
        role: match (flag(wire, "e")?, flag(wire, "f")?) {
            (false, false) => Role::Main,
            (true, false) => Role::Error,
            (false, true) => Role::Notice,
            (true, true) => return Err(wrong("f")),
        },
        number: number.ok_or_else(|| wrong("t"))?,
        due_at: match non_null(wire, "d") {
            None => nominal_at,
            due => instant(due, "d")?,
        },
        is_long: flag(wire, "l")?,
        sent_late_at: match non_null(wire, "s") {
            None => None,
            sent_at => Some(instant(sent_at, "s")?),
        },
        under_policy: flag(wire, "p")?,
        takes_turn: flag(wire, "o")?,
        waited: if flag(wire, "h")? {
            Some(Waited::Place)
        } else {
            non_null(wire, "b").map(read_waited).transpose()?
        },
        is_alert: flag(wire, "k")?,
        asked_by: non_null(wire, "q").map(|_| text(wire, "q")).transpose()?,
    })
}

fn read_waited(waited: &Value) -> Result<Waited, UnreadableMessage> {
    match waited {
        Value::Bool(true) => return Ok(Waited::Seat),
        Value::Bool(false) => return Ok(Waited::Completion),
        _ => {}
    }
    let book = waited.get(1).and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
    let slot = Slot { at: instant(waited.get(0), "b")?, book: book.ok_or_else(|| wrong("b"))? };
    Ok(Waited::Slot(slot))
}

fn non_null<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

fn text(value: &Value, name: &str) -> Result<String, UnreadableMessage> {
    let text = value.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| wrong(name))
}

fn number(value: &Value, name: &str) -> Result<u64, UnreadableMessage> {
    value.get(name).and_then(Value::as_u64).ok_or_else(|| wrong(name))
}

/// An absent flag is `false`.
fn flag(value: &Value, name: &str) -> Result<bool, UnreadableMessage> {
    value.get(name).map_or(Some(false), Value::as_bool).ok_or_else(|| wrong(name))
}

fn instant(value: Option<&Value>, name: &str) -> Result<DateTime<Utc>, UnreadableMessage> {
    let ticks = value.and_then(Value::as_i64).ok_or_else(|| wrong(name))?;
    let beyond = || UnreadableMessage::NotAWorkItem("an instant that no date can have".to_owned());
    from_ticks(ticks).ok_or_else(beyond)
}

fn wrong(name: &str) -> UnreadableMessage {
    UnreadableMessage::NotAWorkItem(format!("property '{name}' is missing or invalid"))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::alert::Tells;
    use crate::incident::Incident;

    fn job() -> JobRef {
        JobRef { uid: "u1".to_owned(), collection_uid: "c1".to_owned(), key: "nightly".to_owned() }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn first() -> Attempt {
        Attempt::first(1, Occurrence::Scheduled { nominal_at: at(60) })
    }

    fn alert(tells: Tells) -> WorkItem {
        let alert = CollectionAlert { at: at(7), tells };
        WorkItem::Alert { collection_uid: "c1".to_owned(), alert }
    }

    fn incident(incident: Incident) -> WorkItem {
        alert(Tells::Incident { incident, job: "nightly".to_owned(), occurrence: at(60) })
    }

    fn attempt(attempt: Attempt) -> WorkItem {
        WorkItem::Attempt { job: job(), attempt }
    }

    /// Messages outlive the process that wrote them, so these lines must never change.
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    #[test]
    fn each_work_item_has_its_exact_line_and_reads_back() {
        let retry = Attempt { number: 2, due_at: at(95), is_long: true, ..first() };
        let failed = Attempt { role: Role::Error, due_at: at(99), ..first() };
        let run = Occurrence::Run { asked_at: at(7), run_id: "a\"b".to_owned() };
        let asked_by = Some("token ops".to_owned());
        for (work_item, line) in [
            (
                attempt(first()),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000}]}"#,
            ),
            (
                attempt(retry),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"t":2,"d":950000000,"l":true}]}"#,
            ),
            (
                attempt(failed),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"e":true,"d":990000000}]}"#,
            ),
            (
                attempt(Attempt { role: Role::Notice, due_at: at(99), ..first() }),
                r#"{"v":2,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"f":true,"d":990000000}]}"#,
            ),
            (
                attempt(Attempt { role: Role::Notice, is_alert: true, ..first() }),
                r#"{"v":6,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"f":true,"k":true}]}"#,
            ),
            (
                attempt(first().sent_at(at(65))),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"s":650000000}]}"#,
            ),
            (
                attempt(Attempt { under_policy: true, ..first() }),
                r#"{"v":4,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"p":true}]}"#,
            ),
            (
                attempt(Attempt { under_policy: true, takes_turn: true, ..first() }),
                r#"{"v":5,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"p":true,"o":true}]}"#,
            ),
            (
                attempt(Attempt {
                    waited: Some(Waited::Slot(Slot { at: at(65), book: 10 })),
                    ..first()
                }),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"b":[650000000,10]}]}"#,
            ),
            (
                attempt(Attempt { waited: Some(Waited::Seat), ..first() }),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"b":true}]}"#,
            ),
            (
                attempt(Attempt { waited: Some(Waited::Place), ..first() }),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000,"b":true,"h":true}]}"#,
            ),
            (
                attempt(Attempt { asked_by, ..Attempt::first(4, run.clone()) }),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":4,"n":70000000,"r":"a\"b","q":"token ops"}]}"#,
            ),
            (
                attempt(Attempt::first(4, run)),
                r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":4,"n":70000000,"r":"a\"b"}]}"#,
            ),
            (
                WorkItem::CheckFinished { job: job(), generation: 7 },
                r#"{"v":1,"do":"conclude","j":{"u":"u1","c":"c1","k":"nightly"},"g":7}"#,
            ),
            (
                WorkItem::DeleteJob { job: job(), generation: u64::MAX },
                r#"{"v":1,"do":"delete","j":{"u":"u1","c":"c1","k":"nightly"},"g":18446744073709551615}"#,
            ),
            (
                WorkItem::PurgeCollection { collection_uid: "Grüße".to_owned() },
                r#"{"v":1,"do":"purge","c":"Grüße"}"#,
            ),
            (
                incident(Incident::Missed { occurrences: 37, jobs: 12 }),
                r#"{"v":7,"do":"alert","c":"c1","t":{"w":"missed","n":70000000,"k":"nightly","o":600000000,"b":37,"m":12}}"#,
            ),
            (
                incident(Incident::Late { by: TimeDelta::seconds(90) }),
                r#"{"v":7,"do":"alert","c":"c1","t":{"w":"late","n":70000000,"k":"nightly","o":600000000,"b":90}}"#,
            ),
            (
                incident(Incident::Behind { by: TimeDelta::seconds(90) }),
                r#"{"v":7,"do":"alert","c":"c1","t":{"w":"behind","n":70000000,"k":"nightly","o":600000000,"b":90}}"#,
            ),
            (
                alert(Tells::Test { id: "5f".to_owned() }),
                r#"{"v":7,"do":"alert","c":"c1","t":{"w":"test","n":70000000,"i":"5f"}}"#,
            ),
        ] {
            assert_eq!(encode(&work_item), line);
            assert_eq!(decode(line).unwrap(), [work_item]);
        }
    }

    #[test]
    fn a_message_that_had_to_wait_tells_how_often_it_was_delivered_before() {
        let line = encode_waiting(&attempt(first()), 3);
        assert_eq!(
            line,
            r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000}],"w":3}"#
        );
        assert_eq!((decode(&line).unwrap(), deliveries_before(&line)), (vec![attempt(first())], 3));
        // One that was not delivered in vain is like any other, and so is one of an older version.
        assert_eq!(encode_waiting(&attempt(first()), 0), encode(&attempt(first())));
        for other in ["", "{", "[]", r#"{"w":null}"#, r#"{"w":"3"}"#, r#"{"w":-1}"#] {
            assert_eq!(deliveries_before(other), 0, "{other}");
        }
    }

    #[test]
    fn a_message_with_several_attempts_is_one_work_item_for_each() {
        let line = r#"{"v":1,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},
            "a":[{"g":1,"n":600000000},{"g":1,"n":600000000,"t":2,"d":950000000,"l":true},
            {"g":4,"n":70000000,"r":"ab"}]}"#;
        let retry = Attempt { number: 2, due_at: at(95), is_long: true, ..first() };
        let run = Occurrence::Run { asked_at: at(7), run_id: "ab".to_owned() };
        let expected = [first(), retry, Attempt::first(4, run)].map(attempt);
        assert_eq!(decode(line).unwrap(), expected);
        let several = "the message is not a work item: several attempts";
        assert_eq!(decode_one(line).unwrap_err().to_string(), several);
        assert_eq!(decode_one(&encode(&attempt(first()))).unwrap(), attempt(first()));
    }

    /// Messages outlive the process that wrote them, so this line must never change.
    #[test]
    fn a_packet_has_its_exact_line_and_reads_back() {
        let other =
            JobRef { uid: "u2".to_owned(), collection_uid: "c2".to_owned(), key: "x".to_owned() };
        let late = Attempt { role: Role::Error, due_at: at(61), ..first() };
        let other = WorkItem::Attempt { job: other, attempt: first() };
        let packet = [attempt(first()), attempt(late), other];
        let line = r#"{"v":3,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000},{"g":1,"n":600000000,"e":true,"d":610000000},{"g":1,"n":600000000,"j":{"u":"u2","c":"c2","k":"x"}}]}"#;
        assert_eq!(encode_packet(&packet.each_ref()), line);
        assert_eq!(decode(line).unwrap(), packet);
        // One attempt under policies is enough for the packet to be of the newer version.
        let guarded = attempt(Attempt { under_policy: true, ..first() });
        let line = r#"{"v":4,"do":"x","j":{"u":"u1","c":"c1","k":"nightly"},"a":[{"g":1,"n":600000000},{"g":1,"n":600000000,"p":true}]}"#;
        assert_eq!(encode_packet(&[&attempt(first()), &guarded]), line);
        assert_eq!(decode(line).unwrap(), [attempt(first()), guarded]);
    }

    #[test]
    fn properties_may_stand_in_any_order_and_unknown_ones_are_ignored() {
        let line = r#"{"a":[{"n":600000000,"g":1,"r":null,"d":null,"z":[]}],"new":{},
            "j":{"k":"nightly","c":"c1","u":"u1"},"do":"x","v":0}"#;
        assert_eq!(decode(line).unwrap(), [attempt(first())]);
    }

    #[test]
    fn a_message_that_is_not_a_work_item_is_refused() {
        for (message, expected) in [
            ("", "the message is not a work item: EOF while parsing a value at line 1 column 0"),
            ("[]", "the message is not a work item: property 'v' is missing or invalid"),
            (r#"{"v":9,"do":"dance"}"#, "the message has version 9, and this worker reads up to 8"),
            (
                r#"{"v":1,"do":"dance"}"#,
                "the message is not a work item: property 'do' is missing or invalid",
            ),
            (
                r#"{"v":1,"do":"conclude","j":{"u":"","c":"","k":""},"g":-1}"#,
                "the message is not a work item: property 'g' is missing or invalid",
            ),
            (
                r#"{"v":1,"do":"x","j":{"u":"","c":"","k":""},"a":[]}"#,
                "the message is not a work item: no attempt",
            ),
            (
                r#"{"v":1,"do":"x","j":{"u":"","c":"","k":""},"a":[{"g":1,"n":9223372036854775807}]}"#,
                "the message is not a work item: an instant that no date can have",
            ),
            (
                r#"{"v":3,"do":"x","j":{"u":"","c":"","k":""},"a":[{"g":1,"n":0,"j":{"u":""}}]}"#,
                "the message is not a work item: property 'c' is missing or invalid",
            ),
            (
                r#"{"v":1,"do":"x","j":{"u":"","c":"","k":""},"a":[{"g":1,"n":0},{"g":1,"n":0,"e":1}]}"#,
                "the message is not a work item: property 'e' is missing or invalid",
            ),
            (
                r#"{"v":1,"do":"x","j":{"u":"","c":"","k":""},"a":[{"g":1,"n":0,"b":[0]}]}"#,
                "the message is not a work item: property 'b' is missing or invalid",
            ),
        ] {
            assert_eq!(decode(message).unwrap_err().to_string(), expected);
        }
    }
}
