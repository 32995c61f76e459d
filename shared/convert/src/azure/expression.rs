//! Expressions of a template of the Resource Manager, such as `[concat(parameters('name'), '/nightly')]`.

use serde_json::{Map, Value, json};

use crate::ConvertOptions;
use crate::secrets::{self, Marked};
use crate::unsayable::{Unsayable, quoted};

/// How deep expressions may be nested, variables within variables included.
const DEPTH_MAX: usize = 32;

/// The most characters that an expression may yield.
const TEXT_CHARS_MAX: usize = 64 * 1_024;

/// A template, or none around a job that stands alone.
pub(super) struct Template<'a> {
    parameters: Option<&'a Map<String, Value>>,
    variables: Option<&'a Map<String, Value>>,
    options: &'a ConvertOptions,
    has_expressions: bool,
}

impl<'a> Template<'a> {
    pub(super) fn new(template: &'a Map<String, Value>, options: &'a ConvertOptions) -> Self {
        let part = |name: &str| template.get(name).and_then(Value::as_object);
        Self {
            parameters: part("parameters"),
            variables: part("variables"),
            options,
            has_expressions: true,
        }
    }

    /// No template: a job as the API answered it, in which brackets mean nothing.
    pub(super) const fn none(options: &'a ConvertOptions) -> Self {
        Self { parameters: None, variables: None, options, has_expressions: false }
    }

    /// A value with the results of its expressions.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, Unsayable> {
        if self.has_expressions { self.at_depth(value, 0) } else { Ok(value.clone()) }
    }

    fn at_depth(&self, value: &Value, depth: usize) -> Result<Value, Unsayable> {
        if depth > DEPTH_MAX {
            let why = format!("expressions are nested more than {DEPTH_MAX} deep");
            return Err(Unsayable::new(why, "write the value"));
        }
        match value {
            Value::Object(map) if secrets::marked(value).is_none() => {
                let resolved = map
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.at_depth(value, depth + 1)?)));
                Ok(Value::Object(resolved.collect::<Result<_, Unsayable>>()?))
            }
            Value::Array(list) => {
                list.iter().map(|value| self.at_depth(value, depth + 1)).collect()
            }
            Value::String(text) => self.text(text, depth),
            other => Ok(other.clone()),
        }
    }

    /// A text, or the result of the expression in it. A text that begins with `[[` is none.
    fn text(&self, text: &str, depth: usize) -> Result<Value, Unsayable> {
        let within = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Some(expression) = within else {
            return Ok(text.into());
        };
        if expression.starts_with('[') {
            return Ok(text.replacen("[[", "[", 1).into());
        }
        let mut reading = Reading { rest: expression, whole: expression };
        let value = reading.value(self, depth + 1)?;
        reading.skip_space();
        if reading.rest.is_empty() { Ok(value) } else { Err(reading.wrong()) }
    }

    fn call(&self, function: &str, arguments: &[Value], depth: usize) -> Result<Value, Unsayable> {
        match (function.to_ascii_lowercase().as_str(), arguments) {
            ("parameters", [Value::String(name)]) => self.parameter(name, depth),
            ("variables", [Value::String(name)]) => {
                let value = self.variables.and_then(|variables| variables.get(name));
                let value = value.ok_or_else(|| {
                    let why = format!("the template has no variable {}", quoted(name));
                    Unsayable::new(why, "add it, or correct its name")
                })?;
                self.at_depth(value, depth)
            }
            ("concat", parts) => joined(parts),
            ("string", [value]) => joined(std::slice::from_ref(value)),
            ("tolower", [Value::String(text)]) => Ok(text.to_lowercase().into()),
            ("toupper", [Value::String(text)]) => Ok(text.to_uppercase().into()),
            ("replace", [Value::String(text), Value::String(from), Value::String(to)]) => {
                bounded(text.replace(from.as_str(), to))
            }
            ("format", [Value::String(pattern), values @ ..]) => {
                let mut text = pattern.clone();
                for (n, value) in values.iter().enumerate() {
                    let value = joined(std::slice::from_ref(value))?;
                    text = text.replace(&format!("{{{n}}}"), value.as_str().unwrap_or_default());
                    bounded(text.clone())?;
                }
                Ok(text.into())
            }
            ("resourcegroup", []) => Ok(json!({"location": "any", "name": "any"})),
            _ => {
                let why = format!("the function {} is not read here", quoted(function));
                Err(Unsayable::new(why, "write the value in its place, or give it as a parameter"))
            }
        }
    }

    fn parameter(&self, name: &str, depth: usize) -> Result<Value, Unsayable> {
        let declared = self.parameters.and_then(|parameters| {
            let mut parameters = parameters.iter();
            parameters.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        });
        let kind = declared.and_then(|known| known.get("type")).and_then(Value::as_str);
        let is_secret = kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("secure"));
        let default = declared.and_then(|known| known.get("defaultValue"));
        let given = self.options.parameter(name);
        match given.or(default).filter(|value| !value.is_null()) {
            // A default may be an expression.
            Some(value) if given.is_none() => {
                let value = self.at_depth(value, depth)?;
                Ok(if is_secret { secrets::mark(value.as_str()) } else { value })
            }
            Some(value) if is_secret => Ok(secrets::mark(value.as_str())),
            Some(value) => Ok(value.clone()),
            None if is_secret => Ok(secrets::mark(None)),
            None => {
                let why = format!("the parameter {} has no value", quoted(name));
                Err(Unsayable::new(why, "give it with the file of parameters"))
            }
        }
    }
}

/// Texts and numbers one after the other. If one of them is a secret, so is the whole.
fn joined(parts: &[Value]) -> Result<Value, Unsayable> {
    let mut text = String::new();
    let (mut is_secret, mut is_known) = (false, true);
    for part in parts {
        match part {
            Value::String(part) => text.push_str(part),
            Value::Number(_) | Value::Bool(_) => text.push_str(&part.to_string()),
            _ => {
                let Some(Marked { known }) = secrets::marked(part) else {
                    let why = "a part of the text is not a string, a number or a boolean";
                    return Err(Unsayable::new(why, "write the value in its place"));
                };
                is_secret = true;
                is_known &= known.is_some();
                text.push_str(known.unwrap_or_default());
            }
        }
    }
    let text = bounded(text)?;
    Ok(if is_secret { secrets::mark(text.as_str().filter(|_| is_known)) } else { text })
}

fn bounded(text: String) -> Result<Value, Unsayable> {
    if text.len() <= TEXT_CHARS_MAX {
        return Ok(text.into());
    }
    let why = format!("an expression yields more than {TEXT_CHARS_MAX} characters");
    Err(Unsayable::new(why, "write the value in its place"))
}

/// An expression under way.
struct Reading<'a> {
    rest: &'a str,
    whole: &'a str,
}

impl Reading<'_> {
    /// Reads a text in quotation marks, a number, or a call with what follows it.
    fn value(&mut self, template: &Template<'_>, depth: usize) -> Result<Value, Unsayable> {
        if depth > DEPTH_MAX {
            return Err(self.wrong());
        }
        self.skip_space();
        if let Some(rest) = self.rest.strip_prefix('\'') {
            self.rest = rest;
            return self.quoted();
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if let Ok(number) = word.parse::<i64>() {
            self.rest = rest;
            return Ok(number.into());
        }
        self.rest = rest;
        if word.is_empty() || !self.take('(') {
            return Err(self.wrong());
        }
        let mut arguments = Vec::new();
        while !self.take(')') {
            if !arguments.is_empty() && !self.take(',') {
                return Err(self.wrong());
            }
            arguments.push(self.value(template, depth + 1)?);
        }
        let value = template.call(word, &arguments, depth)?;
        self.members(value)
    }

    /// Reads `.name` after a value.
    fn members(&mut self, mut value: Value) -> Result<Value, Unsayable> {
        while self.take('.') {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
            let (name, rest) = self.rest.split_at(end);
            self.rest = rest;
            value = value.get(name).cloned().ok_or_else(|| self.wrong())?;
        }
        Ok(value)
    }

    /// Reads up to the closing quotation mark; two of them are one in the text.
    fn quoted(&mut self) -> Result<Value, Unsayable> {
        let mut text = String::new();
        loop {
            let (before, rest) = self.rest.split_once('\'').ok_or_else(|| self.wrong())?;
            text.push_str(before);
            self.rest = rest;
            match rest.strip_prefix('\'') {
                Some(rest) => {
                    text.push('\'');
                    self.rest = rest;
                }
                None => return Ok(text.into()),
            }
        }
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn wrong(&self) -> Unsayable {
        let why = format!("the expression {} cannot be read", quoted(self.whole));
        Unsayable::new(why, "write the value in its place")
    }
}
