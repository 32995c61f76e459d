//! The operations on job collections.

use axum::http::StatusCode;
use minutehand_app::CollectionView;
use minutehand_domain::collection::CollectionState;
use minutehand_domain::name::PathSegment;

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::list::{Link, Listing};
use crate::wire;

/// The maximum size of a collection in an answer: the largest accepted body, and the id.
const ITEM_BYTES_MAX: usize = 72 * 1024;

pub(crate) async fn list_in_subscription(call: Call) -> Result<Answer, Failure> {
    list(call, None).await
}

pub(crate) async fn list_in_group(call: Call) -> Result<Answer, Failure> {
    let group = call.path.place()?.group;
    list(call, Some(group)).await
}

async fn list(call: Call, group: Option<PathSegment>) -> Result<Answer, Failure> {
    let subscription = call.path.subscription()?;
    let wanted = call.query.wanted_collections()?;
    let mut listing = Listing::new(&wanted, ITEM_BYTES_MAX);
    listing.filtered |= call.manage.is_limited();
    while let Some(page) = listing.next_page() {
        let manage = &call.manage;
        let page = manage.list_collections(&subscription, group.as_ref(), page).await?;
        listing.add_page(page, |_| true, wire::collection);
    }
    Ok(listing.answer(&Link::from_call(&call)))
}

pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let view = call.manage.get_collection(&place, &name).await?;
    Ok(answer(StatusCode::OK, view))
}

/// Creates or replaces a collection. Both are answered with 201, as Azure did.
pub(crate) async fn put(call: Call) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let view = call.changing()?.put_collection(&place, &name, call.body).await?;
    Ok(answer(StatusCode::CREATED, view))
}

pub(crate) async fn patch(call: Call) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    let view = call.changing()?.patch_collection(&place, &name, call.body).await?;
    Ok(answer(StatusCode::OK, view))
}

fn answer(status: StatusCode, view: CollectionView) -> Answer {
    let etag = view.etag.clone();
    Answer::json(status, &wire::collection(view)).with_etag(&etag)
}

pub(crate) async fn delete(call: Call) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    call.changing()?.delete_collection(&place, &name).await?;
    Ok(Answer::empty(StatusCode::OK))
}

pub(crate) async fn enable(call: Call) -> Result<Answer, Failure> {
    switch(call, CollectionState::Enabled).await
}

pub(crate) async fn disable(call: Call) -> Result<Answer, Failure> {
    switch(call, CollectionState::Disabled).await
}

async fn switch(call: Call, state: CollectionState) -> Result<Answer, Failure> {
    let (place, name) = (call.path.place()?, call.path.collection()?);
    call.changing()?.switch_collection(&place, &name, state).await?;
    Ok(Answer::empty(StatusCode::OK))
}
