//! `GET C/journal`: the changes and runs of a collection and its jobs, the newest first.

use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::Name;
use minutehand_ports::store::PageRequest;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::list::page;
use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// The most entries in one answer, which so has less than a megabyte.
const ENTRIES_MAX: usize = 100;
/// The most entries that are read for one answer, if only those of one job are wanted.
const LOOKED_AT_MAX: usize = 10_000;

pub(crate) async fn journal(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["job", "position"])?;
    let job = parameters.text("job").map(Name::new).transpose()?;
    let mut from = parameters.position()?;
    let (place, collection) = (call.path.place()?, call.path.collection()?);
    let (mut items, mut looked_at) = (Vec::new(), 0);
    loop {
        let wanted = ENTRIES_MAX - items.len();
        let items_max = u32::try_from(wanted).unwrap_or(u32::MAX);
        let request = PageRequest { from: from.clone(), items_max };
        let found = call.manage.list_journal(&place, &collection, request).await?;
        looked_at += wanted;
        let is_wanted = |entry: &&JournalEntry| {
            job.as_ref()
                .is_none_or(|job| entry.job.as_ref().is_some_and(|it| it.key() == job.key()))
        };
        items.extend(found.items.iter().filter(is_wanted).map(document));
        from = found.next;
        if from.is_none() || items.len() >= ENTRIES_MAX || looked_at >= LOOKED_AT_MAX {
            break;
        }
    }
    Ok(tagged(&page(&items, from.as_deref(), looked_at), &call.head.headers))
}

fn document(entry: &JournalEntry) -> Value {
    let patches = entry.difference.patches.as_ref();
    json!({
        "at": format_instant(entry.at),
        "who": entry.who,
        "requestId": entry.request_id,
        "operation": entry.operation.name(),
        "job": entry.job.as_ref().map(Name::as_str),
        "names": entry.difference.names,
        "change": patches.map(|patches| &patches.there),
        "run": entry.run.map(|run| json!({
            "at": format_instant(run.at),
            "redriveOf": run.redrive_of.map(format_instant),
        })),
        "undo": patches.map(|patches| &patches.back),
    })
}
