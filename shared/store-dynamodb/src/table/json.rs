//! Items in the JSON of the service, as events of the table's stream have them.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minutehand_ports::StoreError;
use serde::{Deserialize, Serialize};

use super::item::Item;

/// An item in the JSON of the service.
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
    /// Reads the item.
    ///
    /// # Errors
    ///
    /// If bytes in it are damaged.
    pub fn item(&self) -> Result<HashMap<String, AttributeValue>, StoreError> {
        values(&self.0).map_err(|error| StoreError::Refused(Box::new(error)))
    }
}

fn values(attributes: &BTreeMap<String, Attribute>) -> Result<Item, base64::DecodeError> {
    attributes.iter().map(|(name, it)| Ok((name.clone(), it.value()?))).collect()
}

impl Attribute {
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
    fn an_item_is_read() {
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
        let text = r#"{"list":{"L":[{"BOOL":true},{"B":"/w=="}]},"map":{"M":{"a":{"NULL":true}}},
            "n":{"N":"7"},"pk":{"S":"S#ä"},"sets":{"BS":["eA=="]}}"#;
        let read: JsonItem = serde_json::from_str(text).unwrap();
        assert_eq!(read.item().unwrap(), item);
        let damaged: JsonItem = serde_json::from_str(r#"{"a":{"B":"?"}}"#).unwrap();
        assert!(damaged.item().is_err());
    }
}
