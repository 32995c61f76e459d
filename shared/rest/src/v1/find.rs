//! `GET S/find`: jobs of a subscription by a part of their names.

use minutehand_app::{JobRow, WantedJobs};
use minutehand_domain::name::Name;
use minutehand_ports::store::ResourceGroup;
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// The most jobs in one answer, and how many there are if the request names no number.
const FOUND_MAX: usize = 20;
const FOUND: usize = 10;
/// The most characters of a text: two names have no more.
const TEXT_CHARS_MAX: usize = 201;

/// Finds jobs.
pub(crate) async fn find(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["q", "limit"])?;
    let text = parameters.text("q").map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| {
        Failure::invalid("'q' is missing; send a part of a name, or 'collection/job'.")
    })?;
    if text.chars().count() > TEXT_CHARS_MAX {
        return Err(Failure::invalid(format!(
            "'q' is longer than {TEXT_CHARS_MAX} characters, and so than any name."
        )));
    }
    let max = parameters.number("limit", 1..=FOUND_MAX, FOUND)?;
    let subscription = call.path.subscription()?;
    let wanted = WantedJobs { subscription, text: text.to_owned(), max };
    let found = call.manage.find_jobs(&wanted).await?;
    let document = json!({
        "items": found.items.iter().map(item).collect::<Vec<_>>(),
        "isWhole": found.is_whole,
        "lookedAt": found.looked_at,
    });
    Ok(tagged(&document, &call.head.headers))
}

fn item((place, collection, row): &(ResourceGroup, Name, JobRow)) -> Value {
    json!({
        "resourceGroup": place.group.as_str(),
        "collection": collection.as_str(),
        "job": row.name.as_str(),
        "state": row.state.name(),
        "sentence": row.sentence,
        "next": row.next_at.map(format_instant),
        "recent": row.counters.results().letters(),
    })
}
