//! Reading and writing the attributes of items. An error names the item that cannot be read.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::tick;
use minutehand_ports::StoreError;
use minutehand_ports::store::ResourceGroup;
use minutehand_recurrence::{WrittenDate, format_instant};

use super::keys::Key;

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Builds an item.
pub(crate) struct ItemBuilder {
    pub(super) key: Key,
    pub(crate) item: Item,
}

impl ItemBuilder {
    pub(crate) fn at(at: Key) -> Self {
        Self { item: key(at.clone()), key: at }
    }

    pub(crate) fn text(self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, text(value))
    }

    pub(crate) fn number(self, name: &str, value: impl ToString) -> Self {
        self.set(name, number(value))
    }

    pub(crate) fn date(self, name: &str, value: DateTime<Utc>) -> Self {
        self.set(name, date(value))
    }

    pub(crate) fn set(mut self, name: &str, value: AttributeValue) -> Self {
        self.item.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn maybe(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

#[expect(clippy::needless_pass_by_value, reason = "numbers are copied")]
pub(crate) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn bytes(value: &[u8]) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

/// A list of texts.
pub(crate) fn texts<T: Display>(values: &[T]) -> AttributeValue {
    AttributeValue::L(values.iter().map(|value| text(value.to_string())).collect())
}

/// A date as readable text.
pub(crate) fn date(value: DateTime<Utc>) -> AttributeValue {
    text(format_instant(value))
}

/// A date as a number that an index can sort, in half the bytes: ticks of 100 ns since 1970.
pub(crate) fn ticks(value: DateTime<Utc>) -> AttributeValue {
    number(tick::ticks(value))
}

/// The key of an item as the SDK has it.
pub(crate) fn key(Key { pk, sk }: Key) -> Item {
    Item::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
}

/// Reads the attributes of an item.
pub(crate) struct Reader<'a> {
    item: &'a Item,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(item: &'a Item) -> Self {
        Self { item }
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, StoreError> {
        self.optional_text(name)?.ok_or_else(|| self.corrupt(name, "it is missing"))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, StoreError> {
        let text = |value: &'a AttributeValue| value.as_s().ok().map(String::as_str);
        self.optional(name, text, "it is not a text")
    }

    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<T, StoreError> {
        self.optional_number(name)?.ok_or_else(|| self.corrupt(name, "it is missing"))
    }

    pub(crate) fn optional_number<T: FromStr>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let number = |value: &AttributeValue| value.as_n().ok()?.parse().ok();
        self.optional(name, number, "it is not a number that fits")
    }

    /// Whether a flag is set. A flag that is absent is not.
    pub(crate) fn is_set(&self, name: &str) -> Result<bool, StoreError> {
        let flag = |value: &AttributeValue| value.as_bool().ok().copied();
        Ok(self.optional(name, flag, "it is not a flag")?.unwrap_or(false))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a AttributeValue> {
        self.item.get(name)
    }

    pub(crate) fn date(&self, name: &str) -> Result<DateTime<Utc>, StoreError> {
        let date = WrittenDate::parse(self.text(name)?).and_then(|date| date.instant(None));
        date.map_err(|_| self.corrupt(name, "it is not a date"))
    }

    pub(crate) fn optional_date(&self, name: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.item.get(name).map(|_| self.date(name)).transpose()
    }

    pub(crate) fn ticks(&self, name: &str) -> Result<DateTime<Utc>, StoreError> {
        self.optional_ticks(name)?.ok_or_else(|| self.corrupt(name, "it is missing"))
    }

    pub(crate) fn optional_ticks(&self, name: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        let instant = |value: &AttributeValue| tick::from_ticks(value.as_n().ok()?.parse().ok()?);
        self.optional(name, instant, "it is not an instant")
    }

    /// An instant that is stored as a second.
    pub(crate) fn second(&self, name: &str) -> Result<DateTime<Utc>, StoreError> {
        let second = DateTime::from_timestamp(self.number(name)?, 0);
        second.ok_or_else(|| self.corrupt(name, "it is not an instant"))
    }

    pub(crate) fn name(&self, name: &str) -> Result<Name, StoreError> {
        Name::new(self.text(name)?).map_err(|error| self.corrupt(name, &error.message))
    }

    pub(crate) fn segment(&self, name: &str) -> Result<PathSegment, StoreError> {
        PathSegment::new(self.text(name)?).map_err(|error| self.corrupt(name, &error.message))
    }

    pub(crate) fn resource_group(&self) -> Result<ResourceGroup, StoreError> {
        let (subscription, group) = (self.segment("subscription")?, self.segment("group")?);
        Ok(ResourceGroup { subscription, group })
    }

    pub(crate) fn optional_bytes(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = |value: &AttributeValue| value.as_b().ok().map(|blob| blob.as_ref().to_vec());
        self.optional(name, bytes, "it is not bytes")
    }

    /// Reads a list of texts; an absent one is empty.
    pub(crate) fn texts<T: FromStr>(&self, name: &str) -> Result<Vec<T>, StoreError> {
        let read = |value: &AttributeValue| value.as_s().ok()?.parse().ok();
        let list = |value: &AttributeValue| value.as_l().ok()?.iter().map(read).collect();
        Ok(self.optional(name, list, "it is not a list of such texts")?.unwrap_or_default())
    }

    /// Reads an attribute that may be absent. An attribute of another type is an error.
    fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a AttributeValue) -> Option<T>,
        wrong: &str,
    ) -> Result<Option<T>, StoreError> {
        let Some(value) = self.item.get(name) else {
            return Ok(None);
        };
        read(value).map(Some).ok_or_else(|| self.corrupt(name, wrong))
    }

    pub(crate) fn corrupt(&self, name: &str, what: &str) -> StoreError {
        let part = |name| {
            let text = self.item.get(name).and_then(|value| value.as_s().ok());
            text.map_or("?", String::as_str)
        };
        StoreError::Corrupt {
            key: format!("{} / {}", part("pk"), part("sk")),
            what: format!("{name}: {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_of_another_type_is_an_error_and_not_absent() {
        let key = Key { pk: "p".to_owned(), sk: "s".to_owned() };
        let item = ItemBuilder::at(key).number("wrong", 1).text("text", "t").item;
        let reader = Reader::new(&item);
        assert!(matches!(reader.optional_text("absent"), Ok(None)));
        assert!(matches!(reader.optional_bytes("absent"), Ok(None)));
        for error in [
            reader.optional_text("wrong").unwrap_err(),
            reader.date("wrong").unwrap_err(),
            reader.optional_bytes("wrong").unwrap_err(),
        ] {
            let message = error.to_string();
            assert!(message.starts_with("item p / s is corrupt: wrong: it is not "), "{message}");
        }
        assert!(reader.optional_ticks("text").is_err());
    }
}
