//! Reads the template as JSON, with the short forms of functions (`!Ref`, `!GetAtt a.b`) in their long
//! form.

use std::collections::BTreeSet;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

const TEMPLATE: &str = include_str!("../../../infra/template.yaml");

pub(crate) struct Template(Value);

impl Template {
    pub(crate) fn read() -> Self {
        let documents = Yaml::load_from_str(TEMPLATE).expect("infra/template.yaml is YAML");
        let [document] = documents.as_slice() else {
            panic!("infra/template.yaml is one document")
        };
        Self(json_of(document))
    }

    /// The properties of a resource.
    pub(crate) fn properties(&self, name: &str) -> &Value {
        let properties = &self.0["Resources"][name]["Properties"];
        assert!(properties.is_object(), "the template has no resource {name}");
        properties
    }

    /// The properties of all resources of a type.
    pub(super) fn resources(&self, kind: &str) -> Vec<&Value> {
        let all = self.0["Resources"].as_object().expect("there are resources").values();
        all.filter(|it| it["Type"] == kind).map(|it| &it["Properties"]).collect()
    }

    /// The metrics that an alarm watches.
    pub(super) fn alarm_metrics(&self, name: &str) -> Vec<&Value> {
        let alarm = self.properties(name);
        let Some(parts) = alarm["Metrics"].as_array() else { return vec![alarm] };
        let metrics = parts.iter().map(|part| &part["MetricStat"]["Metric"]);
        metrics.filter(|metric| !metric.is_null()).collect()
    }

    /// A resource with its policies.
    pub(super) fn resource(&self, name: &str) -> &Value {
        &self.0["Resources"][name]
    }

    /// The names of all resources of a type.
    pub(super) fn resource_names(&self, kind: &str) -> BTreeSet<&str> {
        let all = self.0["Resources"].as_object().expect("there are resources").iter();
        all.filter(|(_, it)| it["Type"] == kind).map(|(name, _)| name.as_str()).collect()
    }

    /// The names of all resources.
    pub(super) fn all_resource_names(&self) -> BTreeSet<&str> {
        let all = self.0["Resources"].as_object().expect("there are resources");
        all.keys().map(String::as_str).collect()
    }

    /// The definition of a parameter.
    pub(super) fn parameter(&self, name: &str) -> &Value {
        &self.0["Parameters"][name]
    }

    /// The names of all parameters.
    pub(super) fn parameter_names(&self) -> BTreeSet<&str> {
        let all = self.0["Parameters"].as_object().expect("there are parameters");
        all.keys().map(String::as_str).collect()
    }

    /// What the template says about itself.
    pub(super) fn metadata(&self) -> &Value {
        &self.0["Metadata"]
    }

    /// The definition of a rule.
    pub(super) fn rule(&self, name: &str) -> &Value {
        &self.0["Rules"][name]
    }

    /// The global properties for all resources of a kind.
    pub(super) fn globals(&self, kind: &str) -> &Value {
        &self.0["Globals"][kind]
    }

    /// A table of values.
    pub(super) fn mapping(&self, name: &str) -> &Value {
        &self.0["Mappings"][name]
    }

    /// The definition of a condition.
    pub(super) fn condition(&self, name: &str) -> &Value {
        &self.0["Conditions"][name]
    }

    /// A number in the properties of a resource, by its JSON pointer, such as `/Environment/Timeout`.
    pub(super) fn number(&self, name: &str, pointer: &str) -> i64 {
        let found = self.properties(name).pointer(pointer).and_then(Value::as_i64);
        found.unwrap_or_else(|| panic!("{name} has no number at {pointer}"))
    }
}

fn json_of(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => json!(value),
        Yaml::Value(Scalar::Integer(value)) => json!(value),
        Yaml::Value(Scalar::FloatingPoint(value)) => json!(value.into_inner()),
        Yaml::Value(Scalar::String(value)) => json!(value),
        Yaml::Sequence(items) => items.iter().map(json_of).collect(),
        Yaml::Mapping(pairs) => {
            let pair =
                |(key, value)| (json_of(key).as_str().expect("a key").to_owned(), json_of(value));
            Value::Object(pairs.iter().map(pair).collect())
        }
        Yaml::Tagged(tag, node) => function(&tag.suffix, json_of(node)),
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => {
            panic!("{node:?} does not belong into a template")
        }
    }
}

/// The long form of a template function.
fn function(name: &str, argument: Value) -> Value {
    let (name, argument) = match (name, argument) {
        ("Ref" | "Condition", argument) => (name.to_owned(), argument),
        ("GetAtt", Value::String(path)) => {
            let (of, attribute) = path.split_once('.').expect("!GetAtt names an attribute");
            ("Fn::GetAtt".to_owned(), json!([of, attribute]))
        }
        (name, argument) => (format!("Fn::{name}"), argument),
    };
    Value::Object(Map::from_iter([(name, argument)]))
}

#[test]
fn short_forms_of_functions_become_long_forms() {
    let text = "a: !Ref X\nb: !GetAtt T.Arn\nc: !If [Y, !Sub 'q${X}', 1]\nd: yes\ne: \"on\"";
    let documents = Yaml::load_from_str(text).unwrap();
    let expected = json!({
        "a": {"Ref": "X"},
        "b": {"Fn::GetAtt": ["T", "Arn"]},
        "c": {"Fn::If": ["Y", {"Fn::Sub": "q${X}"}, 1]},
        "d": "yes",
        "e": "on",
    });
    assert_eq!(json_of(&documents[0]), expected);
}
