//! Reading and writing the attributes of items; what cannot be read names the item.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::tick;
use ports::StoreError;
use recurrence::{WrittenDate, written};

use crate::keys::Key;

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// An item that grows.
#[derive(Default)]
pub(crate) struct Growing(Item);

impl Growing {
    pub(crate) fn at(key: Key) -> Self {
        Self::default().text("pk", key.pk).text("sk", key.sk)
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
        self.0.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn maybe(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    pub(crate) fn done(self) -> Item {
        self.0
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

/// A date as people read it.
pub(crate) fn date(value: DateTime<Utc>) -> AttributeValue {
    text(written(value))
}

/// A date as an index sorts it: ticks of 100 ns since 1970.
pub(crate) fn ticks(value: DateTime<Utc>) -> AttributeValue {
    number(tick::ticks(value))
}

/// The key of an item as a request has it.
pub(crate) fn key(key: Key) -> Item {
    Growing::at(key).done()
}

/// An item that is being read.
pub(crate) struct Reader<'a> {
    item: &'a Item,
}

impl<'a> Reader<'a> {
    pub(crate) fn of(item: &'a Item) -> Self {
        Self { item }
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, StoreError> {
        self.optional_text(name).ok_or_else(|| self.corrupt(name, "it is missing, or no text"))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Option<&'a str> {
        self.item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str)
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, StoreError> {
        let value = self.item.get(name).and_then(|value| value.as_n().ok());
        value
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| self.corrupt(name, "it is missing, or no number that fits"))
    }

    pub(crate) fn optional_number<T: std::str::FromStr>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        if self.item.contains_key(name) { self.number(name).map(Some) } else { Ok(None) }
    }

    /// Whether a mark is there.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.item.get(name) == Some(&AttributeValue::Bool(true))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a AttributeValue> {
        self.item.get(name)
    }

    pub(crate) fn date(&self, name: &str) -> Result<DateTime<Utc>, StoreError> {
        self.optional_date(name)?.ok_or_else(|| self.corrupt(name, "it is missing"))
    }

    pub(crate) fn optional_date(&self, name: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        let read = |text| WrittenDate::parse(text).and_then(|date| date.instant(None));
        self.optional_text(name)
            .map(read)
            .transpose()
            .map_err(|_| self.corrupt(name, "it is no date"))
    }

    pub(crate) fn optional_ticks(&self, name: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        let Some(ticks) = self.optional_number(name)? else {
            return Ok(None);
        };
        tick::from_ticks(ticks).map(Some).ok_or_else(|| self.corrupt(name, "it is no instant"))
    }

    pub(crate) fn optional_bytes(&self, name: &str) -> Option<Vec<u8>> {
        let value = self.item.get(name).and_then(|value| value.as_b().ok());
        value.map(|blob| blob.as_ref().to_vec())
    }

    pub(crate) fn corrupt(&self, name: &str, what: &str) -> StoreError {
        let part = |name| self.optional_text(name).unwrap_or("?");
        StoreError::Corrupt {
            key: format!("{} / {}", part("pk"), part("sk")),
            what: format!("{name}: {what}"),
        }
    }
}
