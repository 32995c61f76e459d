//! What would make a property right that was refused, as changes of the body that was sent.

use minutehand_domain::refusal::Fix;
use serde_json::{Value, json};

/// The fixes of a property, each with a label for a button and a JSON patch of the body. Values that were sent are
/// not repeated: they may be secrets.
pub(crate) fn fixes(all: &[Fix], target: Option<&str>, body: &Value) -> Vec<Value> {
    let Some(target) = target else { return Vec::new() };
    let path = spelled(target, body);
    all.iter().map(|fix| fix_of(fix, &path)).collect()
}

fn fix_of(fix: &Fix, path: &[String]) -> Value {
    let at = pointer(path);
    let (label, change) = match fix {
        Fix::Use(value) => {
            let says = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            (format!("Use {says}"), json!({"op": "add", "path": at, "value": value}))
        }
        Fix::Rename(name) => {
            let mut to = path.to_vec();
            to.pop();
            to.push(name.clone());
            let change = json!({"op": "move", "from": at, "path": pointer(&to)});
            (format!("Use {name}"), change)
        }
        Fix::LeaveOut => ("Leave it out".to_owned(), json!({"op": "remove", "path": at})),
    };
    json!({"label": label, "patch": [change]})
}

/// The names of a path as a body spells them: they are read in any case.
fn spelled(target: &str, body: &Value) -> Vec<String> {
    let mut within = Some(body);
    let spell = |name: &str| {
        let known = within.and_then(Value::as_object).into_iter().flat_map(|it| it.iter());
        let found = known.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        within = match (&found, within) {
            (Some((_, value)), _) => Some(value),
            (None, Some(Value::Array(items))) => {
                name.parse().ok().and_then(|n: usize| items.get(n))
            }
            (None, _) => None,
        };
        found.map_or(name, |(known, _)| known).to_owned()
    };
    target.split('.').map(spell).collect()
}

/// A path as a JSON pointer.
fn pointer(path: &[String]) -> String {
    let names =
        path.iter().flat_map(|name| ["/".to_owned(), name.replace('~', "~0").replace('/', "~1")]);
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_is_a_patch_of_what_was_sent() {
        let body =
            json!({"Properties": {"recurrence": {"TIMEZONE": "berlin", "a/b~": [1, {"X": 2}]}}});
        let zone = "properties.recurrence.timeZone";
        for (target, fix, expected) in [
            (
                zone,
                Fix::Use("Europe/Berlin".into()),
                json!({"label": "Use Europe/Berlin", "patch": [{"op": "add",
                    "path": "/Properties/recurrence/TIMEZONE", "value": "Europe/Berlin"}]}),
            ),
            (
                "properties.recurence",
                Fix::Rename("recurrence".to_owned()),
                json!({"label": "Use recurrence", "patch": [{"op": "move",
                    "from": "/Properties/recurence", "path": "/Properties/recurrence"}]}),
            ),
            (
                "properties.recurrence.a/b~.1.x",
                Fix::LeaveOut,
                json!({"label": "Leave it out", "patch": [{"op": "remove",
                    "path": "/Properties/recurrence/a~1b~0/1/X"}]}),
            ),
            (
                "interval",
                Fix::Use(1.into()),
                json!({"label": "Use 1", "patch": [{"op": "add", "path": "/interval", "value": 1}]}),
            ),
        ] {
            assert_eq!(fixes(&[fix], Some(target), &body), [expected], "{target}");
        }
        assert!(fixes(&[Fix::LeaveOut], None, &body).is_empty());
    }
}
