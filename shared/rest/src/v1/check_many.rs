//! `POST C/check`: whether the changes of a collection and of many of its jobs would be accepted.

use axum::http::StatusCode;
use minutehand_app::{AppError, CheckedChanges, CheckedRequest, JobCheck};
use minutehand_domain::name::Name;
use serde_json::{Map, Value, json};

use super::check::{problem, request_as, warning};
use super::parameters::Parameters;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::{ErrorCode, Failure};
use crate::request::BODY_BYTES_MAX;

/// The maximum size of the body.
pub(crate) const CHECKS_BYTES_MAX: usize = 1 << 20;
/// The most jobs in one request.
const JOBS_MAX: usize = 100;
/// The properties of the body, and of each change in it.
const PROPERTIES: [&str; 3] = ["collection", "jobs", "createdBefore"];
const OF_COLLECTION: [&str; 2] = ["as", "body"];
const OF_JOB: [&str; 3] = ["name", "as", "body"];

/// A change as it was sent, or why it cannot be one.
type Sent = Result<(Name, CheckedRequest), Value>;

/// Checks changes. What would be refused is answered with 200, so that all problems are known at once.
pub(crate) async fn check_many(mut call: Call) -> Result<Answer, Failure> {
    Parameters::of(&call, &[])?;
    let (place, collection) = (call.path.place()?, call.path.collection()?);
    let mut sent = object(call.body.take(), "The body", &PROPERTIES)?;
    let change = match sent.remove("collection") {
        None | Some(Value::Null) => None,
        Some(change) => {
            let change = object(change, "'collection'", &OF_COLLECTION)?;
            Some(request(change, "'collection'")?)
        }
    };
    let created_before = match sent.remove("createdBefore") {
        None => 0,
        Some(count) => count.as_u64().and_then(|count| u32::try_from(count).ok()).ok_or_else(|| {
            Failure::invalid(
                "'createdBefore' has to be a whole number: how many jobs the requests before this one \
                 would create.",
            )
        })?,
    };
    let jobs = jobs(sent.remove("jobs"))?;
    // A change of the collection that is too long is refused, and its jobs are checked without it.
    let (change, too_long) = match change.transpose() {
        Ok(change) => (change, None),
        Err(problem) => (None, Some(problem)),
    };
    let body = change.as_ref().map_or(Value::Null, |change| body_of(change).clone());
    let valid: Vec<_> = jobs.iter().filter_map(|(_, sent)| sent.as_ref().ok().cloned()).collect();
    let changes = CheckedChanges { collection: change, jobs: valid, created_before };
    let checked = call.manage.check_changes(&place, &collection, changes).await?;
    let of_collection =
        too_long.or_else(|| checked.collection.as_ref().map(|refusal| problem(refusal, &body)));
    Ok(Answer::json(StatusCode::OK, &document(of_collection, checked.jobs, jobs)))
}

fn jobs(sent: Option<Value>) -> Result<Vec<(String, Sent)>, Failure> {
    let sent = match sent {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(jobs)) => jobs,
        Some(_) => return Err(Failure::invalid("'jobs' has to be a list of changes.")),
    };
    if sent.len() > JOBS_MAX {
        return Err(Failure::invalid(format!(
            "'jobs' has {} changes; send at most {JOBS_MAX}, and the others in further requests.",
            sent.len()
        )));
    }
    let read = |(n, job): (usize, Value)| {
        let at = format!("'jobs[{n}]'");
        let mut job = object(job, &at, &OF_JOB)?;
        let Some(Value::String(name)) = job.remove("name") else {
            return Err(Failure::invalid(format!("{at} has no 'name'; send the name of its job.")));
        };
        let request = request(job, &at)?;
        let named = Name::new(&name)
            .map_err(|refusal| problem_of(ErrorCode::Refused(refusal.code), &refusal.message))
            .and_then(|named| Ok((named, request?)));
        Ok((name, named))
    };
    sent.into_iter().enumerate().map(read).collect()
}

/// The request of a change. A body that no request may have is the problem of this change alone.
fn request(
    mut change: Map<String, Value>,
    at: &str,
) -> Result<Result<CheckedRequest, Value>, Failure> {
    let Some(body @ Value::Object(_)) = change.remove("body") else {
        return Err(Failure::invalid(format!(
            "{at} has no 'body'; send the body of its PUT or PATCH, an object."
        )));
    };
    if body.to_string().len() > BODY_BYTES_MAX {
        let message = format!("The body is longer than {BODY_BYTES_MAX} bytes.");
        return Ok(Err(problem_of(ErrorCode::RequestEntityTooLarge, &message)));
    }
    let method = change.remove("as").unwrap_or_else(|| "put".into());
    let request = method.as_str().and_then(|method| request_as(method, body));
    let wrong = || Failure::invalid(format!("'as' of {at} has to be put or patch."));
    request.map(Ok).ok_or_else(wrong)
}

/// An object that has no other properties than these.
fn object(value: Value, at: &str, known: &[&str]) -> Result<Map<String, Value>, Failure> {
    let Value::Object(object) = value else {
        return Err(Failure::invalid(format!("{at} has to be an object.")));
    };
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(object),
        Some(name) => {
            let name = crate::query::shown(name);
            let known = known.join(", ");
            Err(Failure::invalid(format!("{at} has the unknown property {name}; it has {known}.")))
        }
    }
}

/// Why a change would be refused, without a property to change.
fn problem_of(code: ErrorCode, message: &str) -> Value {
    json!({"code": code.as_str(), "message": message, "target": null, "fixes": []})
}

fn body_of(change: &CheckedRequest) -> &Value {
    let (CheckedRequest::Put(body) | CheckedRequest::Patch(body)) = change;
    body
}

fn document(
    of_collection: Option<Value>,
    checks: Vec<Result<JobCheck, AppError>>,
    jobs: Vec<(String, Sent)>,
) -> Value {
    let mut checks = checks.into_iter();
    let jobs = jobs.into_iter().map(|(name, sent)| match sent {
        Err(problem) => refused_job(&name, &problem),
        Ok((_, request)) => match checks.next() {
            Some(Ok(JobCheck::Accepted(accepted))) => json!({
                "name": name, "ok": true, "problems": [], "sentence": accepted.sentence,
                "warnings": accepted.warnings.iter().map(warning).collect::<Vec<_>>(),
            }),
            Some(Ok(JobCheck::Refused(refusal))) => {
                refused_job(&name, &problem(&refusal, body_of(&request)))
            }
            Some(Err(error)) => {
                let Failure { code, message, .. } = Failure::from(error);
                refused_job(&name, &problem_of(code, &message))
            }
            None => Value::Null,
        },
    });
    let jobs: Vec<Value> = jobs.collect();
    let is_ok =
        of_collection.is_none() && jobs.iter().all(|job| job.get("ok") == Some(&Value::Bool(true)));
    json!({
        "ok": is_ok,
        "problems": of_collection.into_iter().collect::<Vec<_>>(),
        "jobs": jobs,
    })
}

fn refused_job(name: &str, problem: &Value) -> Value {
    json!({"name": name, "ok": false, "problems": [problem], "sentence": null, "warnings": []})
}
