//! An object that is written once and rendered for each reader.
//!
//! The readers are the store, which keeps secrets apart and sealed, and clients, which never see a
//! secret and disagree about the form of durations. The builder remembers which values are secrets
//! or durations, so that rendering needs no list of paths.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::duration::Span;
use crate::secret::Secret;

/// How durations are written: clients disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durations {
    /// `00:01:00`, as the original answered and as the store keeps it.
    TimeSpan,
    /// `PT1M`, as the original's specification says.
    Iso,
}

/// A document in two parts, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitDocument {
    /// The document without its secrets, as compact JSON.
    pub shown: String,
    /// The secrets alone, as a JSON merge patch of `shown`; `None` if there are none.
    pub secrets: Option<Secret>,
    /// The length of the whole document as compact JSON, without what the service found out itself.
    pub bytes: usize,
}

/// An object under construction: its properties have an order, and each has a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ObjectBuilder(Vec<(Cow<'static, str>, Node)>);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// The same for every reader.
    Plain(Value),
    /// Found out by the service, so it does not count as the user's.
    Found(Value),
    /// Kept in one form and answered in another.
    Differs {
        kept: Value,
        answered: Value,
    },
    Duration(Span),
    Secret(Secret),
    /// A value that is a secret or contains one, and what readers get instead.
    Withheld {
        whole: Value,
        shown: Value,
    },
    Object(ObjectBuilder),
}

impl ObjectBuilder {
    /// An object that was rendered before: the same for every reader.
    pub(crate) fn from_map(map: Map<String, Value>) -> Self {
        Self(map.into_iter().map(|(name, value)| (name.into(), Node::Plain(value))).collect())
    }

    /// Adds a property, if there is one.
    fn push(mut self, name: impl Into<Cow<'static, str>>, node: impl Into<Option<Node>>) -> Self {
        self.0.extend(node.into().map(|node| (name.into(), node)));
        self
    }

    pub(crate) fn set(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.push(name, Node::Plain(value.into()))
    }

    pub(crate) fn maybe(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        self.push(name, value.map(|value| Node::Plain(value.into())))
    }

    /// Sets a value that the service found out itself.
    pub(crate) fn found(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.push(name, Node::Found(value.into()))
    }

    /// Sets a value that the service found out itself, if there is one.
    pub(crate) fn maybe_found(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        self.push(name, value.map(|value| Node::Found(value.into())))
    }

    /// Sets a value that clients get in another form than the store.
    pub(crate) fn differs(self, name: &'static str, kept: Value, answered: Value) -> Self {
        self.push(name, Node::Differs { kept, answered })
    }

    pub(crate) fn duration(self, name: &'static str, span: Option<Span>) -> Self {
        self.push(name, span.map(Node::Duration))
    }

    pub(crate) fn secret(self, name: &'static str, secret: &Secret) -> Self {
        self.push(name, Node::Secret(secret.clone()))
    }

    /// Sets a value that may contain a secret, and what stands in its place in answers and in the
    /// part of the store that is not sealed.
    pub(crate) fn withheld(
        self,
        name: impl Into<Cow<'static, str>>,
        whole: impl Into<Value>,
        shown: impl Into<Value>,
    ) -> Self {
        let (whole, shown) = (whole.into(), shown.into());
        let is_secret = whole != shown;
        let node = if is_secret { Node::Withheld { whole, shown } } else { Node::Plain(whole) };
        self.push(name, node)
    }

    pub(crate) fn object(self, name: &'static str, object: Option<Self>) -> Self {
        self.push(name, object.map(Node::Object))
    }

    /// Sets an object whose names the user chose.
    pub(crate) fn texts(self, name: &'static str, pairs: Option<&[(String, String)]>) -> Self {
        let text = |(name, value): &(String, String)| (name.clone(), Value::from(value.as_str()));
        self.maybe(name, pairs.map(|pairs| pairs.iter().map(text).collect::<Value>()))
    }

    /// The object without a property of an inner object.
    pub(crate) fn without(mut self, name: &str, inner: &str) -> Self {
        for (known, node) in &mut self.0 {
            if let Node::Object(object) = node
                && known == name
            {
                object.0.retain(|(known, _)| known != inner);
            }
        }
        self
    }

    /// The object as a client reads it: without secrets.
    pub(crate) fn answer(&self, durations: Durations) -> Map<String, Value> {
        let rendered = |node: &Node| {
            Some(match node {
                Node::Plain(value) | Node::Found(value) => value.clone(),
                Node::Differs { answered, .. } => answered.clone(),
                Node::Withheld { shown, .. } => shown.clone(),
                Node::Duration(span) => match durations {
                    Durations::TimeSpan => span.to_string().into(),
                    Durations::Iso => span.iso().into(),
                },
                Node::Secret(_) => return None,
                Node::Object(object) => object.answer(durations).into(),
            })
        };
        let properties = self.0.iter();
        properties.filter_map(|(name, node)| Some((name.to_string(), rendered(node)?))).collect()
    }

    /// The object as the store keeps it.
    pub(crate) fn split(&self) -> SplitDocument {
        let mut halves = Halves::default();
        let (shown, secrets) = self.halves(&mut halves);
        let shown = Value::Object(shown).to_string();
        let bytes = (shown.len() + halves.secret_bytes).saturating_sub(halves.found_bytes);
        let secrets =
            (!secrets.is_empty()).then(|| Secret::new(Value::Object(secrets).to_string()));
        SplitDocument { shown, secrets, bytes }
    }

    fn halves(&self, bytes: &mut Halves) -> (Map<String, Value>, Map<String, Value>) {
        let (mut shown, mut secrets) = (Map::new(), Map::new());
        for (name, node) in &self.0 {
            let value = match node {
                Node::Plain(value) => value.clone(),
                Node::Found(value) => {
                    bytes.found_bytes += member_bytes(name, value);
                    value.clone()
                }
                Node::Differs { kept, .. } => kept.clone(),
                Node::Duration(span) => span.to_string().into(),
                Node::Secret(secret) => {
                    if let Some(text) = secret.known() {
                        let value = Value::from(text);
                        bytes.secret_bytes += member_bytes(name, &value);
                        secrets.insert(name.to_string(), value);
                    }
                    continue;
                }
                Node::Withheld { whole, shown } => {
                    bytes.secret_bytes += whole.to_string().len();
                    bytes.found_bytes += shown.to_string().len();
                    secrets.insert(name.to_string(), whole.clone());
                    shown.clone()
                }
                Node::Object(object) => {
                    let (inner, inner_secrets) = object.halves(bytes);
                    if !inner_secrets.is_empty() {
                        secrets.insert(name.to_string(), inner_secrets.into());
                    }
                    inner.into()
                }
            };
            shown.insert(name.to_string(), value);
        }
        (shown, secrets)
    }
}

/// The bytes by which the shown half differs from the document that counts as the user's.
#[derive(Default)]
struct Halves {
    secret_bytes: usize,
    found_bytes: usize,
}

/// The length of `,"name":value`: every object of ours has another property before or after it.
fn member_bytes(name: &str, value: &Value) -> usize {
    r#","":"#.len() + name.len() + value.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn example() -> ObjectBuilder {
        let inner = ObjectBuilder::default()
            .secret("key", &Secret::new("say \"please\""))
            .withheld("url", "/?key=1", "/?key=-")
            .withheld("other", "/", "/")
            .found("expires", "2027-01-01")
            .set("type", "Basic");
        ObjectBuilder::default()
            .set("a", 1)
            .maybe("b", None::<u32>)
            .object("c", Some(inner))
            .duration("wait", Some(Span::seconds(60)))
            .differs("d", json!([1]), json!([1, 1]))
    }

    #[test]
    fn an_answer_holds_no_secret_and_durations_as_the_client_reads_them() {
        for (durations, wait) in [(Durations::TimeSpan, "00:01:00"), (Durations::Iso, "PT1M")] {
            let answer = Value::Object(example().answer(durations)).to_string();
            let expected = format!(
                r#"{{"a":1,"c":{{"url":"/?key=-","other":"/","expires":"2027-01-01","type":"Basic"}},"wait":"{wait}","d":[1,1]}}"#
            );
            assert_eq!(answer, expected);
        }
    }

    #[test]
    fn the_store_keeps_secrets_apart() {
        let SplitDocument { shown, secrets, bytes } = example().split();
        assert_eq!(
            shown,
            r#"{"a":1,"c":{"url":"/?key=-","other":"/","expires":"2027-01-01","type":"Basic"},"wait":"00:01:00","d":[1]}"#
        );
        assert_eq!(secrets.unwrap().expose(), r#"{"c":{"key":"say \"please\"","url":"/?key=1"}}"#);
        let whole = r#"{"a":1,"c":{"key":"say \"please\"","url":"/?key=1","other":"/","type":"Basic"},"wait":"00:01:00","d":[1]}"#;
        assert_eq!(bytes, whole.len());
    }

    #[test]
    fn a_document_without_secrets_has_one_half() {
        let object =
            ObjectBuilder::default().secret("key", &Secret::withheld()).set("type", "Basic");
        let SplitDocument { shown, secrets, bytes } = object.split();
        assert_eq!((shown.as_str(), secrets, bytes), (r#"{"type":"Basic"}"#, None, shown.len()));
    }
}
