//! Items as JSON, in the notation of the service.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minutehand_ports::StoreError;
use serde::{Deserialize, Serialize};

use super::item::Item;

/// An item in the JSON of the service. The same item makes the same text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct JsonItem(BTreeMap<String, Attribute>);

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Attribute {
    S(String),
    N(String),
    B(String),
    Bool(bool),
    Null(bool),
    L(Vec<Attribute>),
    M(BTreeMap<String, Attribute>),
    Ss(Vec<String>),
    Ns(Vec<String>),
    Bs(Vec<String>),
}

impl JsonItem {
    /// Writes an item.
    ///
    /// # Errors
    ///
    /// If it has an attribute of a type that the service has got since.
    pub fn of(item: &HashMap<String, AttributeValue>) -> Result<Self, StoreError> {
        attributes(item).map(Self)
    }

    /// Reads the item.
    ///
    /// # Errors
    ///
    /// If bytes in it are damaged.
    pub fn item(&self) -> Result<HashMap<String, AttributeValue>, StoreError> {
        values(&self.0).map_err(|error| StoreError::Refused(Box::new(error)))
    }
}

fn attributes(item: &Item) -> Result<BTreeMap<String, Attribute>, StoreError> {
    item.iter().map(|(name, value)| Ok((name.clone(), Attribute::of(value)?))).collect()
}

fn values(attributes: &BTreeMap<String, Attribute>) -> Result<Item, base64::DecodeError> {
    attributes.iter().map(|(name, it)| Ok((name.clone(), it.value()?))).collect()
}

impl Attribute {
    fn of(value: &AttributeValue) -> Result<Self, StoreError> {
        let bytes = |blob: &Blob| STANDARD.encode(blob.as_ref());
        Ok(match value {
            AttributeValue::S(text) => Self::S(text.clone()),
            AttributeValue::N(number) => Self::N(number.clone()),
            AttributeValue::B(blob) => Self::B(bytes(blob)),
            AttributeValue::Bool(flag) => Self::Bool(*flag),
            AttributeValue::Null(flag) => Self::Null(*flag),
            AttributeValue::L(list) => {
                Self::L(list.iter().map(Self::of).collect::<Result<_, _>>()?)
            }
            AttributeValue::M(map) => Self::M(attributes(map)?),
            AttributeValue::Ss(texts) => Self::Ss(texts.clone()),
            AttributeValue::Ns(numbers) => Self::Ns(numbers.clone()),
            AttributeValue::Bs(list) => Self::Bs(list.iter().map(bytes).collect()),
            _ => return Err(StoreError::Refused("an attribute of an unknown type".into())),
        })
    }

    fn value(&self) -> Result<AttributeValue, base64::DecodeError> {
        let bytes = |text: &String| STANDARD.decode(text).map(Blob::new);
        Ok(match self {
            Self::S(text) => AttributeValue::S(text.clone()),
            Self::N(number) => AttributeValue::N(number.clone()),
            Self::B(text) => AttributeValue::B(bytes(text)?),
            Self::Bool(flag) => AttributeValue::Bool(*flag),
            Self::Null(flag) => AttributeValue::Null(*flag),
            Self::L(list) => {
                AttributeValue::L(list.iter().map(Self::value).collect::<Result<_, _>>()?)
            }
            Self::M(map) => AttributeValue::M(values(map)?),
            Self::Ss(texts) => AttributeValue::Ss(texts.clone()),
            Self::Ns(numbers) => AttributeValue::Ns(numbers.clone()),
            Self::Bs(list) => AttributeValue::Bs(list.iter().map(bytes).collect::<Result<_, _>>()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_reads_back_and_has_one_text() {
        let blob = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
        let list = AttributeValue::L(vec![AttributeValue::Bool(true), blob(b"\xff")]);
        let item: Item = [
            ("pk", AttributeValue::S("S#ä".to_owned())),
            ("n", AttributeValue::N("7".to_owned())),
            ("list", list.clone()),
            ("map", AttributeValue::M([("a".to_owned(), AttributeValue::Null(true))].into())),
            ("sets", AttributeValue::Bs(vec![Blob::new(b"x")])),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let text = serde_json::to_string(&JsonItem::of(&item).unwrap()).unwrap();
        assert_eq!(
            text,
            "{\"list\":{\"L\":[{\"BOOL\":true},{\"B\":\"/w==\"}]},\
             \"map\":{\"M\":{\"a\":{\"NULL\":true}}},\"n\":{\"N\":\"7\"},\
             \"pk\":{\"S\":\"S#ä\"},\"sets\":{\"BS\":[\"eA==\"]}}"
        );
        let read: JsonItem = serde_json::from_str(&text).unwrap();
        assert_eq!(read.item().unwrap(), item);
        let damaged: JsonItem = serde_json::from_str(r#"{"a":{"B":"?"}}"#).unwrap();
        assert!(damaged.item().is_err());
    }
}
