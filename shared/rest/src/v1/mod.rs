//! Minutehand's own operations, under `/minutehand/v1`: what Azure's API has no place for.
//!
//! They have the same tokens and the same failures, and no `api-version`. A failure also names the
//! property to change, in `error.target`. Each GET answers an `ETag` of its content, and 304 to a
//! client that has this content already. Reads are as the store was a moment ago: they cost half as
//! much, and no change rests on them; only the check of many changes reads the latest. A query parameter
//! that an operation does not have is refused.

pub(crate) mod again;
pub(crate) mod ahead;
pub(crate) mod alerts;
pub(crate) mod body;
pub(crate) mod check;
pub(crate) mod check_many;
pub(crate) mod dead_letters;
pub(crate) mod find;
pub(crate) mod installation;
pub(crate) mod job;
pub(crate) mod journal;
mod list;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod occurrences;
mod parameters;
pub(crate) mod past;
pub(crate) mod pings;
pub(crate) mod preview;
pub(crate) mod rows;
pub(crate) mod wall;
pub(crate) mod why;
mod why_ping;

use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, StatusCode};
use minutehand_app::Etags;
use serde_json::Value;

use crate::answer::Answer;
use crate::call::etags;

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
