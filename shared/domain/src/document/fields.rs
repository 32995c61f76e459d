//! Reading the properties of an object, with errors that name the property.

use chrono::{DateTime, Utc};
use recurrence::WrittenDate;
use serde_json::{Map, Value};

use crate::duration::Span;
use crate::refusal::Refusal;

/// The longest piece of a value that a message repeats.
const GIVEN_CHARS_MAX: usize = 60;

/// An object and where it stands.
pub(super) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Takes a value that has to be an object.
    pub(super) fn of(path: impl Into<String>, value: &'a Value) -> Result<Self, Refusal> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            _ => Err(Refusal::invalid(format!("'{path}' has to be a JSON object."))),
        }
    }

    /// The same, with paths that begin here.
    pub(super) fn at_root(self) -> Self {
        Self { path: String::new(), ..self }
    }

    /// The path of a property.
    pub(super) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A property; `null` is absent.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Refusal> {
        self.value(name).map(|value| Fields::of(self.path(name), value)).transpose()
    }

    pub(super) fn required_object(&self, name: &str) -> Result<Fields<'a>, Refusal> {
        self.object(name)?.ok_or_else(|| self.missing(name, "it has to be a JSON object"))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.value(name)
            .map(|value| {
                value.as_str().ok_or_else(|| self.wrong(name, "use text in quotation marks"))
            })
            .transpose()
    }

    /// A text that has to be there and to say something.
    pub(super) fn required_text(&self, name: &str) -> Result<&'a str, Refusal> {
        self.text(name)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| self.missing(name, "it has to be text, and not empty"))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        self.value(name)
            .map(|value| value.as_bool().ok_or_else(|| self.wrong(name, "use true or false")))
            .transpose()
    }

    /// A whole number from 0, or from 1, to a bound.
    pub(super) fn whole(&self, name: &str, min: u32, max: u32) -> Result<Option<u32>, Refusal> {
        self.value(name)
            .map(|value| {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
                    self.wrong(name, &format!("use a whole number from {min} to {max}"))
                })
            })
            .transpose()
    }

    pub(super) fn span(&self, name: &str) -> Result<Option<Span>, Refusal> {
        let text = self.text(name)?;
        text.map(|text| {
            Span::read(text)
                .ok_or_else(|| self.wrong(name, "use a duration such as 00:01:00 or PT1M"))
        })
        .transpose()
    }

    pub(super) fn date(&self, name: &str) -> Result<Option<DateTime<Utc>>, Refusal> {
        let text = self.text(name)?;
        text.map(|text| {
            WrittenDate::parse(text)
                .and_then(|date| date.instant(None))
                .map_err(|error| self.wrong(name, &error.to_string()))
        })
        .transpose()
    }

    /// A property that is one of some names.
    pub(super) fn one_of<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        names: &str,
    ) -> Result<Option<T>, Refusal> {
        let text = self.text(name)?;
        text.map(|text| read(text).ok_or_else(|| self.wrong(name, &format!("use one of {names}"))))
            .transpose()
    }

    /// Texts under names that the user chose, in their order.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Refusal> {
        let Some(object) = self.object(name)? else {
            return Ok(None);
        };
        let pair = |(key, value): (&String, &Value)| {
            let text =
                value.as_str().ok_or_else(|| object.wrong(key, "use text in quotation marks"))?;
            Ok((key.clone(), text.to_owned()))
        };
        object
            .map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(pair)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(super) fn missing(&self, name: &str, what: &str) -> Refusal {
        Refusal::invalid(format!("'{}' is missing; {what}.", self.path(name)))
    }

    /// A value that is not allowed; it is repeated, so it must not be a secret.
    pub(super) fn wrong(&self, name: &str, allowed: &str) -> Refusal {
        let given = self.value(name).map_or_else(String::new, ToString::to_string);
        let mut short: String = given.chars().take(GIVEN_CHARS_MAX).collect();
        if short.len() < given.len() {
            short.push('…');
        }
        Refusal::invalid(format!("'{}' is {short}; {allowed}.", self.path(name)))
    }

    /// A secret that has to be there. What was sent instead is not repeated.
    pub(super) fn required_secret(&self, name: &str) -> Result<crate::secret::Secret, Refusal> {
        let text = self.value(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(crate::secret::Secret::new).ok_or_else(|| {
            self.missing(name, "it is never answered, and has to be sent, as text, with every PUT")
        })
    }
}
