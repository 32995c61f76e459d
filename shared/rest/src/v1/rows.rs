//! `GET C/rows`: the jobs of a collection, each as one short array.

use minutehand_app::JobRow;
use minutehand_domain::job::JobState;
use minutehand_ports::store::PageRequest;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::query::write_position;

/// The most rows in one answer. A row has about 300 bytes.
const ROWS_MAX: usize = 500;
/// How many rows are answered if the request names no number.
const ROWS: usize = 100;
/// The most jobs that are read for one answer, if only those in one state are wanted.
const LOOKED_AT_MAX: usize = 5_000;
/// The most characters of a prefix: a name has no more.
const PREFIX_CHARS_MAX: usize = 100;
/// A value of a row, and its name.
type Column = (&'static str, fn(&JobRow) -> Value);

/// The values of a row.
const COLUMNS: [Column; 17] = [
    ("name", |row| json!(row.name.as_str())),
    ("state", |row| json!(row.state.name())),
    ("sentence", |row| json!(row.sentence)),
    ("zone", |row| json!(row.zone)),
    ("next", |row| json!(row.next_at.map(format_instant))),
    ("last", |row| json!(row.counters.last_execution_at.map(format_instant))),
    ("executions", |row| json!(row.counters.executions)),
    ("failures", |row| json!(row.counters.failures)),
    ("faulted", |row| json!(row.counters.faulted)),
    ("skipped", |row| json!(row.counters.skipped)),
    ("action", |row| json!(row.action)),
    ("target", |row| json!(row.target)),
    ("recent", |row| json!(row.counters.results().letters())),
    ("tookMs", |row| json!(row.counters.latest().took_ms())),
    ("runningSince", |row| json!(row.running_since.map(format_instant))),
    ("waitingSince", |row| json!(row.waiting_since.map(format_instant))),
    ("snoozedUntil", |row| json!(row.snoozed_until.map(format_instant))),
];

pub(crate) async fn rows(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["prefix", "state", "limit", "position"])?;
    let prefix = parameters.text("prefix").unwrap_or_default();
    if prefix.chars().count() > PREFIX_CHARS_MAX {
        return Err(Failure::invalid(format!(
            "'prefix' is longer than {PREFIX_CHARS_MAX} characters, and so than any name."
        )));
    }
    let state =
        parameters.one_of("state", JobState::read_name, &JobState::ALL.map(JobState::name))?;
    let limit = parameters.number("limit", 1..=ROWS_MAX, ROWS)?;
    let mut from = parameters.position()?;
    let (place, collection) = (call.path.place()?, call.path.collection()?);
    let (mut items, mut looked_at) = (Vec::new(), 0);
    loop {
        let items_max = u32::try_from(limit - items.len()).unwrap_or(u32::MAX);
        let page = PageRequest { from: from.clone(), items_max };
        let page = call.manage.list_rows(&place, &collection, prefix, page).await?;
        looked_at += page.items.len();
        let wanted = page.items.iter().filter(|row| state.is_none_or(|state| row.state == state));
        items.extend(wanted.map(row));
        from = page.next;
        if from.is_none() || items.len() >= limit || looked_at >= LOOKED_AT_MAX {
            break;
        }
    }
    let document = json!({
        "columns": COLUMNS.map(|(name, _)| name),
        "items": items,
        "position": from.as_deref().map(write_position),
        "lookedAt": looked_at,
    });
    Ok(tagged(&document, &call.head.headers))
}

fn row(row: &JobRow) -> Value {
    COLUMNS.iter().map(|(_, of)| of(row)).collect()
}
