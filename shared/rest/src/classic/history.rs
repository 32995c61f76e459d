//! The operation on the history of jobs.

use axum::http::StatusCode;
use minutehand_app::{ExecutionView, JobView};
use minutehand_domain::attempt::MESSAGE_BYTES_MAX;
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value};

use super::failure::Fault;
use super::jobs::{job_path, json_answer};
use super::request::Request;
use crate::answer::Answer;
use crate::list::Listing;
use crate::query::Ending;
use crate::wire;

/// The maximum size of an item in an answer, as in the later API.
const ITEM_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX + 16 * 1024;
/// The number of items if the request names none: the most that it can name.
const TOP: usize = 100;

/// Lists attempts, the newest first. There is no link to more: clients ask with `$skip`.
pub(super) async fn list(request: Request) -> Result<Answer, Fault> {
    let (place, collection, name) = job_path(&request)?;
    let mut wanted = request.query.wanted_classic_history()?;
    if wanted.only == Some(Ending::Skipped) {
        return Err(Fault::invalid("'$filter' has to name Completed or Failed."));
    }
    wanted.top.get_or_insert(TOP);
    let manage = &request.manage;
    let job = manage.get_job((&place, &collection, &name)).await?;
    let mut listing = Listing::new(&wanted, ITEM_BYTES_MAX);
    while let Some(page) = listing.next_page() {
        let page = manage.list_history((&place, &collection, &name), page).await?;
        listing.add_page(page, |view| wanted.has(view), |view| write(&view, &job));
    }
    Ok(json_answer(StatusCode::OK, &listing.array().unwrap_or_default()))
}

/// An attempt, with what the later API says of it and a few words that only this API has.
fn write(view: &ExecutionView, job: &JobView) -> Value {
    let mut item = Map::new();
    let ended_at = format_instant(view.record.ended_at);
    item.insert("jobId".to_owned(), job.name.as_str().into());
    item.insert("timestamp".to_owned(), ended_at.into());
    item.insert("state".to_owned(), state_after(view, job).into());
    let mut properties = wire::history_properties(view);
    properties.retain(|name, _| name != "expectedExecutionTime");
    // The later API says nothing of an attempt that completed.
    item.insert("status".to_owned(), "completed".into());
    item.extend(properties);
    item.into()
}

/// The state of the job after an attempt. Only the last attempt can have ended the job.
fn state_after(view: &ExecutionView, job: &JobView) -> &'static str {
    let latest = job.status.and_then(|status| status.counters.last_execution_at);
    let is_latest = latest.is_none_or(|latest| view.record.started_at >= latest);
    if job.state.is_final() && is_latest { job.state.name() } else { "enabled" }
}
