//! The operations on jobs, in JSON.
//!
//! A job of this API has what the later API has in `properties`, and its id beside it. Types of actions
//! and the names of HTTP headers begin with a small letter, and `/` is written as `\/`.

use axum::http::StatusCode;
use minutehand_app::{Condition, Etags, JobView, PutOutcome};
use minutehand_domain::document::Durations;
use minutehand_domain::job::JobState;
use minutehand_domain::name::Name;
use minutehand_domain::refusal::Refusal;
use serde_json::{Map, Value, json};

use super::failure::Fault;
use super::request::Request;
use crate::answer::{Answer, guid};
use crate::list::Listing;
use crate::query::{STATE, shown};
use crate::wire;

/// The maximum size of a job in an answer, as in the later API.
const ITEM_BYTES_MAX: usize = 32 * 1024;
/// What a change of all jobs can be.
const ONLY_STATE: &str =
    "A change of all jobs sets their 'state' and nothing else; send {\"state\":\"disabled\"}.";
/// Names that the later API has around the properties of a job.
const OF_ENVELOPE: [&str; 3] = ["properties", "name", "type"];

pub(super) async fn list(request: Request) -> Result<Answer, Fault> {
    let (place, collection) = (request.path.place()?, request.path.collection()?);
    let wanted = request.query.wanted(&STATE)?;
    let mut listing = Listing::new(&wanted, ITEM_BYTES_MAX);
    while let Some(page) = listing.next_page() {
        let page = request.manage.list_jobs(&place, &collection, page).await?;
        listing.add_page(page, |view| wanted.has(view), |view| write(&view));
    }
    let jobs = listing.array().ok_or_else(|| {
        Fault::invalid(
            "There are more jobs than one answer can have. Read them in parts, with '$skip' and \
             '$top' up to 100.",
        )
    })?;
    Ok(json_answer(StatusCode::OK, &jobs))
}

pub(super) async fn get(request: Request) -> Result<Answer, Fault> {
    let (place, collection, name) = job_path(&request)?;
    let view = request.manage.get_job((&place, &collection, &name)).await?;
    Ok(answer(StatusCode::OK, &view))
}

/// Creates a job under an id of the service's choice.
pub(super) async fn post(request: Request) -> Result<Answer, Fault> {
    let (place, collection) = (request.path.place()?, request.path.collection()?);
    let body = read_whole(request.json()?, None)?;
    let name = Name::new(&guid(&request.rest.ids.new_id()).replace('-', ""))?;
    let is_new = Condition { is_none_of: Some(Etags::Any), ..Condition::default() };
    let manage = request.writing().only_if(is_new);
    let (view, _) = manage.put_job((&place, &collection, &name), body).await?;
    Ok(answer(StatusCode::CREATED, &view))
}

/// Creates a job (201) or replaces it (200).
pub(super) async fn put(request: Request) -> Result<Answer, Fault> {
    let (place, collection, name) = job_path(&request)?;
    let body = read_whole(request.json()?, Some(&name))?;
    let manage = request.writing();
    let (view, put) = manage.put_job((&place, &collection, &name), body).await?;
    let status = match put {
        PutOutcome::Created => StatusCode::CREATED,
        PutOutcome::Replaced => StatusCode::OK,
    };
    Ok(answer(status, &view))
}

pub(super) async fn patch(request: Request) -> Result<Answer, Fault> {
    let (place, collection, name) = job_path(&request)?;
    let body = read_part(request.json()?, Some(&name))?;
    let view = request.writing().patch_job((&place, &collection, &name), body).await?;
    Ok(answer(StatusCode::OK, &view))
}

pub(super) async fn delete(request: Request) -> Result<Answer, Fault> {
    let (place, collection, name) = job_path(&request)?;
    request.writing().delete_job((&place, &collection, &name)).await?;
    Ok(Answer::empty(StatusCode::OK))
}

/// Sets the state of all jobs.
pub(super) async fn patch_all(request: Request) -> Result<Answer, Fault> {
    let (place, collection) = (request.path.place()?, request.path.collection()?);
    let sent = read(request.json()?, None)?;
    let mut named = sent.iter();
    let (Some((name, state)), None) = (named.next(), named.next()) else {
        return Err(Fault::invalid(ONLY_STATE));
    };
    if !name.eq_ignore_ascii_case("state") {
        return Err(Fault::invalid(ONLY_STATE));
    }
    let text = state.as_str().unwrap_or_default();
    let state = JobState::read_name(text).filter(|state| state.switch().is_some());
    let state = state.ok_or_else(|| {
        let text = shown(text);
        Fault::invalid(format!("'state' cannot be {text} here; use one of enabled, disabled."))
    })?;
    let views = request.writing().patch_all_jobs(&place, &collection, state).await?;
    let jobs: Vec<Value> = views.iter().map(write).collect();
    Ok(json_answer(StatusCode::OK, &Value::from(jobs).to_string()))
}

pub(super) async fn delete_all(request: Request) -> Result<Answer, Fault> {
    let (place, collection) = (request.path.place()?, request.path.collection()?);
    request.writing().delete_all_jobs(&place, &collection).await?;
    Ok(Answer::empty(StatusCode::OK))
}

/// The names in the path of a job.
pub(super) fn job_path(
    request: &Request,
) -> Result<(minutehand_ports::store::ResourceGroup, Name, Name), Refusal> {
    let path = &request.path;
    let wrong = |failure: crate::failure::Failure| Refusal::invalid(failure.message);
    let place = path.place().map_err(wrong)?;
    Ok((place, path.collection().map_err(wrong)?, path.job().map_err(wrong)?))
}

/// The body of a PUT or POST in the form of the later API. `status` is the service's own; clients send
/// it back as they read it.
fn read_whole(body: Value, name: Option<&Name>) -> Result<Value, Fault> {
    let mut flat = read(body, name)?;
    flat.retain(|name, _| !name.eq_ignore_ascii_case("status"));
    Ok(json!({"properties": flat}))
}

/// The body of a PATCH in the form of the later API.
fn read_part(body: Value, name: Option<&Name>) -> Result<Value, Fault> {
    let flat = read(body, name)?;
    if flat.keys().any(|name| name.eq_ignore_ascii_case("status")) {
        return Err(Fault::invalid("'status' cannot change; only the scheduler sets it."));
    }
    Ok(json!({"properties": flat}))
}

/// Reads the properties of a job. If the body has an `id`, it must equal the name in the path.
fn read(body: Value, name: Option<&Name>) -> Result<Map<String, Value>, Fault> {
    let Value::Object(mut flat) = body else {
        return Err(Fault::invalid("The body is not an object; send '{…}'."));
    };
    let is = |sent: &str, name: &str| sent.eq_ignore_ascii_case(name);
    if let Some(envelope) = OF_ENVELOPE.iter().find(|of| flat.keys().any(|sent| is(sent, of))) {
        return Err(Fault::invalid(format!(
            "'{envelope}' is not a property of a job in this version of the API: 'action', \
             'recurrence' and the others are at the top."
        )));
    }
    for (sent, value) in &flat {
        let is_wrong = match (name, value.as_str()) {
            (Some(name), Some(id)) => !is(id, name.as_str()),
            (Some(_) | None, _) => true,
        };
        if is(sent, "id") && is_wrong {
            return Err(Fault::invalid(match name {
                Some(name) => format!(
                    "'id' is {}, and the path names the job '{name}'.",
                    shown(value.as_str().unwrap_or_default())
                ),
                None => "'id' cannot be sent here; a PUT of a job chooses its id.".to_owned(),
            }));
        }
    }
    // A reason that clients may give for a state. No answer ever had it.
    flat.retain(|name, _| !is(name, "id") && !is(name, "stateDetails"));
    Ok(flat)
}

fn write(view: &JobView) -> Value {
    let mut job = Map::new();
    job.insert("id".to_owned(), view.name.as_str().into());
    let mut properties = view.properties(Durations::TimeSpan);
    if let Some(action) = properties.get_mut("action") {
        with_small_letters(action);
        if let Some(error_action) = action.get_mut("errorAction") {
            with_small_letters(error_action);
        }
    }
    job.extend(properties);
    if let Some(status) = &view.status {
        job.insert("status".to_owned(), wire::status(status));
    }
    job.into()
}

/// Writes the type of an action and the names of its HTTP headers with a small first letter.
fn with_small_letters(action: &mut Value) {
    if let Some(Value::String(name)) = action.get_mut("type") {
        make_small(name);
    }
    if let Some(Value::Object(headers)) = action.pointer_mut("/request/headers") {
        let sent = std::mem::take(headers);
        headers.extend(sent.into_iter().map(|(mut name, value)| {
            make_small(&mut name);
            (name, value)
        }));
    }
}

fn make_small(name: &mut str) {
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
}

fn answer(status: StatusCode, view: &JobView) -> Answer {
    json_answer(status, &write(view).to_string())
}

/// An answer with a JSON document. Azure escaped `/`, which only texts contain.
pub(super) fn json_answer(status: StatusCode, document: &str) -> Answer {
    Answer::text(status, document.replace('/', "\\/"))
}
