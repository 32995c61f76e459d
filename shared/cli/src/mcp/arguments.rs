//! The arguments of a tool, which are options of the command line in JSON.
//!
//! A tool is described to the assistant, and what the assistant sends is read, by the same clap
//! definitions that the commands have: one set of names, explanations, conflicts and limits.

use std::any::TypeId;

use clap::{Arg, ArgAction, Args, Command};
use minutehand_client::JobPath;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::merge::object;
use crate::work::Work;

/// Options that read a file of this machine, which an assistant could send anywhere, and options that take
/// a secret.
const HELD_BACK: [&str; 7] =
    ["header-file", "body-file", "password-file", "user", "sign", "alert", "alert-body"];

/// The arguments of a tool for one job.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// Name of the job: COLLECTION/JOB, or JOB in the collection of the context
    #[arg(long)]
    pub(super) name: String,
}

impl Named {
    pub(super) fn path(&self, work: &Work) -> Result<JobPath> {
        work.defaults().job(&self.name)
    }
}

/// An object of JSON as an argument.
#[derive(Debug, Clone)]
pub(super) struct Object(pub(super) Map<String, Value>);

impl std::str::FromStr for Object {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text).map(Self)
    }
}

/// The type of an argument in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
    Truth,
    /// A truth that an option has as its value.
    Choice,
    Texts,
    Object,
}

impl Kind {
    fn of(arg: &Arg) -> Self {
        let parsed = arg.get_value_parser().type_id();
        match arg.get_action() {
            ArgAction::SetTrue => Self::Truth,
            ArgAction::Append => Self::Texts,
            _ if parsed == TypeId::of::<u32>() => Self::Integer,
            _ if parsed == TypeId::of::<f64>() => Self::Number,
            _ if parsed == TypeId::of::<bool>() => Self::Choice,
            _ if parsed == TypeId::of::<Object>() => Self::Object,
            _ => Self::Text,
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Integer => json!({"type": "integer", "minimum": 0}),
            Self::Number => json!({"type": "number"}),
            Self::Truth | Self::Choice => json!({"type": "boolean"}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Object => json!({"type": "object"}),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Truth | Self::Choice => "true or false",
            Self::Texts => "an array of strings",
            Self::Object => "an object",
        }
    }

    /// The values of the option, each as text; `None` if the value has another type.
    fn values(self, value: &Value) -> Option<Vec<String>> {
        match (self, value) {
            (Self::Text, Value::String(text)) => Some(vec![text.clone()]),
            (Self::Integer | Self::Number, Value::Number(number)) => Some(vec![number.to_string()]),
            (Self::Choice, Value::Bool(truth)) => Some(vec![truth.to_string()]),
            (Self::Object, Value::Object(_)) => Some(vec![value.to_string()]),
            (Self::Texts, Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(ToOwned::to_owned)).collect()
            }
            _ => None,
        }
    }
}

/// The arguments of a command that a tool has, each with its name in JSON.
pub(super) fn offered(command: &Command) -> impl Iterator<Item = (String, &Arg)> {
    command.get_arguments().filter_map(|arg| {
        let long = arg.get_long().filter(|long| !HELD_BACK.contains(long))?;
        Some((long.replace('-', "_"), arg))
    })
}

/// The JSON schema of the arguments.
pub(super) fn schema(command: &Command) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, arg) in offered(command) {
        let mut schema = Kind::of(arg).schema();
        let choices: Vec<String> =
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if let Value::Object(schema) = &mut schema {
            schema.extend(
                arg.get_help().map(|help| ("description".to_owned(), help.to_string().into())),
            );
            if !choices.is_empty() && Kind::of(arg) == Kind::Text {
                schema.insert("enum".to_owned(), choices.into());
            }
        }
        if arg.is_required_set() {
            required.push(name.clone());
        }
        properties.insert(name, schema);
    }
    object([
        ("type", Some("object".into())),
        ("properties", Some(properties.into())),
        ("required", Some(required.into())),
        ("additionalProperties", Some(false.into())),
    ])
}

/// Refuses arguments that the tool does not have, and names those that it needs.
fn check(command: &Command, given: &Map<String, Value>) -> Result<()> {
    let tool = command.get_name();
    let names: Vec<String> = offered(command).map(|(name, _)| name).collect();
    if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Failure::refused(format!("{tool} has no argument '{unknown}'"))
            .hint(format!("its arguments: {known}")));
    }
    for (name, arg) in offered(command) {
        if arg.is_required_set() && given.get(&name).is_none_or(Value::is_null) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            return Err(Failure::refused(format!("{tool} needs the argument '{name}'")).hint(help));
        }
    }
    Ok(())
}

/// The words of the command line that call a tool with these arguments.
pub(super) fn words(command: &Command, given: &Map<String, Value>) -> Result<Vec<String>> {
    check(command, given)?;
    let mut words = vec![command.get_name().to_owned()];
    for (name, arg) in offered(command) {
        let long = arg.get_long().unwrap_or_default();
        match (given.get(&name), Kind::of(arg)) {
            (None | Some(Value::Null | Value::Bool(false)), Kind::Truth)
            | (None | Some(Value::Null), _) => {}
            (Some(Value::Bool(true)), Kind::Truth) => words.push(format!("--{long}")),
            (Some(value), kind) => {
                let values = kind.values(value).ok_or_else(|| {
                    Failure::refused(format!("'{name}' is {value}; use {}", kind.expected()))
                })?;
                words.extend(values.into_iter().map(|value| format!("--{long}={value}")));
            }
        }
    }
    Ok(words)
}
