//! `POST /minutehand/v1/convert`: the schedules of other schedulers as jobs. Nothing is read or stored.
//!
//! The answer contains no secret of the request: a document has references in their place, so that a
//! tool can put in what the user has.

use axum::http::StatusCode;
use minutehand_convert::{ConvertOptions, CrontabForm, SourceFormat, sentence};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::request::unknown_property;

/// The maximum size of the body: a file is longer than a job.
pub(crate) const BODY_BYTES_MAX: usize = 256 * 1_024;
/// The most schedules in one request, so that no request occupies the process for long.
const SCHEDULES_MAX: usize = 1_000;
/// The maximum size of the answer.
const ANSWER_BYTES_MAX: usize = 1_024 * 1_024;

/// The properties of the body.
const PROPERTIES: [&str; 7] =
    ["format", "text", "form", "timeZone", "template", "method", "parameters"];

/// Answers the jobs of a file, and what they do not say of it.
pub(crate) fn convert(call: &Call) -> Result<Answer, Failure> {
    let sent = call.body.as_object().ok_or_else(|| Failure::invalid("Send an object."))?;
    if let Some((unknown, hint)) = unknown_property(sent, &PROPERTIES) {
        return Err(Failure::invalid(format!("'{unknown}' is not a property; {hint}")));
    }
    let format = text(sent, "format")?.and_then(SourceFormat::read_name).ok_or_else(|| {
        let names = SourceFormat::ALL.map(SourceFormat::name).join(", ");
        Failure::invalid(format!("'format' is missing or unknown; use one of {names}."))
    })?;
    let text = text(sent, "text")?.ok_or_else(|| {
        Failure::invalid("'text' is missing; send the content of the file as a JSON string.")
    })?;
    let mut options = options(call, sent)?;
    options.schedules_max = SCHEDULES_MAX;
    let converted = minutehand_convert::convert(format, text, &options).map_err(|unsayable| {
        let (why, remedy) = (sentence(&unsayable.why), sentence(&unsayable.remedy));
        Failure::invalid(format!("{why} {remedy}"))
    })?;
    let document = converted.to_json();
    if document.to_string().len() > ANSWER_BYTES_MAX {
        let message = "The jobs of the file have more than 1 MB; send the file in parts.";
        return Err(Failure::invalid(message));
    }
    Ok(Answer::json(StatusCode::OK, &document))
}

fn text<'a>(sent: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Failure> {
    let value = sent.get(name).filter(|value| !value.is_null());
    let text = |value: &'a Value| {
        value.as_str().ok_or_else(|| Failure::invalid(format!("'{name}' must be a JSON string.")))
    };
    value.map(text).transpose()
}

fn options(call: &Call, sent: &Map<String, Value>) -> Result<ConvertOptions, Failure> {
    let mut options = ConvertOptions::at(call.rest.clock.now());
    if let Some(form) = text(sent, "form")? {
        options.form = CrontabForm::read(form)
            .ok_or_else(|| Failure::invalid("'form' is unknown; use 'user' or 'system'."))?;
    }
    options.time_zone = text(sent, "timeZone")?.map(str::to_owned);
    options.template = text(sent, "template")?.map(str::to_owned);
    if let Some(method) = text(sent, "method")? {
        method.clone_into(&mut options.method);
    }
    match sent.get("parameters") {
        None | Some(Value::Null) => {}
        Some(Value::Object(parameters)) => options.parameters.clone_from(parameters),
        Some(_) => {
            return Err(Failure::invalid(
                "'parameters' must be an object: values by the names of a template's parameters.",
            ));
        }
    }
    Ok(options)
}
