//! Answers, as text and as values.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A value, and the text of the answer that it was read from.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// The value.
    pub value: T,
    /// The document as the server sent it.
    pub text: String,
    /// The version of what was read, for `If-Match`.
    pub etag: Option<String>,
}

/// An item of a list, and its own part of the answer.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// The value.
    pub value: T,
    /// The item as JSON, with everything that the server sent.
    pub text: String,
}

/// A page of a list of Azure's API.
#[derive(Deserialize)]
struct Page {
    value: Vec<Value>,
    #[serde(rename = "nextLink")]
    next: Option<String>,
}

/// Reads a page: its items, and the link to the next page.
pub(crate) fn page<T: DeserializeOwned>(
    text: &str,
) -> serde_json::Result<(Vec<Listed<T>>, Option<String>)> {
    let Page { value, next } = serde_json::from_str(text)?;
    let items = value.into_iter().map(|item| {
        let text = item.to_string();
        Ok(Listed { value: serde_json::from_value(item)?, text })
    });
    Ok((items.collect::<serde_json::Result<_>>()?, next))
}
