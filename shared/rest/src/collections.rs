//! The operations on job collections.

use axum::http::StatusCode;
use domain::collection::CollectionState;
use domain::name::PathSegment;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::list::{Link, Listing};
use crate::serve::Call;
use crate::wire;

/// The longest a collection can be in an answer: a body that was accepted, and its id.
const ITEM_BYTES_MAX: usize = 72 * 1024;

pub(crate) async fn list(call: Call<'_>, group: Option<PathSegment>) -> Result<Answer, Failure> {
    let subscription = call.path.subscription()?;
    let wanted = call.query.wanted_collections()?;
    let mut listing = Listing::of(&wanted, ITEM_BYTES_MAX);
    while let Some(page) = listing.next_page() {
        let manage = &call.rest.manage;
        let page = manage.list_collections(&subscription, group.as_ref(), page).await?;
        for view in page.items {
            listing.take(|| wire::collection(view));
        }
        listing.go_on(page.next);
    }
    Ok(listing.answer(&Link::of(&call)))
}

pub(crate) async fn get(call: Call<'_>) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let view = call.rest.manage.get_collection(&place, &name).await?;
    Ok(Answer::json(StatusCode::OK, &wire::collection(view)))
}

/// Creates or replaces: 201 for both, as the original did.
pub(crate) async fn put(call: Call<'_>) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let view = call.rest.manage.put_collection(&place, &name, call.body).await?;
    Ok(Answer::json(StatusCode::CREATED, &wire::collection(view)))
}

pub(crate) async fn patch(call: Call<'_>) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let view = call.rest.manage.patch_collection(&place, &name, call.body).await?;
    Ok(Answer::json(StatusCode::OK, &wire::collection(view)))
}

pub(crate) async fn delete(call: Call<'_>) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    call.rest.manage.delete_collection(&place, &name).await?;
    Ok(Answer::empty(StatusCode::OK))
}

pub(crate) async fn switch(call: Call<'_>, state: CollectionState) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    call.rest.manage.switch_collection(&place, &name, state).await?;
    Ok(Answer::empty(StatusCode::OK))
}
