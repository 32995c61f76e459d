//! Lists: the items of one partition whose sort keys begin alike, page by page.

use std::borrow::Cow;

use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use futures_util::future::try_join_all;
use minutehand_ports::StoreError;
use minutehand_ports::store::{Page, PageRequest};

use super::client::Table;
use super::error::store_error;
use super::get_many::Consistency;
use super::item::{Item, Reader, key, text};
use super::keys::Key;
use super::meter::MeteredCall;

/// The most requests that read one page, however little each of them finds.
const REQUESTS_MAX: usize = 1_000;

/// The longest sort key in bytes. DynamoDB refuses a request with a longer one.
const SORT_KEY_BYTES_MAX: usize = 1_024;
/// Items that one request reads if a filter drops an unknown part of them.
const FILTERED_READ: u32 = 100;

/// The items that a list holds.
pub(crate) struct List {
    /// The partition of the items.
    pub(crate) pk: String,
    /// The prefix of their sort keys; empty for the whole partition.
    pub(crate) prefix: Cow<'static, str>,
    /// An attribute that the items must have, with its value.
    pub(crate) only: Option<(&'static str, AttributeValue)>,
    /// The time in seconds, if items that have expired by then are left out.
    pub(crate) alive_at: Option<AttributeValue>,
    /// Whether the order of the sort keys is reversed.
    pub(crate) newest_first: bool,
    /// The call to which the meter adds what the list consumes.
    pub(crate) call: Option<MeteredCall>,
    /// How fresh the items must be.
    pub(crate) consistency: Consistency,
}

impl List {
    /// All items with this prefix, in the order of their sort keys.
    pub(crate) fn new(pk: String, prefix: impl Into<Cow<'static, str>>) -> Self {
        Self {
            pk,
            prefix: prefix.into(),
            only: None,
            alive_at: None,
            newest_first: false,
            call: None,
            consistency: Consistency::Strong,
        }
    }

    /// The same list for people: as it was a moment ago.
    pub(crate) fn for_people(self) -> Self {
        Self { call: Some(MeteredCall::Browse), consistency: Consistency::Eventual, ..self }
    }

    /// Reads one page.
    ///
    /// A position is the part of a sort key that follows the prefix. Clients send positions, and no
    /// position leads out of the list.
    pub(crate) async fn page(
        &self,
        table: &Table,
        page: PageRequest,
    ) -> Result<Page<Item>, StoreError> {
        let mut items: Vec<Item> = Vec::new();
        let mut from = page.from;
        for _ in 0..REQUESTS_MAX {
            let had = u32::try_from(items.len()).unwrap_or(u32::MAX);
            let wanted = page.items_max.saturating_sub(had);
            if wanted == 0 {
                break;
            }
            // A filter may drop most items, so more are read at once. Surplus items are left to the
            // next page.
            let is_filtered = self.only.is_some();
            let at_least = if is_filtered { FILTERED_READ } else { 0 };
            let found = self.query(table, from.as_deref(), wanted.max(at_least)).await?;
            items.extend(found.items);
            from = found.next;
            let items_max = usize::try_from(page.items_max).unwrap_or(usize::MAX);
            if items.len() > items_max {
                items.truncate(items_max);
                from = items.last().map(|last| self.position(last)).transpose()?;
            }
            if from.is_none() {
                break;
            }
        }
        Ok(Page { items, next: from })
    }

    /// Counts the items.
    pub(crate) async fn count(&self, table: &Table) -> Result<u32, StoreError> {
        let (mut count, mut from) = (0, None);
        // Bounded by the items of the partition.
        loop {
            let request = self.request(table, from).select(Select::Count);
            let found = table.send(request).await.map_err(store_error)?;
            count += u32::try_from(found.count).unwrap_or_default();
            from = found.last_evaluated_key;
            if from.is_none() {
                return Ok(count);
            }
        }
    }

    async fn query(
        &self,
        table: &Table,
        from: Option<&str>,
        items_max: u32,
    ) -> Result<Page<Item>, StoreError> {
        let start =
            from.map(|position| key(Key { pk: self.pk.clone(), sk: self.sort_key(position) }));
        let query = self.request(table, start);
        let query = query.limit(i32::try_from(items_max).unwrap_or(i32::MAX));
        let found = table.send(query).await.map_err(store_error)?;
        if let Some(call) = self.call {
            table.consumed(call, found.consumed_capacity());
        }
        let next = found.last_evaluated_key.as_ref().map(|last| self.position(last));
        Ok(Page { items: found.items.unwrap_or_default(), next: next.transpose()? })
    }

    /// The request for the items behind a key.
    fn request(&self, table: &Table, start: Option<Item>) -> QueryInputBuilder {
        let mut query = QueryInput::builder()
            .table_name(&table.name)
            .expression_attribute_values(":pk", text(&self.pk))
            .scan_index_forward(!self.newest_first)
            .set_return_consumed_capacity(self.call.and_then(|_| table.capacity_to_return()))
            // An item that was just created must be in most lists.
            .consistent_read(self.consistency == Consistency::Strong)
            .set_exclusive_start_key(start);
        query = if self.prefix.is_empty() {
            query.key_condition_expression("pk = :pk")
        } else {
            query
                .key_condition_expression("pk = :pk AND begins_with(sk, :sk)")
                .expression_attribute_values(":sk", text(self.prefix.as_ref()))
        };
        if let Some((name, value)) = &self.only {
            query = query
                .filter_expression("#only = :only")
                .expression_attribute_names("#only", *name)
                .expression_attribute_values(":only", value.clone());
        }
        // No list needs both filters.
        if let Some(now) = &self.alive_at {
            query = query
                .filter_expression("attribute_not_exists(expires_at) OR expires_at > :now")
                .expression_attribute_values(":now", now.clone());
        }
        query
    }

    /// The sort key at a position, cut to the longest that DynamoDB accepts.
    fn sort_key(&self, position: &str) -> String {
        let mut sk = format!("{}{position}", self.prefix);
        sk.truncate(sk.floor_char_boundary(SORT_KEY_BYTES_MAX));
        sk
    }

    fn position(&self, last: &Item) -> Result<String, StoreError> {
        let sk = Reader::new(last).text("sk")?;
        Ok(sk.strip_prefix(self.prefix.as_ref()).unwrap_or(sk).to_owned())
    }
}

/// Reads the items of a page.
pub(crate) fn read_page<T>(
    page: Page<Item>,
    read: impl Fn(&Item) -> Result<T, StoreError>,
) -> Result<Page<T>, StoreError> {
    let items = page.items.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Page { items, next: page.next })
}

/// One page of whole partitions whose sort keys are in one order: the newest items of all of them, read at
/// the same time.
pub(crate) async fn newest_of(
    table: &Table,
    lists: impl Iterator<Item = List>,
    PageRequest { from, items_max }: PageRequest,
) -> Result<Page<Item>, StoreError> {
    let pages = lists.map(|list| {
        let page = PageRequest { from: from.clone(), items_max };
        async move { list.page(table, page).await }
    });
    // A partition with a further page may have items behind the last one that was read, and no others.
    let (mut found, mut known_from) = (Vec::new(), None);
    for Page { items, next } in try_join_all(pages).await? {
        known_from = known_from.max(next);
        for item in items {
            found.push((Reader::new(&item).text("sk")?.to_owned(), item));
        }
    }
    found.sort_by(|(one, _), (other, _)| other.cmp(one));
    let known =
        found.iter().take_while(|(sk, _)| known_from.as_ref().is_none_or(|from| sk >= from));
    let shown = known.count().min(usize::try_from(items_max).unwrap_or(usize::MAX));
    let is_more = known_from.is_some() || shown < found.len();
    found.truncate(shown);
    let next = found.last().filter(|_| is_more).map(|(sk, _)| sk.clone()).or(known_from);
    Ok(Page { items: found.into_iter().map(|(_, item)| item).collect(), next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_position_is_cut_to_the_longest_sort_key() {
        let list = List::new("p".to_owned(), "J#");
        assert_eq!(list.sort_key("job-1"), "J#job-1");
        assert_eq!(list.sort_key(&"x".repeat(1_024)).len(), 1_024);
        // The cut is between two characters.
        assert_eq!(list.sort_key(&"\u{10FFFF}".repeat(256)).len(), 1_022);
    }
}
