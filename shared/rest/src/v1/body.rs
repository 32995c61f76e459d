//! `GET J/history/{name}/body`: the body with which a target answered an attempt that failed.

use axum::http::{HeaderName, HeaderValue};
use minutehand_domain::attempt::BODY_BYTES_MAX;
use minutehand_domain::history_name::HistoryName;

use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// Says that only the beginning of the body was kept.
const CUT: HeaderName = HeaderName::from_static("x-minutehand-cut");

pub(crate) async fn body(call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let (place, collection, job) = (call.path.place()?, call.path.collection()?, call.path.job()?);
    let name = HistoryName::read(call.path.get("historyName")).ok_or_else(|| {
        Failure::invalid(
            "The path names no attempt; send the last part of an 'id' of the job's history.",
        )
    })?;
    let body = call.manage.failure_body((&place, &collection, &job), name).await?;
    let is_cut = body.len() >= BODY_BYTES_MAX;
    let answer = Answer::download(body);
    Ok(if is_cut { answer.with(CUT, HeaderValue::from_static("true")) } else { answer })
}
