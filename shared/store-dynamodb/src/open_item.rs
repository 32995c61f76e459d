//! What the item of an attempt has while it is open.

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::completion::Ending;
use minutehand_ports::StoreError;
use minutehand_ports::store::{OpenAttempt, OpenSpan};

use crate::table::item::{Item, Reader};

/// The deadline of an attempt that is or was open.
pub(crate) const OPEN_UNTIL: &str = "open_until";
/// How an attempt ended that is or was open, before it is recorded.
pub(crate) const ENDING: &str = "ending";
/// What the target of an attempt last said of its progress.
pub(crate) const PROGRESS: &str = "progress";

/// Reads the item of an open attempt.
pub(crate) fn read_open(item: &Item, attempt: Attempt) -> Result<OpenAttempt, StoreError> {
    let reader = Reader::new(item);
    let (started_at, until): (Option<DateTime<Utc>>, _) =
        (reader.optional_ticks("started_at")?, reader.optional_ticks(OPEN_UNTIL)?);
    let open = started_at.zip(until);
    Ok(OpenAttempt {
        attempt,
        claim_id: reader.text("claim_id")?.to_owned(),
        open: open.map(|(started_at, until)| OpenSpan { started_at, until }),
        ending: read_ending(&reader)?,
        progress: reader.optional_text(PROGRESS)?.map(str::to_owned),
    })
}

/// Reads how an attempt ended before it is recorded.
pub(crate) fn read_ending(reader: &Reader<'_>) -> Result<Option<Ending>, StoreError> {
    let Some(stored) = reader.optional_text(ENDING)? else { return Ok(None) };
    let ending = Ending::read_stored(stored).ok_or_else(|| reader.corrupt(ENDING, "it is none"))?;
    Ok(Some(ending))
}
