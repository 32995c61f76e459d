//! Items and their values, borrowed from the JSON of a request or of a stored item.
//!
//! Sets cannot be read: a request or an item that has one is left to dynoxide.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use dynoxide::types::number_size;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::NotPerformed;

/// The most digits of a number in DynamoDB.
const DIGITS_MAX: usize = 38;
/// How deep lists and maps are nested at most. DynamoDB's limit is 32.
const DEPTH_MAX: usize = 16;

/// A text that is borrowed if its JSON has no escapes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The members of a JSON object, in its order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members<'a, V>(pub(super) Vec<(Cow<'a, str>, V)>);

/// The attributes of an item, a key, or an expression's values.
pub(super) type Item<'a> = Members<'a, Value<'a>>;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Number(Cow<'a, str>),
    /// Bytes in base64.
    Bytes(Cow<'a, str>),
    Flag(bool),
    Null,
    List(Vec<Value<'a>>),
    Map(Item<'a>),
}

impl<V> Members<'_, V> {
    pub(super) fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value)
    }
}

impl<'a> Item<'a> {
    /// Reads the item from its JSON.
    pub(super) fn read(json: &'a str) -> Result<Self, NotPerformed> {
        serde_json::from_str(json).map_err(|_| NotPerformed::NotSupported)
    }

    /// Writes the item as JSON.
    pub(super) fn json(&self) -> Result<String, NotPerformed> {
        serde_json::to_string(self).map_err(|_| NotPerformed::NotSupported)
    }

    pub(super) fn set(&mut self, name: &str, value: Value<'a>) {
        match self.0.iter_mut().find(|(it, _)| it == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((Cow::Owned(name.to_owned()), value)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(it, _)| it != name);
    }

    /// The size of the item as DynamoDB counts it.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.size()).sum()
    }

    /// Returns whether dynoxide would store the values as they are.
    pub(super) fn is_stored_unchanged(&self) -> bool {
        self.is_stored_unchanged_at(0)
    }

    fn is_stored_unchanged_at(&self, depth: usize) -> bool {
        self.0.iter().all(|(name, value)| !name.is_empty() && value.is_stored_unchanged(depth))
    }
}

impl Value<'_> {
    fn is_stored_unchanged(&self, depth: usize) -> bool {
        match self {
            Self::Text(_) | Self::Flag(_) | Self::Null => true,
            Self::Number(digits) => is_integer(digits),
            Self::Bytes(base64) => is_base64(base64),
            Self::List(values) => {
                depth < DEPTH_MAX && values.iter().all(|value| value.is_stored_unchanged(depth + 1))
            }
            Self::Map(item) => depth < DEPTH_MAX && item.is_stored_unchanged_at(depth + 1),
        }
    }

    /// The size of the value as DynamoDB counts it.
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(digits) => size_of_number(digits),
            Self::Bytes(base64) => base64.trim_end_matches('=').len() * 3 / 4,
            Self::Flag(_) | Self::Null => 1,
            Self::List(values) => 3 + values.iter().map(|value| 1 + value.size()).sum::<usize>(),
            Self::Map(Members(members)) => {
                let member = |(name, value): &(Cow<'_, str>, Self)| name.len() + 1 + value.size();
                3 + members.iter().map(member).sum::<usize>()
            }
        }
    }

    /// The number, if it is a whole one.
    pub(super) fn as_integer(&self) -> Result<i128, NotPerformed> {
        match self {
            Self::Number(digits) => integer(digits).ok_or(NotPerformed::NotSupported),
            _ => Err(NotPerformed::NotSupported),
        }
    }

    /// Returns whether the values are equal.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, NotPerformed> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) | (Self::Bytes(a), Self::Bytes(b)) => Ok(a == b),
            (Self::Number(a), Self::Number(b)) if a == b => Ok(true),
            (Self::Number(_), Self::Number(_)) => Ok(self.as_integer()? == other.as_integer()?),
            (Self::Flag(a), Self::Flag(b)) => Ok(a == b),
            (Self::Null, Self::Null) => Ok(true),
            (Self::List(_) | Self::Map(_), _) | (_, Self::List(_) | Self::Map(_)) => {
                Err(NotPerformed::NotSupported)
            }
            _ => Ok(false),
        }
    }

    /// Compares two texts or two numbers. Values of two types have no order.
    pub(super) fn order(&self, other: &Self) -> Result<Option<Ordering>, NotPerformed> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Ok(Some(a.cmp(b))),
            (Self::Number(_), Self::Number(_)) => {
                Ok(Some(self.as_integer()?.cmp(&other.as_integer()?)))
            }
            (Self::Text(_), Self::Number(_)) | (Self::Number(_), Self::Text(_)) => Ok(None),
            _ => Err(NotPerformed::NotSupported),
        }
    }
}

/// Returns whether these are the digits of a whole number, as DynamoDB answers them.
fn is_integer(digits: &str) -> bool {
    let positive = digits.strip_prefix('-').unwrap_or(digits);
    match positive.as_bytes() {
        [b'0'] => digits == "0",
        [b'1'..=b'9', rest @ ..] => rest.len() < DIGITS_MAX && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn integer(digits: &str) -> Option<i128> {
    is_integer(digits).then(|| digits.parse().ok()).flatten()
}

/// The size of a number: a byte, one more for two significant digits each, and one for the sign.
fn size_of_number(digits: &str) -> usize {
    if !is_integer(digits) {
        return number_size(digits);
    }
    let positive = digits.trim_start_matches('-');
    let significant = positive.trim_end_matches('0').len();
    1 + significant.div_ceil(2) + (digits.len() - positive.len())
}

/// The number as a value, if DynamoDB can store it.
pub(super) fn number<'a>(number: i128) -> Result<Value<'a>, NotPerformed> {
    let digits = number.to_string();
    integer(&digits).map(|_| Value::Number(Cow::Owned(digits))).ok_or(NotPerformed::NotSupported)
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Members<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<'a, V>(PhantomData<(&'a (), V)>);

        impl<'de: 'a, 'a, V: Deserialize<'de>> Visitor<'de> for Object<'a, V> {
            type Value = Members<'a, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Text(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Typed<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Typed<'a> {
            type Value = Value<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a type and a value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let kind = map.next_key::<Text<'de>>()?;
                let value = match kind.as_ref().map(|Text(kind)| kind.as_ref()) {
                    Some("S") => Value::Text(map.next_value::<Text<'de>>()?.0),
                    Some("N") => Value::Number(map.next_value::<Text<'de>>()?.0),
                    Some("B") => Value::Bytes(map.next_value::<Text<'de>>()?.0),
                    Some("BOOL") => Value::Flag(map.next_value()?),
                    Some("NULL") if map.next_value()? => Value::Null,
                    Some("L") => Value::List(map.next_value()?),
                    Some("M") => Value::Map(map.next_value()?),
                    _ => return Err(A::Error::custom("a type that dynoxide reads")),
                };
                match map.next_key::<Text<'de>>()? {
                    None => Ok(value),
                    Some(_) => Err(A::Error::custom("a value of two types")),
                }
            }
        }

        deserializer.deserialize_map(Typed(PhantomData))
    }
}

impl<V: Serialize> Serialize for Members<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Text(text) => map.serialize_entry("S", text)?,
            Self::Number(digits) => map.serialize_entry("N", digits)?,
            Self::Bytes(base64) => map.serialize_entry("B", base64)?,
            Self::Flag(flag) => map.serialize_entry("BOOL", flag)?,
            Self::Null => map.serialize_entry("NULL", &true)?,
            Self::List(values) => map.serialize_entry("L", values)?,
            Self::Map(item) => map.serialize_entry("M", item)?,
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Option<Value<'_>> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn values_are_read_and_written_as_they_are() {
        for json in [
            r#"{"S":"a \"text\" with \u0001"}"#,
            r#"{"N":"-12"}"#,
            r#"{"B":"AAE="}"#,
            r#"{"BOOL":false}"#,
            r#"{"NULL":true}"#,
            r#"{"L":[{"S":""},{"M":{"a":{"N":"0"}}}]}"#,
        ] {
            let value = value(json).unwrap();
            assert!(value.is_stored_unchanged(0), "{json}");
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
        }
    }

    #[test]
    fn what_is_left_to_dynoxide_is_not_read() {
        for json in [r#"{"SS":["a"]}"#, r#"{"NULL":false}"#, r#"{"S":"a","N":"1"}"#, "{}", "1"] {
            assert_eq!(value(json), None, "{json}");
        }
    }

    #[test]
    fn numbers_that_dynoxide_would_write_differently_are_not_stored_unchanged() {
        let most = "9".repeat(DIGITS_MAX);
        for (digits, expected) in [
            ("0", true),
            ("-1", true),
            (most.as_str(), true),
            ("-0", false),
            ("01", false),
            ("1.5", false),
            ("1e3", false),
            ("+1", false),
            (&format!("{most}0"), false),
            ("", false),
        ] {
            let value = Value::Number(digits.into());
            assert_eq!(value.is_stored_unchanged(0), expected, "{digits}");
        }
    }

    #[test]
    fn sizes_are_those_of_dynoxide() {
        for json in [
            r#"{"a":{"S":"hé"},"b":{"N":"1200"},"c":{"N":"-7"},"d":{"N":"0"}}"#,
            r#"{"a":{"B":""},"b":{"B":"AA=="},"c":{"B":"AAE="},"d":{"B":"AAEC"},"e":{"B":"AAECAw=="}}"#,
            r#"{"a":{"L":[{"N":"1"},{"S":"x"}]},"b":{"M":{"n":{"BOOL":true}}},"c":{"NULL":true}}"#,
        ] {
            let theirs: dynoxide::types::Item = serde_json::from_str(json).unwrap();
            let ours = Item::read(json).unwrap_or_else(|_| panic!("{json}"));
            assert_eq!(ours.size(), dynoxide::types::item_size(&theirs), "{json}");
        }
    }
}
