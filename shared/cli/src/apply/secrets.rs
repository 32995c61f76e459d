//! Secrets in the files of `apply`: references, never values.
//!
//! `{"$env": "NAME"}` is a variable of the environment, `{"$file": "path"}` the content of a file,
//! beside the file that names it. A reference may stand wherever a text may.

use std::path::Path;

use serde_json::{Map, Value};

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::input;
use crate::job::is_credential;
use crate::masked::{WITHHELD, is_secret};

/// A reference to a secret.
enum Reference<'a> {
    Env(&'a str),
    File(&'a str),
}

fn reference(value: &Value) -> Option<Reference<'_>> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    match (object.get("$env"), object.get("$file")) {
        (Some(name), _) => name.as_str().map(Reference::Env),
        (_, Some(path)) => path.as_str().map(Reference::File),
        _ => None,
    }
}

/// Whether a value is a reference.
pub(super) fn is_reference(value: &Value) -> bool {
    reference(value).is_some()
}

/// Refuses a secret that stands in the file itself.
pub(super) fn check(value: &Value, at: &str) -> Result<()> {
    match value {
        Value::Object(object) => {
            object.iter().try_for_each(|(name, value)| check_entry(name, value, at))
        }
        Value::Array(items) => items.iter().try_for_each(|item| check(item, at)),
        _ => Ok(()),
    }
}

fn check_entry(name: &str, value: &Value, at: &str) -> Result<()> {
    let is_in_headers = at.rsplit('.').next().is_some_and(|last| last == "headers");
    let here = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let holds_secret = is_secret(name) || (is_in_headers && is_credential(name));
    match value {
        Value::Array(items) if holds_secret => {
            items.iter().try_for_each(|item| check_entry(name, item, at))
        }
        Value::String(text) if holds_secret && text != WITHHELD => Err(Failure::refused(format!(
            "'{here}' is a secret, which does not belong into a file: write {{\"$env\": \"NAME\"}} \
             or {{\"$file\": \"path\"}}"
        ))),
        value => check(value, &here),
    }
}

/// The document with the secrets in place of their references.
pub(super) fn resolved(value: &Value, file: &Path, environment: &Environment) -> Result<Value> {
    if let Some(reference) = reference(value) {
        return read(&reference, file, environment).map(Value::String);
    }
    Ok(match value {
        Value::Object(object) => {
            let entries = object
                .iter()
                .map(|(name, value)| Ok((name.clone(), resolved(value, file, environment)?)));
            Value::Object(entries.collect::<Result<Map<_, _>>>()?)
        }
        Value::Array(items) => {
            items.iter().map(|item| resolved(item, file, environment)).collect::<Result<_>>()?
        }
        other => other.clone(),
    })
}

fn read(reference: &Reference<'_>, file: &Path, environment: &Environment) -> Result<String> {
    match reference {
        Reference::Env(name) => environment.set(name).ok_or_else(|| {
            Failure::refused(format!("the variable {name} is not set, which holds a secret"))
        }),
        Reference::File(path) => {
            let dir = file.parent().unwrap_or(Path::new(""));
            Ok(input::secret(&dir.join(path))?.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn environment() -> Environment {
        Environment {
            variable: |name| (name == "TOKEN").then(|| "s3cret".to_owned()),
            now: || chrono::DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn references_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("pw"), "hunter2\n").unwrap();
        let document = json!({"a": {"password": {"$file": "pw"}},
            "headers": {"Authorization": {"$env": "TOKEN"}}, "b": [1]});
        let file = dir.path().join("jobs.json");
        assert_eq!(
            resolved(&document, &file, &environment()).unwrap(),
            json!({"a": {"password": "hunter2"}, "headers": {"Authorization": "s3cret"}, "b": [1]})
        );
        let missing = resolved(&json!({"$env": "NONE"}), &file, &environment()).unwrap_err();
        assert!(missing.message.contains("the variable NONE is not set"), "{missing}");
    }

    #[test]
    fn a_secret_in_the_file_is_refused() {
        for (document, at) in [
            (
                json!({"action": {"authentication": {"password": "p"}}}),
                "action.authentication.password",
            ),
            (json!({"headers": {"X-Api-Key": "k"}}), "headers.X-Api-Key"),
            (json!({"sign": {"secrets": [{"$env": "A"}, "k"]}}), "sign.secrets"),
        ] {
            let message = check(&document, "").unwrap_err().message;
            assert!(message.contains(&format!("'{at}' is a secret")), "{message}");
        }
        let fine =
            json!({"password": {"$env": "A"}, "headers": {"Cookie": WITHHELD, "Accept": "x"}});
        assert_eq!(check(&fine, ""), Ok(()));
    }
}
