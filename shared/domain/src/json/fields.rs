//! Reading the properties of an object, with errors that name the property.

use std::fmt;

use chrono::{DateTime, Utc};
use minutehand_recurrence::{WrittenDate, meant, shortened};
use serde_json::{Map, Value};

use crate::duration::Span;
use crate::plan::Plan;
use crate::refusal::{Fix, Refusal};
use crate::secret::Secret;
use crate::template::sample;

/// The most characters of a value that a message repeats.
const GIVEN_CHARS_MAX: usize = 60;

/// Where a document comes from, which decides what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// From a client: the structure and all limits, some of which depend on the plan.
    Request(Plan),
    /// From the store, with its secrets: the structure alone. Limits were checked when the document
    /// was accepted, and a limit that is tightened later must not break it.
    Stored,
    /// From the store, without its secrets.
    StoredWithoutSecrets,
}

/// What is written in place of objects that are taken for single values.
const EXAMPLES: [(&str, &str); 8] = [
    ("overlap", r#"{"policy": "skip"}"#),
    ("catchUp", r#"{"policy": "last"}"#),
    ("jitter", r#"{"window": "00:10:00"}"#),
    ("exclude", r#"{"dates": ["2027-12-24"]}"#),
    ("pauseOnFailure", r#"{"after": 5}"#),
    ("retryPolicy", r#"{"retryType": "fixed", "retryCount": 3, "retryInterval": "00:01:00"}"#),
    ("recurrence", r#"{"frequency": "day", "interval": 1}"#),
    ("schedule", r#"{"hours": [9], "minutes": [30]}"#),
];

/// That a value has to be an object, with one if its name is known.
fn must_be_object(path: &str) -> String {
    let name = path.rsplit('.').next().unwrap_or_default();
    match EXAMPLES.iter().find(|(known, _)| *known == name) {
        Some((_, example)) => format!("must be a JSON object, such as {example}."),
        None => "must be a JSON object.".to_owned(),
    }
}

/// An object, the path at which it stands, and where it comes from.
pub(crate) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
    reading: Reading,
    has_templates: bool,
}

impl<'a> Fields<'a> {
    /// Takes a value that must be an object.
    pub(crate) fn new(
        path: impl Into<String>,
        value: &'a Value,
        reading: Reading,
    ) -> Result<Self, Refusal> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { path, map, reading, has_templates: false }),
            _ => Err(Refusal::about(&path, must_be_object(&path))),
        }
    }

    /// The same object with paths that begin here.
    pub(crate) fn at_root(self) -> Self {
        Self { path: String::new(), ..self }
    }

    /// The same object, with the limits of a plan if limits apply.
    pub(crate) fn in_plan(self, plan: Plan) -> Self {
        let reading = match self.reading {
            Reading::Request(_) => Reading::Request(plan),
            stored => stored,
        };
        Self { reading, ..self }
    }

    /// The same object, in whose texts templates may stand.
    pub(crate) fn with_templates(self, has_templates: bool) -> Self {
        Self { has_templates, ..self }
    }

    /// A text as JSON; `None` if it is none, or would be none with values in place of its names.
    pub(crate) fn json(&self, text: &str) -> Option<Value> {
        if self.has_templates { sample(text) } else { serde_json::from_str(text).ok() }
    }

    /// The object itself.
    pub(crate) const fn map(&self) -> &'a Map<String, Value> {
        self.map
    }

    /// Where it stands.
    pub(crate) fn place(&self) -> &str {
        &self.path
    }

    /// Where the document comes from.
    pub(crate) const fn reading(&self) -> Reading {
        self.reading
    }

    /// The plan whose limits apply; `None` for a stored document, which no limit applies to.
    pub(crate) const fn limiting_plan(&self) -> Option<Plan> {
        match self.reading {
            Reading::Request(plan) => Some(plan),
            Reading::Stored | Reading::StoredWithoutSecrets => None,
        }
    }

    /// The path of a property.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A property; `null` is absent.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Refusal> {
        let object =
            self.value(name).map(|value| Fields::new(self.path(name), value, self.reading));
        Ok(object.transpose()?.map(|object| object.with_templates(self.has_templates)))
    }

    /// What an object in it says.
    pub(crate) fn part<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Fields<'_>) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        self.object(name)?.map(|fields| read(&fields)).transpose()
    }

    pub(crate) fn required_object(&self, name: &str) -> Result<Fields<'a>, Refusal> {
        self.object(name)?.ok_or_else(|| self.missing(name, "it must be a JSON object"))
    }

    /// What `read` makes of a value; `allowed` says which values it reads.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        allowed: &str,
    ) -> Result<Option<T>, Refusal> {
        let read = |value| read(value).ok_or_else(|| self.wrong(name, allowed));
        self.value(name).map(read).transpose()
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.read(name, Value::as_str, "use a JSON string")
    }

    /// A text that must be present and not empty.
    pub(crate) fn required_text(&self, name: &str) -> Result<&'a str, Refusal> {
        self.text(name)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| self.missing(name, "it must be a string that is not empty"))
    }

    /// The same, as a value of its own.
    pub(crate) fn required_owned(&self, name: &str) -> Result<String, Refusal> {
        self.required_text(name).map(str::to_owned)
    }

    pub(crate) fn owned(&self, name: &str) -> Result<Option<String>, Refusal> {
        self.text(name).map(|text| text.map(str::to_owned))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        self.read(name, Value::as_bool, "use true or false")
    }

    /// A whole number. The bounds are limits, so they do not apply to a stored document.
    pub(crate) fn whole(&self, name: &str, min: u32, max: u32) -> Result<Option<u32>, Refusal> {
        let allowed = if self.limiting_plan().is_some() { min..=max } else { 0..=u32::MAX };
        self.value(name)
            .map(|value| {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                number.filter(|number| allowed.contains(number)).ok_or_else(|| {
                    self.wrong(name, &format!("use a whole number from {min} to {max}"))
                        .or(Fix::nearest_of(value, i64::from(min)..=i64::from(max)))
                })
            })
            .transpose()
    }

    pub(crate) fn span(&self, name: &str) -> Result<Option<Span>, Refusal> {
        let text = self.text(name)?;
        text.map(|text| {
            Span::read(text)
                .ok_or_else(|| self.wrong(name, "use a duration such as 00:01:00 or PT1M"))
        })
        .transpose()
    }

    /// A duration between two others, both included. The bounds are limits, so they do not apply to a
    /// stored document.
    pub(crate) fn bounded_span(
        &self,
        name: &str,
        [min, max]: [Span; 2],
    ) -> Result<Option<Span>, Refusal> {
        let span = self.span(name)?;
        let is_wrong = |span: &Span| *span < min || *span > max;
        match span {
            Some(span) if self.limiting_plan().is_some() && is_wrong(&span) => {
                Err(self.wrong_as(name, &span.to_string(), &format!("use {min} to {max}")))
            }
            _ => Ok(span),
        }
    }

    pub(crate) fn date(&self, name: &str) -> Result<Option<DateTime<Utc>>, Refusal> {
        let text = self.text(name)?;
        text.map(|text| {
            WrittenDate::parse(text)
                .and_then(|date| date.instant(None))
                .map_err(|error| self.wrong(name, &error.to_string()))
        })
        .transpose()
    }

    /// A property whose value is one of some names.
    pub(crate) fn one_of<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        names: &str,
    ) -> Result<Option<T>, Refusal> {
        let text = self.text(name)?;
        text.map(|text| {
            read(text).ok_or_else(|| {
                let meant = meant(text, names.split(", "));
                self.wrong(name, &format!("use one of {names}{meant}"))
                    .or(Fix::one_of(text, names.split(", ")))
            })
        })
        .transpose()
    }

    /// A text that is one of a few, and has to be there.
    pub(crate) fn required_one_of<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        names: &str,
    ) -> Result<T, Refusal> {
        let missing = || self.missing(name, &format!("use one of {names}"));
        self.one_of(name, read, names)?.ok_or_else(missing)
    }

    /// Texts under names that the user chose, in their order.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Refusal> {
        let Some(object) = self.object(name)? else {
            return Ok(None);
        };
        let pair = |(key, value): (&String, &Value)| {
            let text = value.as_str().ok_or_else(|| object.wrong(key, "use a JSON string"))?;
            Ok((key.clone(), text.to_owned()))
        };
        let pairs = object.map.iter().filter(|(_, value)| !value.is_null()).map(pair);
        pairs.collect::<Result<_, _>>().map(Some)
    }

    /// A secret that must be present and not empty. A message never repeats what was sent instead.
    pub(crate) fn required_secret(&self, name: &str) -> Result<Secret, Refusal> {
        if self.reading == Reading::StoredWithoutSecrets {
            return Ok(Secret::withheld());
        }
        let text = self.value(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(Secret::new).ok_or_else(|| {
            self.missing(name, "answers never contain it, so every PUT must send it as a string")
        })
    }

    /// A secret that is empty if it is absent.
    pub(crate) fn secret_or_empty(&self, name: &str) -> Result<Secret, Refusal> {
        if self.reading == Reading::StoredWithoutSecrets {
            return Ok(Secret::withheld());
        }
        let text = self.text(name).map_err(|_| self.missing(name, "it must be a string"))?;
        Ok(Secret::new(text.unwrap_or_default()))
    }

    /// A refusal of a property: what is wrong with it.
    pub(crate) fn about(&self, name: &str, problem: impl fmt::Display) -> Refusal {
        Refusal::about(self.path(name), problem)
    }

    pub(crate) fn missing(&self, name: &str, what: &str) -> Refusal {
        self.about(name, format!("is missing; {what}."))
    }

    /// A value that is not allowed. The message repeats it, so it must not be a secret.
    pub(crate) fn wrong(&self, name: &str, allowed: &str) -> Refusal {
        let given = self.value(name).map_or_else(String::new, ToString::to_string);
        self.wrong_as(name, &given, allowed)
    }

    /// The same, with another form of the value to repeat.
    pub(crate) fn wrong_as(&self, name: &str, given: &str, allowed: &str) -> Refusal {
        let short = shortened(given, GIVEN_CHARS_MAX);
        self.about(name, format!("is {short}; {allowed}."))
    }

    /// Checks the number of characters of a text.
    pub(crate) fn check_chars(&self, name: &str, text: &str, max: usize) -> Result<(), Refusal> {
        let chars = text.chars().count();
        if chars <= max {
            return Ok(());
        }
        Err(self.about(name, format!("has {chars} characters; at most {max} are allowed.")))
    }
}
