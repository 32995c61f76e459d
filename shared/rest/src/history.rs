//! The operation on the history of jobs.

use minutehand_domain::attempt::MESSAGE_BYTES_MAX;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::list::{Link, Listing};
use crate::query::{Ending, STATUS};
use crate::wire;

/// The maximum size of an item in an answer: a message in which JSON escapes every character with
/// two, room for a body of control characters, which take six, and the names.
const ITEM_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX + 16 * 1024;

/// The most pages of the archive for one request. Each of them may read many objects.
const ARCHIVE_PAGES_MAX: usize = 3;

pub(crate) async fn list(call: Call) -> Result<Answer, Failure> {
    let (place, collection, job) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let wanted = call.query.wanted(&STATUS)?;
    let mut listing = Listing::new(&wanted, ITEM_BYTES_MAX);
    let manage = &call.manage;
    if call.query.is_archive()? {
        for _ in 0..ARCHIVE_PAGES_MAX {
            let Some(page) = listing.next_page() else {
                break;
            };
            let page = manage.list_archived_history((&place, &collection, &job), page).await?;
            listing.add_page(page, |view| wanted.has(view), |view| wire::history(&view));
        }
        return Ok(listing.answer(&Link::from_call(&call)));
    }
    if wanted.only == Some(Ending::Skipped) {
        while let Some(page) = listing.next_page() {
            let page = manage.list_left_out((&place, &collection, &job), page).await?;
            listing.add_page(page, |_| true, |view| wire::left_out(&view));
        }
        return Ok(listing.answer(&Link::from_call(&call)));
    }
    while let Some(page) = listing.next_page() {
        let page = manage.list_history((&place, &collection, &job), page).await?;
        listing.add_page(page, |view| wanted.has(view), |view| wire::history(&view));
    }
    let link = Link::from_call(&call);
    Ok(if manage.has_archive() {
        listing.answer_before_archive(&link)
    } else {
        listing.answer(&link)
    })
}
