//! What Lambda hands over: a batch of the table's stream, or the request of an operator.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// An event: a batch, a request to write a day again from the table, or one to sort what is over.
#[derive(Debug, Deserialize)]
pub struct Event {
    /// The changes of a batch, in the order of the stream.
    #[serde(rename = "Records")]
    pub(crate) records: Option<Vec<StreamRecord>>,
    /// The day to write again, as `2026-11-21`.
    pub(crate) repair: Option<String>,
    /// Whether the days that are over are to be sorted.
    #[serde(default)]
    pub(crate) sort: bool,
    /// Where the answer to the last request ended.
    pub(crate) from: Option<String>,
}

/// A change of an item.
#[derive(Debug, Deserialize)]
pub struct StreamRecord {
    #[serde(rename = "dynamodb")]
    change: Change,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    sequence_number: String,
    /// None of a removal.
    #[serde(default)]
    new_image: Option<HashMap<String, Attribute>>,
}

/// An attribute, in the JSON of the service.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Attribute {
    S(String),
    N(String),
    B(String),
    Bool(bool),
    Null(bool),
    L(Vec<Attribute>),
    M(HashMap<String, Attribute>),
    Ss(Vec<String>),
    Ns(Vec<String>),
    Bs(Vec<String>),
}

impl StreamRecord {
    /// Its place in the stream.
    #[must_use]
    pub fn sequence_number(&self) -> &str {
        &self.change.sequence_number
    }

    /// The item as it is now; `None` if it was removed.
    ///
    /// # Errors
    ///
    /// If bytes in it are damaged.
    pub(crate) fn item(
        &self,
    ) -> Result<Option<HashMap<String, AttributeValue>>, base64::DecodeError> {
        self.change.new_image.as_ref().map(values).transpose()
    }

    /// The item as JSON, to be set aside.
    pub(crate) fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&self.change.new_image)
    }
}

fn values(
    attributes: &HashMap<String, Attribute>,
) -> Result<HashMap<String, AttributeValue>, base64::DecodeError> {
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
