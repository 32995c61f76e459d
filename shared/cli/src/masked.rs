//! Documents without their secrets.

use serde_json::{Map, Value};

use crate::job::is_credential;

/// What stands for a secret, as in answers of the server.
pub(crate) const WITHHELD: &str = "(withheld)";

/// The secrets that answers leave out, by the `type` of the authentication that has them.
pub(crate) const SECRETS_OF_TYPE: [(&str, &[&str]); 3] = [
    ("basic", &["password"]),
    ("clientcertificate", &["pfx", "password"]),
    ("activedirectoryoauth", &["secret"]),
];
/// The other properties that hold secrets.
const OTHER_SECRETS: [&str; 3] = ["secrets", "sasToken", "sasKey"];

/// Whether a property of this name holds a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let of_type = SECRETS_OF_TYPE.iter().flat_map(|(_, secrets)| *secrets);
    of_type.chain(&OTHER_SECRETS).any(|secret| secret.eq_ignore_ascii_case(name))
}

/// A document with a word in place of each secret.
pub(crate) fn masked(document: &Value) -> Value {
    match document {
        Value::Object(object) => Value::Object(object.iter().map(masked_entry).collect()),
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

fn masked_entry((name, value): (&String, &Value)) -> (String, Value) {
    let shown = if is_secret(name) {
        match value {
            Value::Array(secrets) => secrets.iter().map(|_| Value::from(WITHHELD)).collect(),
            _ => WITHHELD.into(),
        }
    } else if name.eq_ignore_ascii_case("headers") {
        masked_headers(value)
    } else {
        masked(value)
    };
    (name.clone(), shown)
}

fn masked_headers(headers: &Value) -> Value {
    let Value::Object(headers) = headers else {
        return headers.clone();
    };
    let shown = headers.iter().map(|(name, value)| {
        let value = if is_credential(name) { WITHHELD.into() } else { value.clone() };
        (name.clone(), value)
    });
    Value::Object(shown.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let document = json!({"a": [{"password": "p", "Pfx": "x", "username": "u"}],
            "sasKey": "k", "sasKeyName": "n", "sign": {"secrets": ["a", "b"]}, "headers": {"Authorization": "s", "X-Api-Key": "s", "Accept": "*/*"}});
        assert_eq!(
            masked(&document),
            json!({"a": [{"password": WITHHELD, "Pfx": WITHHELD, "username": "u"}],
                "sasKey": WITHHELD, "sasKeyName": "n", "sign": {"secrets": [WITHHELD, WITHHELD]},
                "headers": {"Authorization": WITHHELD, "X-Api-Key": WITHHELD, "Accept": "*/*"}})
        );
    }
}
