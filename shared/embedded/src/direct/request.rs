//! The requests, as the SDK writes them.
//!
//! A member that is not here makes a request unreadable, so that it is left to dynoxide.

use std::borrow::Cow;

use serde::Deserialize;

use super::NotPerformed;
use super::value::{Item, Members, Text};

/// The aliases of a request, and the names that they stand for.
pub(super) type Names<'a> = Members<'a, Text<'a>>;

/// A put, an update or a deletion, alone or in a transaction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct WriteRequest<'a> {
    #[serde(borrow)]
    pub(super) table_name: Cow<'a, str>,
    pub(super) item: Option<Item<'a>>,
    pub(super) key: Option<Item<'a>>,
    #[serde(borrow)]
    pub(super) update_expression: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) condition_expression: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) expression_attribute_names: Option<Names<'a>>,
    #[serde(borrow)]
    pub(super) expression_attribute_values: Option<Item<'a>>,
    pub(super) return_values: Option<ReturnValues>,
    pub(super) return_values_on_condition_check_failure: Option<ReturnOnFalse>,
}

/// What an update answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum ReturnValues {
    #[serde(rename = "NONE")]
    Nothing,
    #[serde(rename = "ALL_NEW")]
    Item,
}

/// What a write answers if its condition is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum ReturnOnFalse {
    #[serde(rename = "NONE")]
    Nothing,
    #[serde(rename = "ALL_OLD")]
    Item,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct TransactWriteRequest<'a> {
    #[serde(borrow)]
    pub(super) transact_items: Vec<TransactItem<'a>>,
    /// Not used: no request is repeated here.
    #[serde(rename = "ClientRequestToken")]
    pub(super) _token: Option<serde::de::IgnoredAny>,
}

/// One write of a transaction. It has exactly one member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct TransactItem<'a> {
    #[serde(borrow)]
    pub(super) put: Option<WriteRequest<'a>>,
    #[serde(borrow)]
    pub(super) update: Option<WriteRequest<'a>>,
    #[serde(borrow)]
    pub(super) delete: Option<WriteRequest<'a>>,
    #[serde(borrow)]
    pub(super) condition_check: Option<WriteRequest<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct GetRequest<'a> {
    #[serde(borrow)]
    pub(super) table_name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) key: Item<'a>,
    /// Not used: every read is consistent here.
    #[serde(rename = "ConsistentRead")]
    pub(super) _consistent: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct BatchGetRequest<'a> {
    #[serde(borrow)]
    pub(super) request_items: Members<'a, KeysOfTable<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct KeysOfTable<'a> {
    #[serde(borrow)]
    pub(super) keys: Vec<Item<'a>>,
    #[serde(rename = "ConsistentRead")]
    pub(super) _consistent: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub(super) struct QueryRequest<'a> {
    #[serde(borrow)]
    pub(super) table_name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) index_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) key_condition_expression: Text<'a>,
    #[serde(borrow)]
    pub(super) filter_expression: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) projection_expression: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) expression_attribute_names: Option<Names<'a>>,
    #[serde(borrow)]
    pub(super) expression_attribute_values: Option<Item<'a>>,
    #[serde(borrow)]
    pub(super) exclusive_start_key: Option<Item<'a>>,
    pub(super) limit: Option<usize>,
    pub(super) scan_index_forward: Option<bool>,
    pub(super) consistent_read: Option<bool>,
    pub(super) select: Option<Select>,
}

/// What a query answers, beside how many items it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Select {
    #[serde(rename = "COUNT")]
    Count,
}

/// Reads a request.
pub(super) fn read<'a, R: Deserialize<'a>>(body: &'a [u8]) -> Result<R, NotPerformed> {
    serde_json::from_slice(body).map_err(|_| NotPerformed::NotSupported)
}
