//! How messages name things.

use minutehand_ports::store::{Carried, CollectionRecord};

/// The most names that a message lists.
const NAMES_MAX: usize = 50;

/// The path of a collection.
pub(crate) fn path_of(record: &CollectionRecord) -> String {
    record.place.collection_path(&record.collection.name).to_string()
}

/// Something as messages name it.
pub(crate) fn name_of(carried: &Carried) -> String {
    match carried {
        Carried::CloudService(service) => format!("cloud service '{}'", service.place.group),
        Carried::Collection(record) => format!("collection '{}'", path_of(record)),
        Carried::Job { job, .. } => format!("job '{}'", job.name),
        Carried::PingKey { job, .. } => format!("the URL for pings of job '{}'", job.key),
        Carried::Retry(retry) => format!("a retry of job '{}'", retry.job.key),
    }
}

/// Names in lines, as many as a message lists.
#[must_use]
pub fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let mut text = String::new();
    for name in names.take(NAMES_MAX) {
        text.extend(["\n  ", name]);
    }
    if more > 0 {
        text.extend(["\n  and ", &more.to_string(), " more"]);
    }
    text
}
