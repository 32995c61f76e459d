//! The secrets of a job, apart from its document.
//!
//! A document that leaves this crate has a reference such as `{"$env": "MINUTEHAND_IMPORT_NIGHTLY_PASSWORD"}`
//! in place of each secret. The value is beside it if the file had it, and in no `Debug` and no report.
//!
//! The names of variables begin with [`PREFIX`]. A file that is imported chooses the names of its jobs
//! and of their headers; without the prefix it could name any variable of the environment, and have it
//! sent to any URL.

use minutehand_domain::action::Target;
use minutehand_domain::credentials::{WITHHELD, is_credential_header, query_credentials};
use minutehand_domain::secret::Secret;
use serde_json::{Map, Value, json};

use crate::unique::UniqueNames;
use crate::unsayable::Unsayable;

/// How the name of every variable begins.
pub const PREFIX: &str = "MINUTEHAND_IMPORT_";

/// The most characters of the name of a variable, before the number that makes it unique.
const VARIABLE_CHARS_MAX: usize = 120;

/// How the names of properties begin that this crate adds for itself. No file may contain them.
const MARKS: char = '\u{0}';

/// The property of a mark: what stands in place of a secret within this crate. No file may contain it.
const MARK: &str = "\u{0}secret";

/// A secret of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretReference {
    /// Where it stands in the document, as a JSON pointer.
    pub pointer: String,
    /// The name of the variable that the document refers to.
    pub variable: String,
    /// The secret, if the file had it; else it is withheld.
    pub value: Secret,
}

/// A mark for a secret, whose value is known or not.
pub(crate) fn mark(value: Option<&str>) -> Value {
    json!({MARK: value})
}

/// What a mark stands for.
pub(crate) struct Marked<'a> {
    /// The secret, if it is known.
    pub(crate) known: Option<&'a str>,
}

/// What a value stands for, if it is a mark.
pub(crate) fn marked(value: &Value) -> Option<Marked<'_>> {
    Some(Marked { known: value.as_object()?.get(MARK)?.as_str() })
}

/// Refuses a document of a file that contains a mark.
pub(crate) fn check_unmarked(value: &Value) -> Result<(), Unsayable> {
    match value {
        Value::Object(map) if map.keys().any(|name| name.starts_with(MARKS)) => {
            Err(Unsayable::new("the name of a property begins with the character NUL", "remove it"))
        }
        Value::Object(map) => map.values().try_for_each(check_unmarked),
        Value::Array(list) => list.iter().try_for_each(check_unmarked),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Puts marks in place of the secrets of a job's `action`, and of those that are missing.
pub(crate) fn mark_secrets(action: &mut Value) {
    if let Some(error_action) = action.get_mut("errorAction") {
        mark_action(error_action);
    }
    mark_action(action);
}

fn mark_action(action: &mut Value) {
    let kind = action.get("type").and_then(Value::as_str).unwrap_or_default();
    let Some(property) = Target::property_of_type(kind) else {
        return;
    };
    let Some(payload) = action.get_mut(property) else {
        return;
    };
    if Target::is_request(property) {
        if let Some(request) = payload.as_object_mut() {
            mark_request(request);
        }
        return;
    }
    for pointer in Target::secrets(property) {
        if let Some((parent, name)) = pointer.rsplit_once('/') {
            mark_property(payload.pointer_mut(parent).and_then(Value::as_object_mut), name);
        }
    }
}

fn mark_request(request: &mut Map<String, Value>) {
    if let Some(uri) = request.get_mut("uri")
        && let Some(text) = uri.as_str()
    {
        let credentials: Vec<&str> = query_credentials(text).collect();
        let is_known = !credentials.iter().any(|value| value.contains("withheld"));
        if !credentials.is_empty() {
            *uri = mark(is_known.then_some(text));
        }
    }
    if let Some(headers) = request.get_mut("headers").and_then(Value::as_object_mut) {
        for (_, value) in headers.iter_mut().filter(|(name, _)| is_credential_header(name)) {
            mark_value(value);
        }
    }
    let authentication = request.get_mut("authentication").and_then(Value::as_object_mut);
    let Some(authentication) = authentication else {
        return;
    };
    let kind = authentication.get("type").and_then(Value::as_str).unwrap_or_default();
    let secrets: &[&str] = match kind.to_ascii_lowercase().as_str() {
        "basic" => &["password"],
        "clientcertificate" => &["pfx", "password"],
        "activedirectoryoauth" => &["secret"],
        _ => &[],
    };
    for name in secrets {
        mark_property(Some(&mut *authentication), name);
    }
}

fn mark_property(parent: Option<&mut Map<String, Value>>, name: &str) {
    if let Some(parent) = parent {
        mark_value(parent.entry(name).or_insert(Value::Null));
    }
}

fn mark_value(value: &mut Value) {
    if marked(value).is_none() {
        *value = mark(value.as_str().filter(|text| *text != WITHHELD));
    }
}

/// Puts references in place of the marks in a document, and returns the secrets.
pub(crate) fn refer(
    document: &mut Value,
    job: &str,
    taken: &mut UniqueNames,
) -> Vec<SecretReference> {
    let mut secrets = Vec::new();
    walk(document, &mut String::new(), &mut |pointer, value| {
        let Some(Marked { known }) = marked(value) else {
            return;
        };
        let secret = known.map_or_else(Secret::withheld, Secret::new);
        let variable = taken.take(variable(job, pointer), '_');
        *value = json!({"$env": variable});
        secrets.push(SecretReference { pointer: pointer.to_owned(), variable, value: secret });
    });
    secrets
}

/// A document with the values that its marks stand for. One that is not known is a placeholder, which
/// is valid wherever a secret may stand.
pub(crate) fn with_placeholders(document: &Value) -> Value {
    let mut document = document.clone();
    walk(&mut document, &mut String::new(), &mut |pointer, value| {
        if let Some(Marked { known }) = marked(value) {
            let is_uri = pointer.ends_with("/uri");
            let unknown = if is_uri { "https://placeholder.invalid/" } else { "placeholder" };
            *value = known.unwrap_or(unknown).into();
        }
    });
    document
}

/// A document with its secrets, or the names of the variables that are missing.
pub(crate) fn filled<'a>(
    document: &Value,
    secrets: &'a [SecretReference],
    find: impl Fn(&str) -> Option<String>,
) -> Result<Value, Vec<&'a str>> {
    let mut document = document.clone();
    let mut missing = Vec::new();
    for secret in secrets {
        let known = secret.value.known().map(str::to_owned).or_else(|| find(&secret.variable));
        match (known, document.pointer_mut(&secret.pointer)) {
            (Some(known), Some(value)) => *value = known.into(),
            _ => missing.push(secret.variable.as_str()),
        }
    }
    if missing.is_empty() { Ok(document) } else { Err(missing) }
}

/// Visits every value that is not mark's, with its JSON pointer.
fn walk(value: &mut Value, pointer: &mut String, visit: &mut impl FnMut(&str, &mut Value)) {
    visit(pointer, value);
    let length = pointer.len();
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                walk(value, pointer, visit);
                pointer.truncate(length);
            }
        }
        Value::Array(list) => {
            for (n, value) in list.iter_mut().enumerate() {
                pointer.push('/');
                pointer.push_str(&n.to_string());
                walk(value, pointer, visit);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A name for the secret of a job at a pointer.
fn variable(job: &str, pointer: &str) -> String {
    let role = if pointer.contains("/errorAction/") { "_ERROR" } else { "" };
    let last = pointer.rsplit('/').next().unwrap_or_default();
    let name = format!("{job}{role}_{last}");
    let name = name.chars().take(VARIABLE_CHARS_MAX);
    let name = name.map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    PREFIX.chars().chain(name).collect()
}
