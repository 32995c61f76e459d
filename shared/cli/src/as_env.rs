//! `export --secrets-as-env`: references to variables in place of the secrets that no server answers.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::masked::{SECRETS_OF_TYPE, WITHHELD};

/// The names of the variables of a file.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    pub(crate) names: BTreeSet<String>,
}

impl Variables {
    /// Puts references into a document. The variables are named after `of`: a collection, and a job.
    pub(crate) fn put_into(&mut self, of: &[&str], document: &mut Map<String, Value>) {
        add_missing(document);
        for (name, value) in document {
            let is_part = name.eq_ignore_ascii_case("errorAction");
            let mut below = of.to_vec();
            if is_part {
                below.push("error_action");
            }
            self.put(&below, name, value);
        }
    }

    fn put(&mut self, of: &[&str], name: &str, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(WITHHELD) => *value = self.reference(of, name),
            Value::Array(items) => items.iter_mut().for_each(|item| self.put(of, name, item)),
            Value::Object(object) => {
                if name == "queueMessage" {
                    object.entry("sasToken").or_insert_with(|| WITHHELD.into());
                }
                self.put_into(of, object);
            }
            _ => {}
        }
    }

    fn reference(&mut self, of: &[&str], name: &str) -> Value {
        let words = of.iter().chain([&name]).map(|word| variable(word));
        let wanted = words.collect::<Vec<_>>().join("_");
        let mut free = wanted.clone();
        // Bounded by the names that are taken.
        for n in 2..self.names.len() + 3 {
            if !self.names.contains(&free) {
                break;
            }
            free = format!("{wanted}_{n}");
        }
        self.names.insert(free.clone());
        json!({"$env": free})
    }
}

/// Adds the secrets that the authentication of an action has and an answer leaves out.
fn add_missing(object: &mut Map<String, Value>) {
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let of_type =
        SECRETS_OF_TYPE.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, all)| *all);
    let of_key: &[&str] = if object.contains_key("sasKeyName") { &["sasKey"] } else { &[] };
    for name in of_type.iter().chain(of_key) {
        object.entry(*name).or_insert_with(|| WITHHELD.into());
    }
}

/// A word as a part of the name of a variable: `sasToken` is `SAS_TOKEN`.
fn variable(word: &str) -> String {
    let mut name = String::new();
    let mut was_lower = false;
    for c in word.chars() {
        if c.is_ascii_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        name.push(if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_withheld_and_what_is_left_out_become_references() {
        let mut job = json!({
            "minutehand": {"sign": {"secrets": ["(withheld)", "(withheld)"]}},
            "action": {"type": "Https",
                "request": {"uri": "https://a/?sig=(withheld)", "headers": {"X-Api-Key": "(withheld)", "Accept": "*/*"},
                    "authentication": {"type": "Basic", "username": "u"}},
                "errorAction": {"type": "StorageQueue", "queueMessage": {"queueName": "q"}}},
        });
        let mut variables = Variables::default();
        variables.put_into(&["my-shop", "export"], job.as_object_mut().unwrap());
        let env = |name: &str| json!({"$env": name});
        assert_eq!(
            job,
            json!({
                "minutehand": {"sign": {"secrets":
                    [env("MY_SHOP_EXPORT_SECRETS"), env("MY_SHOP_EXPORT_SECRETS_2")]}},
                "action": {"type": "Https",
                    "request": {"uri": env("MY_SHOP_EXPORT_URI"),
                        "headers": {"X-Api-Key": env("MY_SHOP_EXPORT_X_API_KEY"), "Accept": "*/*"},
                        "authentication": {"type": "Basic", "username": "u",
                            "password": env("MY_SHOP_EXPORT_PASSWORD")}},
                    "errorAction": {"type": "StorageQueue", "queueMessage": {"queueName": "q",
                        "sasToken": env("MY_SHOP_EXPORT_ERROR_ACTION_SAS_TOKEN")}}},
            })
        );
        assert_eq!(variables.names.len(), 6);
    }

    #[test]
    fn every_kind_of_authentication_gets_its_secrets() {
        for (authentication, names) in [
            (json!({"type": "ClientCertificate"}), vec!["C_J_PASSWORD", "C_J_PFX"]),
            (json!({"type": "ActiveDirectoryOAuth"}), vec!["C_J_SECRET"]),
            (json!({"sasKeyName": "k"}), vec!["C_J_SAS_KEY"]),
            (json!({"type": "Other"}), vec![]),
        ] {
            let mut job = json!({ "authentication": authentication });
            let mut variables = Variables::default();
            variables.put_into(&["c", "j"], job.as_object_mut().unwrap());
            assert_eq!(variables.names.into_iter().collect::<Vec<_>>(), names);
        }
    }
}
