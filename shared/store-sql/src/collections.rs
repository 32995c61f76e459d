//! Collections. What a start reads of one is in columns of its own, beside the document.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::collection::Collection;
use minutehand_domain::document::{load_collection_shown, write_collection};
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::limits::{Concurrent, PerSecond};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::{CollectionRecord, Page, PageRequest, ResourceGroup, Saved};
use minutehand_ports::{Collections, StoreError};

use crate::journal;
use crate::script::{Row, Statement, Value};
use crate::sql::jobs as sql;
use crate::store::{SqlStore, changes, changing, page_of, rest, rows_of};
use crate::value::{Columns, id, params};

/// Between the parts of a position, and in no name of a collection.
const POSITION: char = '#';

#[async_trait]
impl Collections for SqlStore {
    async fn find(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let parameters = params![place.subscription.key(), name.key(), place.group.key()];
        self.read_one(sql::COLLECTION, parameters).await?.map(read).transpose()
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>, StoreError> {
        let items_max = page.items_max;
        let rows = self.collection_rows(subscription, group, page).await?;
        let items = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(page_of(items, items_max, |last: &CollectionRecord| {
            format!("{}{POSITION}{}", last.collection.name.key(), last.place.group.key())
        }))
    }

    async fn create(
        &self,
        record: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let CollectionRecord { place, collection, .. } = record;
        let mut parameters = params![
            id(&collection.uid),
            place.subscription.as_str(),
            place.group.as_str(),
            collection.name.as_str(),
            place.subscription.key(),
            place.group.key(),
            collection.name.key(),
            write_collection(&collection.definition).to_string(),
            record.sealed.as_deref(),
            record.label.as_deref(),
            record.job_count,
            record.on_since,
            record.state_since,
            record.version,
        ];
        parameters.extend(switch(record));
        let statements = vec![changes(sql::CREATE_COLLECTION, parameters), register(place)];
        self.change(record, statements, entry).await
    }

    async fn replace(
        &self,
        record: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let mut parameters = params![
            id(&record.collection.uid),
            write_collection(&record.collection.definition).to_string(),
            record.sealed.as_deref(),
            record.label.as_deref(),
            record.on_since,
            record.state_since,
        ];
        parameters.extend(params![..switch(record), record.version, record.job_count]);
        self.change(record, vec![changes(sql::REPLACE_COLLECTION, parameters)], entry).await
    }

    async fn delete(
        &self,
        record: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let uid = || id(&record.collection.uid);
        let statements = vec![
            changes(sql::DELETE_COLLECTION, params![uid(), record.version]),
            Statement::new(sql::ADD_PURGE, params![uid(), now]),
        ];
        self.change(record, statements, entry).await
    }
}

impl SqlStore {
    async fn change(
        &self,
        record: &CollectionRecord,
        mut statements: Vec<Statement>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let uid = &record.collection.uid;
        statements.extend(entry.map(|entry| journal::add(uid, entry)));
        self.saves(changing(rest(uid, statements), uid)).await
    }

    /// A page of the collections of a subscription, or of one of its groups, as rows, and one more.
    pub(crate) async fn collection_rows(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        PageRequest { from, items_max }: PageRequest,
    ) -> Result<Vec<Row>, StoreError> {
        let from = from.unwrap_or_default();
        // Clients send positions, so anything may come. None leads out of the subscription.
        let (name, behind) = from.split_once(POSITION).unwrap_or((&from, ""));
        let group = group.map(PathSegment::key);
        let parameters = params![subscription.key(), group, name, behind, rows_of(items_max)];
        self.read(sql::COLLECTIONS, parameters).await
    }

    /// Reads a collection by its id, as it is now.
    pub(crate) async fn collection_of_uid(
        &self,
        uid: &str,
    ) -> Result<Option<CollectionRecord>, StoreError> {
        let row = self.read_now(uid, sql::COLLECTION_OF_UID, params![id(uid)]).await?;
        row.map(read).transpose()
    }
}

/// Adds a subscription to those in use.
fn register(place: &ResourceGroup) -> Statement {
    let subscription = &place.subscription;
    Statement::new(sql::REGISTER, params![subscription.key(), subscription.as_str()])
}

/// What a start reads of a collection.
fn switch(record: &CollectionRecord) -> Vec<Value> {
    let definition = &record.collection.definition;
    let limits = definition.limits();
    params![
        definition.state.name(),
        definition.plan.name(),
        limits.per_second.map(PerSecond::get),
        limits.concurrent.map(Concurrent::get),
        definition.on_failure().is_some(),
        definition.alert_use().to_number(),
    ]
}

/// The position of a collection in a list: the last two columns of its row.
pub(crate) fn position(row: &[Value]) -> String {
    match row {
        [.., Value::Text(name), Value::Text(group)] => format!("{name}{POSITION}{group}"),
        _ => String::new(),
    }
}

pub(crate) fn read(row: Row) -> Result<CollectionRecord, StoreError> {
    let mut row = Columns::new("collections", row);
    let (uid, place) = (row.id()?, row.resource_group()?);
    let name = row.named("name", |text| Name::new(text).ok())?;
    let document: String = row.next()?;
    let document = serde_json::from_str(&document).map_err(|error| row.corrupt(error))?;
    let definition =
        load_collection_shown(&document).map_err(|error| row.corrupt(error.message))?;
    Ok(CollectionRecord {
        place,
        collection: Collection { uid, name, definition },
        job_count: row.next()?,
        on_since: row.next()?,
        sealed: row.next()?,
        state_since: row.next()?,
        label: row.next()?,
        version: row.next()?,
    })
}
