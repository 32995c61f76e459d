//! The tables of SQLite in which dynoxide keeps a table and its indexes.
//!
//! dynoxide has a row for each item, found by the key: `S:` and the text of an attribute, or `N:` and a
//! number in a form that sorts. The tests notice if another version of dynoxide does this differently.

use std::borrow::Cow;

use dynoxide::TableMetadata;
use dynoxide::types::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, KeyType, ProjectionType,
    ScalarAttributeType, normalize_number_for_sort,
};

use super::NotPerformed;
use super::value::{Item, Value};

/// The longest partition key and the longest sort key in bytes.
const KEY_BYTES_MAX: (usize, usize) = (2_048, 1_024);

/// A key as dynoxide stores it. Without a sort key, the second part is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StoredKey {
    pub(super) pk: String,
    pub(super) sk: String,
}

/// What is known of a table.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) key: KeyAttributes,
    pub(super) indexes: Vec<Index>,
    pub(super) select: String,
    pub(super) insert: String,
    pub(super) replace: String,
    pub(super) delete: String,
    /// The beginning of a query.
    pub(super) query: String,
}

/// The attributes of a key.
#[derive(Debug)]
pub(super) struct KeyAttributes {
    pub(super) hash: KeyAttribute,
    pub(super) range: Option<KeyAttribute>,
}

#[derive(Debug)]
pub(super) struct KeyAttribute {
    pub(super) name: String,
    is_number: bool,
    bytes_max: usize,
}

/// A global secondary index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) key: KeyAttributes,
    /// The attributes that an entry has; `None` for all.
    projected: Option<Vec<String>>,
    pub(super) insert: String,
    pub(super) delete: String,
    /// The beginning of a query.
    pub(super) query: String,
}

/// What an index has of an item.
#[derive(Debug)]
pub(super) struct Entry<'x> {
    pub(super) key: StoredKey,
    pub(super) item: Item<'x>,
}

impl Layout {
    /// Reads the layout of a table; `None` for a table of a kind that is left to dynoxide.
    pub(super) fn of(table: &TableMetadata) -> Option<Self> {
        let has_more = table.stream_enabled
            || table.lsi_definitions.is_some()
            || table.vector_index_definitions.is_some();
        if has_more {
            return None;
        }
        let types: Vec<AttributeDefinition> =
            serde_json::from_str(&table.attribute_definitions).ok()?;
        let schema: Vec<KeySchemaElement> = serde_json::from_str(&table.key_schema).ok()?;
        let key = KeyAttributes::of(&schema, &types)?;
        let indexes: Vec<GlobalSecondaryIndex> = match &table.gsi_definitions {
            Some(json) => serde_json::from_str(json).ok()?,
            None => Vec::new(),
        };
        let indexes = indexes.iter().map(|index| Index::of(&table.table_name, index, &key, &types));
        let name = quoted(&table.table_name);
        Some(Self {
            indexes: indexes.collect::<Option<_>>()?,
            key,
            select: format!("SELECT rowid, item_json FROM {name} WHERE pk = ?1 AND sk = ?2"),
            insert: format!(
                "INSERT INTO {name} (pk, sk, item_json, item_size, hash_prefix) \
                 VALUES (?1, ?2, ?3, ?4, ?5)"
            ),
            replace: format!("UPDATE {name} SET item_json = ?2, item_size = ?3 WHERE rowid = ?1"),
            delete: format!("DELETE FROM {name} WHERE rowid = ?1"),
            query: format!("SELECT item_json, item_size FROM {name} WHERE pk = ?1"),
        })
    }

    /// Returns whether the attribute is one of the key.
    pub(super) fn is_key(&self, name: &str) -> bool {
        self.key.has(name)
    }

    /// The key of an item.
    pub(super) fn key_of(&self, item: &Item<'_>) -> Result<StoredKey, NotPerformed> {
        self.key.stored_key_of(item)?.ok_or(NotPerformed::NotSupported)
    }

    /// Checks that a key has its attributes only.
    pub(super) fn exact_key(&self, key: &Item<'_>) -> Result<StoredKey, NotPerformed> {
        let n_attributes = 1 + usize::from(self.key.range.is_some());
        if key.0.len() == n_attributes { self.key_of(key) } else { Err(NotPerformed::NotSupported) }
    }
}

impl KeyAttributes {
    fn of(schema: &[KeySchemaElement], types: &[AttributeDefinition]) -> Option<Self> {
        let attribute = |element: &KeySchemaElement, bytes_max| {
            let name = element.attribute_name.clone();
            let defined = types.iter().find(|defined| defined.attribute_name == name)?;
            let is_number = match defined.attribute_type {
                ScalarAttributeType::S => false,
                ScalarAttributeType::N => true,
                ScalarAttributeType::B => return None,
            };
            Some(KeyAttribute { name, is_number, bytes_max })
        };
        let (hash_max, range_max) = KEY_BYTES_MAX;
        match schema {
            [hash] if hash.key_type == KeyType::HASH => {
                Some(Self { hash: attribute(hash, hash_max)?, range: None })
            }
            [hash, range] if hash.key_type == KeyType::HASH && range.key_type == KeyType::RANGE => {
                let range = Some(attribute(range, range_max)?);
                Some(Self { hash: attribute(hash, hash_max)?, range })
            }
            _ => None,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|it| it == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.hash).chain(&self.range).map(|attribute| attribute.name.as_str())
    }

    /// The key of an item; `None` if the item lacks an attribute of it.
    pub(super) fn stored_key_of(&self, item: &Item<'_>) -> Result<Option<StoredKey>, NotPerformed> {
        let part = |attribute: &KeyAttribute| {
            item.get(&attribute.name).map(|value| attribute.stored(value)).transpose()
        };
        let pk = part(&self.hash)?;
        let sk = match &self.range {
            Some(range) => part(range)?,
            None => Some(String::new()),
        };
        Ok(pk.zip(sk).map(|(pk, sk)| StoredKey { pk, sk }))
    }
}

impl KeyAttribute {
    /// The value as a part of a key.
    pub(super) fn stored(&self, value: &Value<'_>) -> Result<String, NotPerformed> {
        match value {
            Value::Text(text)
                if !self.is_number && !text.is_empty() && text.len() <= self.bytes_max =>
            {
                Ok(format!("S:{text}"))
            }
            Value::Number(digits) if self.is_number && value.as_integer().is_ok() => {
                Ok(format!("N:{}", normalize_number_for_sort(digits)))
            }
            _ => Err(NotPerformed::NotSupported),
        }
    }

    /// The text as the beginning of a part of a key.
    pub(super) fn stored_prefix(&self, value: &Value<'_>) -> Result<String, NotPerformed> {
        match value {
            Value::Text(_) => self.stored(value),
            _ => Err(NotPerformed::NotSupported),
        }
    }
}

impl Index {
    fn of(
        table: &str,
        index: &GlobalSecondaryIndex,
        table_key: &KeyAttributes,
        types: &[AttributeDefinition],
    ) -> Option<Self> {
        let key = KeyAttributes::of(&index.key_schema, types)?;
        let keys = || table_key.names().chain(key.names()).map(str::to_owned);
        let projected = match index.projection.projection_type.clone().unwrap_or_default() {
            ProjectionType::ALL => None,
            ProjectionType::KEYS_ONLY => Some(keys().collect()),
            ProjectionType::INCLUDE => {
                let more = index.projection.non_key_attributes.clone().unwrap_or_default();
                Some(keys().chain(more).collect())
            }
        };
        let name = quoted(&format!("{table}::gsi::{}", index.index_name));
        Some(Self {
            name: index.index_name.clone(),
            projected,
            key,
            insert: format!(
                "INSERT OR REPLACE INTO {name} (gsi_pk, gsi_sk, table_pk, table_sk, item_json) \
                 VALUES (?1, ?2, ?3, ?4, ?5)"
            ),
            delete: format!("DELETE FROM {name} WHERE table_pk = ?1 AND table_sk = ?2"),
            query: format!("SELECT item_json FROM {name} WHERE gsi_pk = ?1"),
        })
    }

    /// What the index has of an item; `None` if the item lacks an attribute of the index's key.
    pub(super) fn entry<'x>(&self, item: &Item<'x>) -> Result<Option<Entry<'x>>, NotPerformed> {
        let Some(key) = self.key.stored_key_of(item)? else { return Ok(None) };
        let is_projected = |name: &str| {
            self.projected.as_ref().is_none_or(|projected| projected.iter().any(|it| it == name))
        };
        let members = item.0.iter().filter(|(name, _)| is_projected(name)).cloned();
        Ok(Some(Entry { key, item: Item { 0: members.collect::<Vec<(Cow<'x, str>, _)>>() } }))
    }
}

impl Entry<'_> {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let Item { 0: members } = &self.item;
        self.key == other.key
            && members.len() == other.item.0.len()
            && members.iter().all(|(name, value)| other.item.get(name) == Some(value))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
