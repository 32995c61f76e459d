//! Minutehand's own operations, under `/minutehand/v1`: what Azure's API has no place for.
//!
//! They have the same tokens and the same failures, and no `api-version`. A failure also names the
//! property to change, in `error.target`. Each GET answers an `ETag` of its content, and 304 to a
//! client that has this content already. Reads are as the store was a moment ago: they cost half as
//! much, and no change rests on them; only the check of many changes reads the latest. A query parameter
//! that an operation does not have is refused.

mod again;
mod ahead;
mod alerts;
mod body;
mod check;
mod check_many;
mod dead_letters;
mod find;
mod installation;
mod job;
mod journal;
mod list;
mod live;
mod load;
mod occurrences;
mod parameters;
mod past;
mod pings;
mod preview;
mod rows;
mod wall;
mod why;
mod why_ping;

use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, StatusCode};
use minutehand_app::Etags;
use serde_json::Value;

use crate::answer::Answer;
use crate::call::etags;

pub(crate) use again::{cancel as cancel_occurrence, redrive as redrive_occurrence, resume};
pub(crate) use ahead::{overview, upcoming};
pub(crate) use alerts::{get as alert, of_job as job_alert, test as test_alert};
pub(crate) use body::body;
pub(crate) use check::check;
pub(crate) use check_many::{CHECKS_BYTES_MAX, check_many};
pub(crate) use dead_letters::{
    delete as delete_dead_letters, list as dead_letters, redrive as redrive_dead_letters,
};
pub(crate) use find::find;
pub(crate) use installation::{database, me, processes, subscriptions, zones};
pub(crate) use job::get_job;
pub(crate) use journal::journal;
pub(crate) use live::live;
pub(crate) use load::load;
pub(crate) use occurrences::next;
pub(crate) use past::{failures, occurrences};
pub(crate) use pings::{rotate as rotate_ping, url as ping_url};
pub(crate) use preview::preview;
pub(crate) use rows::rows;
pub(crate) use wall::wall;
pub(crate) use why::why;

/// The beginning of every path of these operations.
pub(crate) const PREFIX: &str = "/minutehand/v1/";

/// An answer with an `ETag` of its content, without the content if the client has it.
fn tagged(document: &Value, sent: &HeaderMap) -> Answer {
    let answer = Answer::json(StatusCode::OK, document).with_content_tag();
    // A header that cannot be read names no content.
    let known = match etags(sent, &IF_NONE_MATCH) {
        Ok(Some(Etags::OneOf(known))) => known,
        Ok(Some(Etags::Any) | None) | Err(_) => Vec::new(),
    };
    let is_known = |tag: &str| known.iter().any(|known| known == tag.trim_matches('"'));
    if answer.content_tag().is_some_and(is_known) { answer.not_modified() } else { answer }
}
