//! Operations that were answered with 202. All of them have succeeded.

use axum::http::StatusCode;

use super::failure::Fault;
use super::request::Request;
use super::xml::Xml;
use crate::answer::Answer;
use crate::failure::{ErrorCode, Failure};

/// Where a GUID has its dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];

/// Says that an operation has succeeded. Each request has an operation, so that every id is one.
pub(super) fn get(request: &Request) -> Result<Answer, Fault> {
    let Some(id) = with_dashes(request.path.get("operationId")) else {
        let message = "The specified resource does not exist. The id of an operation is the \
                       'x-ms-request-id' of an answer.";
        return Err(Failure::new(ErrorCode::ResourceNotFound, message).into());
    };
    let body = Xml::document("Operation", |xml| {
        xml.text("ID", &id);
        xml.text("Status", "Succeeded");
        xml.text("HttpStatusCode", "200");
    });
    Ok(Answer::xml(StatusCode::OK, body))
}

/// The GUID of 32 hexadecimal digits, with or without dashes.
fn with_dashes(id: &str) -> Option<String> {
    let is_dashed = id.len() == 36 && DASHES.iter().all(|at| id.as_bytes().get(*at) == Some(&b'-'));
    let digits = if is_dashed { id.replace('-', "") } else { id.to_owned() };
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut dashed = digits.to_ascii_lowercase();
    for at in DASHES {
        dashed.insert(at, '-');
    }
    Some(dashed)
}
