//! Occurrences with their civil time and notes: of a stored job, and of a preview.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::WantedOccurrences;
use minutehand_domain::preview::{Note, clock_changes, hours_and_minutes, note};
use minutehand_domain::schedule::Schedule;
use minutehand_recurrence::format_instant;
use minutehand_recurrence::zone::Zone;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::query::shown;

/// The most occurrences in one answer.
pub(super) const OCCURRENCES_MAX: usize = 1_000;
/// How many are answered if the request names no number.
pub(super) const OCCURRENCES: usize = 10;
/// How many of the coming clock changes are named.
const CLOCK_CHANGES_MAX: usize = 2;

/// The coming occurrences of a job, from its real anchor.
pub(crate) async fn next(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["from", "count", "zone"])?;
    let from = parameters.instant("from")?;
    let max = parameters.number("count", 1..=OCCURRENCES_MAX, OCCURRENCES)?;
    let zone = parameters.text("zone").map(named_zone).transpose()?;
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let wanted = WantedOccurrences { from, max };
    let coming = call.manage.coming((&place, &collection, &name), wanted).await?;
    let now = call.rest.clock.now();
    let shown = Shown { schedule: &coming.schedule, zone };
    let document = json!({
        "sentence": coming.schedule.sentence(),
        "occurrences": shown.occurrences(&coming.occurrences),
        "ends": coming.ends,
        "notFiring": coming.not_firing.iter().map(|why| why.name()).collect::<Vec<_>>(),
        "clockChanges": shown.clock_changes(from.unwrap_or(now)),
    });
    Ok(tagged(&document, &call.head.headers))
}

/// A zone that a request names.
pub(super) fn named_zone(name: &str) -> Result<Zone, Failure> {
    Zone::named(name).ok_or_else(|| {
        let name = shown(name);
        Failure::invalid(format!(
            "'zone' is {name}; use an IANA or Windows name, such as Europe/Berlin."
        ))
    })
}

/// Occurrences, and the zone in which they are shown: the rule's own if no other is asked for.
pub(super) struct Shown<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) zone: Option<Zone>,
}

impl Shown<'_> {
    /// Occurrences in their order.
    pub(super) fn occurrences(&self, occurrences: &[DateTime<Utc>]) -> Vec<Value> {
        let mut offset_before = None;
        let shown = occurrences.iter().map(|at| {
            let note = note(self.schedule, *at, offset_before);
            offset_before = Some(self.schedule.timetable.local(*at).1);
            self.occurrence(*at, note)
        });
        shown.collect()
    }

    /// The next occurrences that a clock change moves or doubles.
    pub(super) fn clock_changes(&self, from: DateTime<Utc>) -> Vec<Value> {
        let changes = clock_changes(self.schedule, from, CLOCK_CHANGES_MAX);
        changes.into_iter().map(|(at, note)| self.occurrence(at, Some(note))).collect()
    }

    fn occurrence(&self, at: DateTime<Utc>, note: Option<Note>) -> Value {
        let (local, offset) = match &self.zone {
            Some(zone) => zone.local(at),
            None => self.schedule.timetable.local(at),
        };
        let start = self.schedule.delayed(at);
        let mut document = json!({
            "at": format_instant(at),
            "local": local.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
            "offset": hours_and_minutes(offset),
            "note": note.map(|note| json!({"kind": note.kind.name(), "text": note.text})),
        });
        if let (Some(start), Some(document)) = (start, document.as_object_mut()) {
            document.insert("startsAt".to_owned(), format_instant(start).into());
        }
        document
    }
}

/// A span in ISO 8601, as calendars write it.
pub(super) fn iso(span: TimeDelta) -> Option<String> {
    let seconds = u64::try_from(span.num_seconds()).ok()?;
    Some(minutehand_domain::duration::Span::seconds(seconds).iso())
}
