//! The operations on jobs.

use axum::http::{HeaderMap, StatusCode};
use minutehand_app::PutOutcome;
use minutehand_domain::idempotency_key::{IDEMPOTENCY_KEY, IdempotencyKey};

use crate::answer::Answer;
use crate::call::Call;
use crate::durations::Position;
use crate::failure::Failure;
use crate::list::{Link, Listing};
use crate::query::STATE;
use crate::wire;

/// The maximum size of a job in an answer: the largest document that is stored, the id and the
/// status, and the occurrences of a schedule, which are written twice.
const ITEM_BYTES_MAX: usize = 32 * 1024;

pub(crate) async fn list(call: Call) -> Result<Answer, Failure> {
    let (place, collection) = (call.path.place()?, call.path.collection()?);
    let wanted = call.query.wanted(&STATE)?;
    let durations = call.client().durations(Position::Listed);
    let mut listing = Listing::new(&wanted, ITEM_BYTES_MAX);
    while let Some(page) = listing.next_page() {
        let page = call.manage.list_jobs(&place, &collection, page).await?;
        listing.add_page(page, |view| wanted.has(view), |view| wire::job(&view, durations));
    }
    Ok(listing.answer(&Link::from_call(&call)))
}

pub(crate) async fn get(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let view = call.manage.get_job((&place, &collection, &name)).await?;
    let durations = call.client().durations(Position::Alone);
    Ok(Answer::json(StatusCode::OK, &wire::job(&view, durations)).with_etag(&view.etag))
}

/// Creates a job (201) or replaces it (200).
pub(crate) async fn put(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let durations = call.client().durations(Position::Alone);
    let (view, put) = call.changing()?.put_job((&place, &collection, &name), call.body).await?;
    let status = match put {
        PutOutcome::Created => StatusCode::CREATED,
        PutOutcome::Replaced => StatusCode::OK,
    };
    Ok(Answer::json(status, &wire::job(&view, durations)).with_etag(&view.etag))
}

pub(crate) async fn patch(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let durations = call.client().durations(Position::Alone);
    let view = call.changing()?.patch_job((&place, &collection, &name), call.body).await?;
    Ok(Answer::json(StatusCode::OK, &wire::job(&view, durations)).with_etag(&view.etag))
}

pub(crate) async fn delete(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    call.changing()?.delete_job((&place, &collection, &name)).await?;
    Ok(Answer::empty(StatusCode::OK))
}

pub(crate) async fn run(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let manage = call.changing()?;
    match idempotency_key(&call.head.headers)? {
        Some(key) => manage.run_job_once((&place, &collection, &name), &key).await?,
        None => manage.run_job((&place, &collection, &name)).await?,
    }
    Ok(Answer::empty(StatusCode::OK))
}

/// The key of a request that is to be done once, if it has one.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Failure> {
    let sent = headers.get(IDEMPOTENCY_KEY).map(|value| value.to_str().unwrap_or_default());
    Ok(sent.map(IdempotencyKey::read).transpose()?)
}
