//! The journal: an entry is put in the transaction of the change that it describes, so that neither is
//! stored without the other.

use minutehand_domain::journal::{DocumentChange, JournalEntry, Patches, read_stored_kind};
use minutehand_domain::name::Name;
use minutehand_domain::tick;
use minutehand_ports::StoreError;

use crate::table::item::{Item, ItemBuilder, Reader, number, text, ticks};
use crate::table::{Write, keys};

/// The put of an entry.
pub(crate) fn write(collection_uid: &str, entry: &JournalEntry) -> Write {
    let JournalEntry { at, who, request_id, operation, job, difference, .. } = entry;
    let job_key = job.as_ref().map(Name::key).unwrap_or_default();
    let patches = difference.patches.as_ref();
    let key = keys::journal_entry(collection_uid, tick::ticks(*at), &job_key, request_id);
    let item = ItemBuilder::at(key)
        .set("at", ticks(*at))
        .text("who", who)
        .text("request_id", request_id)
        .text("operation", operation.stored())
        .maybe("kind", entry.stored_kind().map(text))
        .maybe("job", job.as_ref().map(|job| text(job.as_str())))
        .text("names", difference.names.join("\n"))
        .maybe("there", patches.map(|patches| text(patches.there.to_string())))
        .maybe("back", patches.map(|patches| text(patches.back.to_string())))
        .set("expires_at", number(entry.expires_at().timestamp()));
    Write::put(item)
}

pub(crate) fn read(item: &Item) -> Result<JournalEntry, StoreError> {
    let reader = Reader::new(item);
    let patch = |name: &str| {
        let text = reader.optional_text(name)?;
        let read = text.map(|text| {
            serde_json::from_str(text).map_err(|error| reader.corrupt(name, &error.to_string()))
        });
        read.transpose()
    };
    let patches = match (patch("there")?, patch("back")?) {
        (Some(there), Some(back)) => Some(Patches { there, back }),
        _ => None,
    };
    let kind = reader.optional_text("kind")?;
    let (operation, run) = read_stored_kind(reader.text("operation")?, kind)
        .ok_or_else(|| reader.corrupt("operation", "it is none"))?;
    let job = reader.optional_text("job")?.map(Name::new).transpose();
    let names = reader.text("names")?.lines().map(str::to_owned).collect();
    Ok(JournalEntry {
        at: reader.ticks("at")?,
        who: reader.text("who")?.to_owned(),
        request_id: reader.text("request_id")?.to_owned(),
        operation,
        job: job.map_err(|error| reader.corrupt("job", &error.message))?,
        difference: DocumentChange { names, patches },
        run,
    })
}
