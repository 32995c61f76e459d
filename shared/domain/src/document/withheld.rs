//! Secrets that a client leaves as they are, because answers do not contain them.
//!
//! A PUT or PATCH that sends [`WITHHELD`] as a secret keeps the stored one, unless the action would
//! send it to another host. A PATCH is merged into a document in which every secret is withheld, so
//! that the same rule holds for the secrets that it does not mention.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::action::{FORMAT, Target};
use crate::credentials::{
    WITHHELD, fill_query, is_credential_header, is_query_withheld, query_credentials,
    withhold_query,
};
use crate::refusal::Refusal;
use crate::sign::SECRETS;

/// Where actions stand in the properties of a job and of a collection.
const ACTIONS: [&str; 3] = ["/action", "/action/errorAction", "/minutehand/onFailure"];

/// Where the extension stands that signs requests.
const SIGN: &str = "/minutehand/sign";

/// A value that is a secret, or a URL that contains one.
struct Slot {
    /// The payload as a JSON pointer within the properties of the job or collection.
    payload: String,
    /// The value as a JSON pointer within the payload.
    pointer: String,
    /// Where the value to keep stands in the stored payload, if not at the same place.
    kept_at: Option<String>,
    is_url: bool,
    /// Whether it is a URL that is a secret as a whole: the place that others are given for.
    is_place: bool,
}

impl Slot {
    fn text(payload: &str, pointer: String) -> Self {
        Self { payload: payload.to_owned(), pointer, kept_at: None, is_url: false, is_place: false }
    }

    fn within<'a>(&self, properties: &'a Value) -> Option<&'a Value> {
        properties.pointer(&self.payload)?.pointer(&self.pointer)
    }

    fn set(&self, properties: &mut Value, text: String) {
        if let Some(value) = properties.pointer_mut(&format!("{}{}", self.payload, self.pointer)) {
            *value = text.into();
        }
    }

    /// The path, as messages write it.
    fn path(&self) -> String {
        let path = format!("{}{}", self.payload, self.pointer).replace('/', ".");
        path.trim_start_matches('.').replace("~0", "~")
    }
}

/// Whether a secret in the properties of a job or a collection is withheld.
#[must_use]
pub fn has_withheld(properties: &Value) -> bool {
    slots(properties).iter().any(|slot| is_withheld(slot, properties))
}

/// Withholds every secret in the properties of a job or a collection.
pub fn withhold(properties: &mut Value) {
    for slot in slots(properties) {
        let text = slot.within(properties).and_then(Value::as_str).unwrap_or_default();
        let text = if slot.is_url { withhold_query(text) } else { WITHHELD.to_owned() };
        slot.set(properties, text);
    }
}

/// Replaces every secret that is withheld by the stored one.
///
/// # Errors
///
/// If no secret is stored, or if it was given for another host.
pub fn keep_withheld(properties: &mut Value, stored: Option<&Value>) -> Result<(), Refusal> {
    for slot in slots(properties) {
        if !is_withheld(&slot, properties) {
            continue;
        }
        let kept = kept(&slot, properties, stored)?;
        slot.set(properties, kept);
    }
    Ok(())
}

/// The stored secret.
fn kept(slot: &Slot, properties: &Value, stored: Option<&Value>) -> Result<String, Refusal> {
    let path = slot.path();
    let missing = |what: &str| {
        Refusal::invalid(format!(
            "{what} is '{WITHHELD}', but there is no stored value to keep. Send the value."
        ))
    };
    let here = || missing(&format!("'{path}'"));
    let old = stored.and_then(|stored| stored.pointer(&slot.payload)).ok_or_else(here)?;
    let new = properties.pointer(&slot.payload).unwrap_or(&Value::Null);
    let text = slot_text(slot, old).ok_or_else(here)?;
    let is_given_for_it = if slot.is_place {
        true
    } else if slot.payload == SIGN {
        let known = stored.map(signed_places).unwrap_or_default();
        signed_places(properties).is_subset(&known)
    } else {
        place(slot, old) == place(slot, new)
    };
    if !is_given_for_it {
        let problem = "was given for another host. Send it again with this change.";
        return Err(Refusal::about(&path, problem));
    }
    if !slot.is_url {
        return Ok(text.to_owned());
    }
    let url = new.pointer(&slot.pointer).and_then(Value::as_str).unwrap_or_default();
    fill_query(url, text).map_err(|name| missing(&format!("The parameter '{name}' of '{path}'")))
}

/// The value of a slot in a stored payload. Names of headers are equal without regard to case.
fn slot_text<'a>(slot: &Slot, stored: &'a Value) -> Option<&'a str> {
    let pointer = slot.kept_at.as_deref().unwrap_or(&slot.pointer);
    let value = match pointer.strip_prefix("/headers/") {
        Some(name) => {
            let mut headers = stored.get("headers")?.as_object()?.iter();
            headers.find(|(known, _)| pointer_token(known).eq_ignore_ascii_case(name))?.1
        }
        None => stored.pointer(pointer)?,
    };
    value.as_str().filter(|text| !text.is_empty())
}

fn place(slot: &Slot, payload: &Value) -> Option<String> {
    let property = slot.payload.rsplit('/').next().unwrap_or_default();
    Target::place(property, payload)
}

/// The places that get requests of a job: those of its action and of its error action.
fn signed_places(properties: &Value) -> BTreeSet<Option<String>> {
    let actions = ACTIONS.into_iter().filter_map(|action| properties.pointer(action)?.as_object());
    let requests = actions.flatten().filter(|(property, _)| Target::is_request(property));
    requests.map(|(property, request)| Target::place(property, request)).collect()
}

fn is_withheld(slot: &Slot, properties: &Value) -> bool {
    let text = slot.within(properties).and_then(Value::as_str).unwrap_or_default();
    if slot.is_url { is_query_withheld(text) } else { text == WITHHELD }
}

/// The secrets in the properties of a job or a collection, which have canonical names.
fn slots(properties: &Value) -> Vec<Slot> {
    let mut slots = Vec::new();
    for action in ACTIONS {
        let Some(Value::Object(action_map)) = properties.pointer(action) else {
            continue;
        };
        let has_format = action_map.get(FORMAT).is_some_and(|format| !format.is_null());
        for (property, payload) in action_map {
            let within = format!("{action}/{property}");
            // Before the others, which are given for the place that this one tells.
            if has_format && payload.get("uri").is_some_and(Value::is_string) {
                slots.push(Slot { is_place: true, ..Slot::text(&within, "/uri".to_owned()) });
            }
            for pointer in Target::secrets(property) {
                let secret = payload.pointer(pointer).and_then(Value::as_str);
                if secret.is_some_and(|text| !text.is_empty()) {
                    slots.push(Slot::text(&within, (*pointer).to_owned()));
                }
            }
            if let (true, Value::Object(request)) = (Target::is_request(property), payload) {
                slots.extend(request_slots(&within, request));
            }
        }
    }
    slots.extend(signing_slots(properties));
    slots
}

/// The secrets that sign requests. They belong to the hosts of all requests of the job: any other host
/// could replay what it gets at a target that trusts the secret. The first one that is withheld is the
/// first stored one: a new secret before it replaces none.
fn signing_slots(properties: &Value) -> Vec<Slot> {
    let secrets = properties.pointer(SIGN).and_then(|sign| sign.get(SECRETS)?.as_array());
    let mut withheld = 0;
    let mut slots = Vec::new();
    for (n, secret) in secrets.into_iter().flatten().enumerate() {
        let Some(text) = secret.as_str() else { continue };
        let mut slot = Slot::text(SIGN, format!("/{SECRETS}/{n}"));
        if text == WITHHELD {
            slot.kept_at = Some(format!("/{SECRETS}/{withheld}"));
            withheld += 1;
        }
        slots.push(slot);
    }
    slots
}

/// The credentials in the headers and in the URL of a request.
fn request_slots(within: &str, request: &Map<String, Value>) -> Vec<Slot> {
    let headers = request.get("headers").and_then(Value::as_object);
    let headers = headers.into_iter().flatten().filter(|(name, value)| {
        is_credential_header(name) && value.as_str().is_some_and(|text| !text.is_empty())
    });
    let mut slots: Vec<Slot> = headers
        .map(|(name, _)| Slot::text(within, format!("/headers/{}", pointer_token(name))))
        .collect();
    let uri = request.get("uri").and_then(Value::as_str).unwrap_or_default();
    if query_credentials(uri).next().is_some() {
        slots.push(Slot { is_url: true, ..Slot::text(within, "/uri".to_owned()) });
    }
    slots
}

/// A name as a part of a JSON pointer. Names of headers have no slash, but other names may.
fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
