//! What to do after a failure, beyond what the failure itself knows: the name that was meant, and the server
//! and context that refused a token.

use minutehand_client::CollectionPath;
use minutehand_recurrence::nearest;

use crate::failure::{Failure, Missing, TOKEN_HINT};
use crate::work::Work;

/// The most names that are looked at for one that is similar.
const NAMES_MAX: usize = 2_000;

/// Whether there is something to add to a failure.
pub(crate) fn has_more(failure: &Failure) -> bool {
    failure.missing.is_some() || failure.hint.as_deref() == Some(TOKEN_HINT)
}

/// Adds what the server knows to a failure.
pub(crate) async fn advised(work: &Work, failure: Failure) -> Failure {
    if failure.hint.as_deref() == Some(TOKEN_HINT) {
        let context = work.session.context.as_deref();
        let context = context.map_or("no context".to_owned(), |name| format!("context '{name}'"));
        let message = format!("{} ({}, {context})", failure.message, work.client().server());
        return Failure { message, ..failure };
    }
    let Some(missing) = &failure.missing else {
        return failure;
    };
    match hint(work, missing).await {
        Some(hint) => Failure { hint: Some(hint), ..failure },
        None => failure,
    }
}

/// The name that was most likely meant, or how to see all; `None` if the failure says it already.
async fn hint(work: &Work, missing: &Missing) -> Option<String> {
    let Missing { collection, job } = missing;
    let Some(job) = job else {
        let near = near_collection(work, collection).await?;
        return Some(format!("did you mean '{}'?", work.defaults().short_collection(&near)));
    };
    match work.client().jobs(collection, None).up_to(NAMES_MAX).await {
        Ok(jobs) => {
            let names = jobs.iter().map(|job| job.value.short_name());
            let name = work.defaults().short_collection(collection);
            Some(match nearest(job, names) {
                Some(near) => format!("did you mean '{name}/{near}'?"),
                None => format!("`minutehand job list {name}` lists the jobs"),
            })
        }
        // It is the collection that does not exist.
        Err(error) if error.is_not_found() => {
            let name = work.defaults().short_collection(collection);
            Some(match near_collection(work, collection).await {
                Some(near) => {
                    let near = work.defaults().short_job(&near.job(job.as_str()));
                    format!("there is no collection '{name}': did you mean '{near}'?")
                }
                None => format!(
                    "there is no collection '{name}': `minutehand collection list` lists them"
                ),
            })
        }
        Err(_) => None,
    }
}

async fn near_collection(work: &Work, path: &CollectionPath) -> Option<CollectionPath> {
    let found = work.client().collections(&path.place).up_to(NAMES_MAX).await.ok()?;
    let names = found.iter().map(|collection| collection.value.name.as_str());
    let collection = nearest(&path.collection, names)?.to_owned();
    Some(CollectionPath { collection, ..path.clone() })
}
