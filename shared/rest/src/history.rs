//! The history of jobs.

use domain::attempt::MESSAGE_BYTES_MAX;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::list::{Link, Listing};
use crate::serve::Call;
use crate::wire;

/// The longest an item can be in an answer: a message of which each character takes two in JSON,
/// room for a body of control characters, which take six, and the names.
const ITEM_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX + 16 * 1024;

pub(crate) async fn list(call: Call<'_>) -> Result<Answer, Failure> {
    let (place, collection, job) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let wanted = call.query.wanted_history()?;
    let mut listing = Listing::of(&wanted, ITEM_BYTES_MAX);
    while let Some(page) = listing.next_page() {
        let manage = &call.rest.manage;
        let page = manage.list_history(&place, &collection, &job, page).await?;
        for view in page.items {
            if wanted.only.is_none_or(|wanted| view.record.outcome == wanted) {
                listing.take(|| wire::history(&view));
            }
        }
        listing.go_on(page.next);
    }
    Ok(listing.answer(&Link::of(&call)))
}
