//! Writes, alone and in transactions.
//!
//! All of a request is read and decided before the first row is changed, so that a request that is left
//! to dynoxide, or whose condition is false, has changed nothing.

use std::collections::HashSet;
use std::sync::Arc;

use dynoxide::storage::compute_hash_prefix;
use dynoxide::types::{AttributeValue, MAX_ITEM_SIZE};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::evaluate::{Bindings, Uses};
use super::expression::{Condition, Parsed, Update};
use super::layout::{Entry, Layout, StoredKey};
use super::request::{
    ReturnOnFalse, ReturnValues, TransactItem, TransactWriteRequest, WriteRequest,
};
use super::value::{Item, Value};
use super::{Direct, NotPerformed, Tables};
use crate::operation::OperationAnswer;

/// The most writes of a transaction.
const TRANSACTION_MAX: usize = 100;
/// The largest transaction that is performed here; dynoxide knows DynamoDB's limit of 4 MB.
const TRANSACTION_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The largest update alone that is performed here. dynoxide adds up the names and values of larger ones
/// before it reads the item, and refuses 400 KB of them.
const UPDATE_BYTES_MAX: usize = 256 * 1024;

const CONDITION_FAILED: &str = "The conditional request failed";
const CONDITION_FAILED_TYPE: &str =
    "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
const CANCELED_TYPE: &str = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Put,
    Update,
    Delete,
    Check,
}

/// A write, with what it refers to.
struct Prepared<'r> {
    kind: Kind,
    request: &'r WriteRequest<'r>,
    bindings: Bindings<'r>,
    layout: Arc<Layout>,
    key: StoredKey,
    condition: Option<Arc<Parsed<Condition>>>,
    update: Option<Arc<Parsed<Update>>>,
}

/// A stored item.
struct Row {
    id: i64,
    json: String,
}

/// What a write does.
enum Decision {
    /// The condition is false. The item is answered if the request asks for it.
    Failed,
    Change(Change),
}

/// The rows that a write changes.
struct Change {
    row: RowChange,
    indexes: Vec<IndexChange>,
}

enum RowChange {
    None,
    Insert { json: String, size: usize, hash_prefix: String },
    Replace { id: i64, json: String, size: usize },
    Delete { id: i64 },
}

impl RowChange {
    /// The item after the change.
    fn item(&self) -> Option<&str> {
        match self {
            Self::Insert { json, .. } | Self::Replace { json, .. } => Some(json),
            Self::None | Self::Delete { .. } => None,
        }
    }
}

/// The change of an index's entry.
struct IndexChange {
    /// The position of the index in its layout.
    index: usize,
    is_deleted: bool,
    /// The new entry's key and item.
    inserted: Option<(StoredKey, String)>,
}

/// Performs a put, an update or a deletion.
pub(super) fn single(
    direct: &Direct,
    tables: &Tables<'_>,
    kind: Kind,
    request: &WriteRequest<'_>,
    n_bytes: usize,
) -> Result<OperationAnswer, NotPerformed> {
    if kind == Kind::Update && n_bytes > UPDATE_BYTES_MAX {
        return Err(NotPerformed::NotSupported);
    }
    let write = Prepared::new(direct, tables, kind, request)?;
    let row = write.row(tables.connection())?;
    match write.decide(row.as_ref())? {
        Decision::Failed => Ok(Err(failed(&write, row.as_ref()))),
        Decision::Change(change) => {
            let mut answer = String::from("{");
            if request.return_values == Some(ReturnValues::Item)
                && let Some(item) = change.row.item()
            {
                answer.push_str("\"Attributes\":");
                answer.push_str(item);
            }
            answer.push('}');
            write.perform(tables.connection(), change)?;
            Ok(Ok(answer.into_bytes()))
        }
    }
}

/// Performs a transaction.
pub(super) fn transaction(
    direct: &Direct,
    tables: &Tables<'_>,
    request: &TransactWriteRequest<'_>,
    n_bytes: usize,
) -> Result<OperationAnswer, NotPerformed> {
    let items = &request.transact_items;
    if items.is_empty() || items.len() > TRANSACTION_MAX || n_bytes > TRANSACTION_BYTES_MAX {
        return Err(NotPerformed::NotSupported);
    }
    let mut writes = Vec::with_capacity(items.len());
    for item in items {
        let (kind, request) = item.write()?;
        // Only a single update has an answer.
        if request.return_values.is_some() {
            return Err(NotPerformed::NotSupported);
        }
        writes.push(Prepared::new(direct, tables, kind, request)?);
    }
    let mut targets = HashSet::with_capacity(writes.len());
    if !writes.iter().all(|write| targets.insert((&write.request.table_name, &write.key))) {
        return Err(NotPerformed::NotSupported);
    }
    let decided = writes.iter().map(|write| {
        let row = write.row(tables.connection())?;
        let decision = write.decide(row.as_ref())?;
        Ok::<_, NotPerformed>((row, decision))
    });
    let decided: Vec<_> = decided.collect::<Result<_, _>>()?;
    if decided.iter().any(|(_, decision)| matches!(decision, Decision::Failed)) {
        return Ok(Err(canceled(&writes, &decided)));
    }
    for (write, (_, decision)) in writes.iter().zip(decided) {
        if let Decision::Change(change) = decision {
            write.perform(tables.connection(), change)?;
        }
    }
    Ok(Ok(b"{}".to_vec()))
}

impl<'r> TransactItem<'r> {
    /// The write that the item is.
    pub(super) fn write(&self) -> Result<(Kind, &WriteRequest<'r>), NotPerformed> {
        match (&self.put, &self.update, &self.delete, &self.condition_check) {
            (Some(put), None, None, None) => Ok((Kind::Put, put)),
            (None, Some(update), None, None) => Ok((Kind::Update, update)),
            (None, None, Some(delete), None) => Ok((Kind::Delete, delete)),
            (None, None, None, Some(check)) => Ok((Kind::Check, check)),
            _ => Err(NotPerformed::NotSupported),
        }
    }
}

impl<'r> Prepared<'r> {
    fn new(
        direct: &Direct,
        tables: &Tables<'_>,
        kind: Kind,
        request: &'r WriteRequest<'r>,
    ) -> Result<Self, NotPerformed> {
        let layout = direct.layout(tables, &request.table_name)?;
        let key = match (kind, &request.item, &request.key) {
            (Kind::Put, Some(item), None)
                if item.is_stored_unchanged() && item.size() <= MAX_ITEM_SIZE =>
            {
                // dynoxide checks the types of the indexes' keys before it reads the item, so that it refuses
                // a wrong one even if the condition is false.
                layout
                    .indexes
                    .iter()
                    .try_for_each(|index| index.key.stored_key_of(item).map(drop))?;
                layout.key_of(item)?
            }
            (Kind::Update | Kind::Delete | Kind::Check, None, Some(key)) => {
                layout.exact_key(key)?
            }
            _ => return Err(NotPerformed::NotSupported),
        };
        let known = &direct.known;
        let condition = request.condition_expression.as_ref();
        let condition = condition.map(|text| known.conditions.find(&text.0)).transpose()?;
        let update = request.update_expression.as_ref();
        let update = update.map(|text| known.updates.find(&text.0)).transpose()?;
        let is_complete = update.is_some() == (kind == Kind::Update)
            && (condition.is_some() || kind != Kind::Check)
            && (request.return_values.is_none() || kind == Kind::Update);
        if !is_complete {
            return Err(NotPerformed::NotSupported);
        }
        let bindings = Bindings {
            names: request.expression_attribute_names.as_ref(),
            values: request.expression_attribute_values.as_ref(),
        };
        let mut uses = Uses::default();
        if let Some(condition) = &condition {
            uses.add(condition);
        }
        if let Some(update) = &update {
            uses.add(update);
        }
        uses.check(bindings)?;
        if let Some(condition) = &condition {
            bindings.check_condition(&condition.tree)?;
        }
        if let Some(update) = &update {
            bindings.check_update(&update.tree)?;
        }
        Ok(Self { kind, request, bindings, layout, key, condition, update })
    }

    fn row(&self, connection: &Connection) -> Result<Option<Row>, NotPerformed> {
        let mut select = connection.prepare_cached(&self.layout.select)?;
        let row = select.query_row(params![self.key.pk, self.key.sk], |row| {
            Ok(Row { id: row.get(0)?, json: row.get(1)? })
        });
        Ok(row.optional()?)
    }

    /// Decides what the write does to the stored item.
    fn decide(&self, row: Option<&Row>) -> Result<Decision, NotPerformed> {
        let before = row.map(|row| Item::read(&row.json)).transpose()?;
        let before = before.as_ref();
        if let Some(condition) = &self.condition
            && !self.bindings.holds(&condition.tree, before)?
        {
            return Ok(Decision::Failed);
        }
        let change = |row, indexes| Change { row, indexes };
        match self.kind {
            Kind::Check => Ok(Decision::Change(change(RowChange::None, Vec::new()))),
            Kind::Delete => {
                let deleted = row.map_or(RowChange::None, |row| RowChange::Delete { id: row.id });
                Ok(Decision::Change(change(deleted, self.index_changes(before, None)?)))
            }
            Kind::Put => {
                let item = self.request.item.as_ref().ok_or(NotPerformed::NotSupported)?;
                let indexes = self.index_changes(before, Some(item))?;
                Ok(Decision::Change(change(self.stored(row, item)?, indexes)))
            }
            Kind::Update => {
                let key = self.request.key.as_ref();
                let update = self.update.as_ref().ok_or(NotPerformed::NotSupported)?;
                let old = before.or(key).ok_or(NotPerformed::NotSupported)?;
                let item = self.bindings.apply(&update.tree, &self.layout, old)?;
                if !item.is_stored_unchanged() {
                    return Err(NotPerformed::NotSupported);
                }
                let indexes = self.index_changes(before, Some(&item))?;
                Ok(Decision::Change(change(self.stored(row, &item)?, indexes)))
            }
        }
    }

    fn stored(&self, row: Option<&Row>, item: &Item<'_>) -> Result<RowChange, NotPerformed> {
        let (json, size) = (item.json()?, item.size());
        if size > MAX_ITEM_SIZE {
            return Err(NotPerformed::NotSupported);
        }
        if let Some(row) = row {
            return Ok(RowChange::Replace { id: row.id, json, size });
        }
        // dynoxide scans a table in the order of this hash of the partition key.
        let Some(Value::Text(hash)) = item.get(&self.layout.key.hash.name) else {
            return Err(NotPerformed::NotSupported);
        };
        let hash_prefix = compute_hash_prefix(&AttributeValue::S(hash.to_string()));
        Ok(RowChange::Insert { json, size, hash_prefix })
    }

    fn index_changes(
        &self,
        before: Option<&Item<'_>>,
        after: Option<&Item<'_>>,
    ) -> Result<Vec<IndexChange>, NotPerformed> {
        let mut changes = Vec::new();
        for (position, index) in self.layout.indexes.iter().enumerate() {
            let entry = |item: Option<&_>| -> Result<Option<Entry<'_>>, NotPerformed> {
                item.map(|item| index.entry(item)).transpose().map(Option::flatten)
            };
            let (old, new) = (entry(before)?, entry(after)?);
            let is_same = match (&old, &new) {
                (None, None) => true,
                (Some(old), Some(new)) => old.is_same(new),
                _ => false,
            };
            if !is_same {
                let inserted = new.map(|new| Ok::<_, NotPerformed>((new.item.json()?, new.key)));
                let inserted = inserted.transpose()?.map(|(json, key)| (key, json));
                changes.push(IndexChange { index: position, is_deleted: old.is_some(), inserted });
            }
        }
        Ok(changes)
    }

    fn perform(&self, connection: &Connection, change: Change) -> Result<(), NotPerformed> {
        let (layout, StoredKey { pk, sk }) = (&self.layout, &self.key);
        match change.row {
            RowChange::None => {}
            RowChange::Insert { json, size, hash_prefix } => {
                let mut insert = connection.prepare_cached(&layout.insert)?;
                insert.execute(params![pk, sk, json, size, hash_prefix])?;
            }
            RowChange::Replace { id, json, size } => {
                connection.prepare_cached(&layout.replace)?.execute(params![id, json, size])?;
            }
            RowChange::Delete { id } => {
                connection.prepare_cached(&layout.delete)?.execute(params![id])?;
            }
        }
        for IndexChange { index, is_deleted, inserted } in change.indexes {
            let Some(index) = layout.indexes.get(index) else { continue };
            if is_deleted {
                connection.prepare_cached(&index.delete)?.execute(params![pk, sk])?;
            }
            if let Some((key, json)) = inserted {
                let mut insert = connection.prepare_cached(&index.insert)?;
                insert.execute(params![key.pk, key.sk, pk, sk, json])?;
            }
        }
        Ok(())
    }

    /// The stored item, if the request asks for it when its condition is false.
    fn item_if_failed<'x>(&self, row: Option<&'x Row>) -> Option<&'x str> {
        let asks =
            self.request.return_values_on_condition_check_failure == Some(ReturnOnFalse::Item);
        row.filter(|_| asks).map(|row| row.json.as_str())
    }
}

/// The answer to a write whose condition is false.
fn failed(write: &Prepared<'_>, row: Option<&Row>) -> (u16, Vec<u8>) {
    let mut body =
        format!(r#"{{"__type":"{CONDITION_FAILED_TYPE}","message":"{CONDITION_FAILED}""#);
    if let Some(item) = write.item_if_failed(row) {
        body.push_str(",\"Item\":");
        body.push_str(item);
    }
    body.push('}');
    (400, body.into_bytes())
}

/// The answer to a transaction with writes whose conditions are false.
fn canceled(writes: &[Prepared<'_>], decided: &[(Option<Row>, Decision)]) -> (u16, Vec<u8>) {
    let (mut codes, mut reasons) = (Vec::new(), Vec::new());
    for (write, (row, decision)) in writes.iter().zip(decided) {
        let Decision::Failed = decision else {
            codes.push("None");
            reasons.push(r#"{"Code":"None"}"#.to_owned());
            continue;
        };
        codes.push("ConditionalCheckFailed");
        let item = write.item_if_failed(row.as_ref());
        let item = item.map_or_else(String::new, |item| format!(",\"Item\":{item}"));
        reasons.push(format!(
            r#"{{"Code":"ConditionalCheckFailed","Message":"{CONDITION_FAILED}"{item}}}"#
        ));
    }
    let (codes, reasons) = (codes.join(", "), reasons.join(","));
    let body = format!(
        r#"{{"__type":"{CANCELED_TYPE}","Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]","CancellationReasons":[{reasons}]}}"#
    );
    (400, body.into_bytes())
}
