//! `POST J/pingUrl` and `POST J/rotatePing`: the URL at which a job takes pings. It needs no token, so only callers
//! who may change the job get it.

use axum::http::StatusCode;
use minutehand_app::PingAddress;
use minutehand_domain::ping::{PingEntry, Uuid};
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::list::root_of;

/// Answers the URL, and the last pings.
pub(crate) async fn url(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let address = call.changing()?.ping_address((&place, &collection, &name)).await?;
    Ok(answer(&call, &address))
}

/// Replaces the URL.
pub(crate) async fn rotate(call: Call) -> Result<Answer, Failure> {
    let (place, collection, name) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    Parameters::of(&call, &[])?;
    let address = call.changing()?.rotate_ping((&place, &collection, &name)).await?;
    Ok(answer(&call, &address))
}

fn answer(call: &Call, PingAddress { key, url, entries }: &PingAddress) -> Answer {
    let url = url.clone().unwrap_or_else(|| {
        // As the caller reaches this server.
        format!("{}{}/{}", root_of(call), minutehand_app::PING_PATH, key.as_str())
    });
    let pings: Vec<Value> = entries.iter().map(entry).collect();
    Answer::json(StatusCode::OK, &json!({"url": url, "pings": pings}))
}

fn entry(PingEntry { at, kind, rid, of, text, .. }: &PingEntry) -> Value {
    json!({
        "at": format_instant(*at),
        "kind": kind.name(),
        "rid": rid.as_ref().map(Uuid::as_str),
        "occurrence": of.map(format_instant),
        "text": text,
    })
}
