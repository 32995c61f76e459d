//! Reads of items by their keys.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::layout::{Layout, StoredKey};
use super::request::{BatchGetRequest, GetRequest};
use super::{Direct, NotPerformed, Tables};

/// The most keys of a request.
const KEYS_MAX: usize = 100;
/// The largest answer that is made here; dynoxide knows DynamoDB's limit of 16 MB.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Reads an item.
pub(super) fn get(
    direct: &Direct,
    tables: &Tables<'_>,
    request: &GetRequest<'_>,
) -> Result<Vec<u8>, NotPerformed> {
    let layout = direct.layout(tables, &request.table_name)?;
    let key = layout.exact_key(&request.key)?;
    let mut answer = String::from("{");
    if let Some(item) = find(tables.connection(), &layout, &key)? {
        answer.push_str("\"Item\":");
        answer.push_str(&item);
    }
    answer.push('}');
    Ok(answer.into_bytes())
}

/// Reads items of one table.
pub(super) fn batch(
    direct: &Direct,
    tables: &Tables<'_>,
    request: &BatchGetRequest<'_>,
) -> Result<Vec<u8>, NotPerformed> {
    let [(table, keys)] = request.request_items.0.as_slice() else {
        return Err(NotPerformed::NotSupported);
    };
    let layout = direct.layout(tables, table)?;
    if keys.keys.is_empty() || keys.keys.len() > KEYS_MAX {
        return Err(NotPerformed::NotSupported);
    }
    let read: Result<Vec<_>, _> = keys.keys.iter().map(|key| layout.exact_key(key)).collect();
    let read = read?;
    if read.iter().collect::<HashSet<_>>().len() < read.len() {
        return Err(NotPerformed::NotSupported);
    }
    let name = serde_json::to_string(table).map_err(|_| NotPerformed::NotSupported)?;
    let mut answer = format!("{{\"Responses\":{{{name}:[");
    let mut is_first = true;
    for key in &read {
        let Some(item) = find(tables.connection(), &layout, key)? else { continue };
        if !is_first {
            answer.push(',');
        }
        is_first = false;
        answer.push_str(&item);
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(NotPerformed::NotSupported);
        }
    }
    answer.push_str("]},\"UnprocessedKeys\":{}}");
    Ok(answer.into_bytes())
}

fn find(
    connection: &Connection,
    layout: &Layout,
    key: &StoredKey,
) -> Result<Option<String>, NotPerformed> {
    let mut select = connection.prepare_cached(&layout.select)?;
    Ok(select.query_row(params![key.pk, key.sk], |row| row.get(1)).optional()?)
}
