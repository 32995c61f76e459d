//! Writes of one item, each with its condition.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::item::{Item, ItemBuilder};
use super::keys::Key;

/// A write of one item, with its condition.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub(super) key: Key,
    pub(super) what: What,
    pub(super) condition: Option<String>,
    pub(super) names: HashMap<String, String>,
    pub(super) values: Item,
}

/// What a write does.
#[derive(Debug, Clone)]
pub(super) enum What {
    Put(Item),
    Update(String),
    Delete,
}

/// How a write ended.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// The item is written.
    Done,
    /// The condition failed. The item as it is, if it exists.
    ConditionFailed(Option<Item>),
}

impl Write {
    fn new(key: Key, what: What) -> Self {
        Self { key, what, condition: None, names: HashMap::new(), values: Item::new() }
    }

    /// Puts an item.
    pub(crate) fn put(key: Key, item: ItemBuilder) -> Self {
        Self::new(key, What::Put(item.done()))
    }

    /// Updates an item.
    pub(crate) fn update(key: Key, expression: impl Into<String>) -> Self {
        Self::new(key, What::Update(expression.into()))
    }

    /// Deletes an item.
    pub(crate) fn delete(key: Key) -> Self {
        Self::new(key, What::Delete)
    }

    /// Writes only when this condition holds.
    pub(crate) fn when(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// Gives the value that an expression names.
    pub(crate) fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }

    /// Gives the attribute for a placeholder, as expressions may not contain reserved words.
    pub(crate) fn naming(mut self, name: &str, attribute: &str) -> Self {
        self.names.insert(name.to_owned(), attribute.to_owned());
        self
    }
}
