//! Writes of one item, each with its condition.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::item::{Item, ItemBuilder, number};
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
    pub(crate) fn put(ItemBuilder { key, item }: ItemBuilder) -> Self {
        Self::new(key, What::Put(item))
    }

    /// Updates an item.
    pub(crate) fn update(key: Key, expression: impl Into<String>) -> Self {
        Self::new(key, What::Update(expression.into()))
    }

    /// Updates an item. Beside what the expression sets, it sets each of these attributes that has a value,
    /// and removes the others.
    pub(crate) fn update_with(
        key: Key,
        expression: &str,
        attributes: impl IntoIterator<Item = (&'static str, Option<AttributeValue>)>,
    ) -> Self {
        let (mut set, mut remove) = (expression.to_owned(), String::new());
        let mut values = Item::new();
        for (name, value) in attributes {
            if let Some(value) = value {
                set.extend([", ", name, " = :", name]);
                values.insert(format!(":{name}"), value);
            } else {
                remove.extend([if remove.is_empty() { " REMOVE " } else { ", " }, name]);
            }
        }
        Self { values, ..Self::update(key, set + &remove) }
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

    /// Writes only when a number is the one that was read; 0 stands for an item that does not exist.
    pub(crate) fn when_as_read(self, name: &str, as_read: u64) -> Self {
        if as_read == 0 {
            return self.when("attribute_not_exists(pk)");
        }
        self.when(format!("{name} = :as_read")).with(":as_read", number(as_read))
    }

    /// Gives the value that an expression names.
    pub(crate) fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }

    /// Gives a value that an expression may name.
    pub(crate) fn maybe(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Gives the attribute for a placeholder, as expressions may not contain reserved words.
    pub(crate) fn naming(mut self, name: &str, attribute: &str) -> Self {
        self.names.insert(name.to_owned(), attribute.to_owned());
        self
    }
}
