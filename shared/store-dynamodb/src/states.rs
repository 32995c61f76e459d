//! Counts collections and jobs by state on one machine.
//!
//! Collections and timers are the last items of the table in the order of their keys, behind the
//! attempts, which are by far the most. The store in the process keeps that order and DynamoDB on AWS
//! does not, so this is for one machine only.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::document::load_collection_shown;
use minutehand_domain::job::JobState;
use minutehand_ports::StoreError;

use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, number, text};
use crate::table::keys::{self, COLLECTIONS, SUBSCRIPTIONS};
use crate::table::store_error;
use crate::timers::read_state;

/// Items that one request reads: so few that no other request waits long for it.
const PAGE_ITEMS: i32 = 50;

/// The timers of jobs that have not expired, and the collections. Retries and purges are timers, too.
const IS_COUNTED: &str = "(sk = :timer AND (attribute_not_exists(expires_at) OR expires_at > :now)) \
                          OR (begins_with(pk, :subscriptions) AND begins_with(sk, :collections))";

/// What stands for the state of a collection or a job that cannot be read.
const UNREADABLE: &str = "unreadable";

/// How many collections and jobs there are, by state. Every state is named, even if it has none.
///
/// Jobs of a deleted collection count until they are purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateCounts {
    /// The collections.
    pub collections: BTreeMap<&'static str, u64>,
    /// The jobs.
    pub jobs: BTreeMap<&'static str, u64>,
}

/// Where the next page begins.
#[derive(Debug)]
pub struct StatePosition(HashMap<String, AttributeValue>);

impl Default for StateCounts {
    fn default() -> Self {
        let none = |states: &[&'static str]| {
            states.iter().chain(&[UNREADABLE]).map(|state| (*state, 0)).collect()
        };
        Self {
            collections: none(&CollectionState::ALL.map(label_of)),
            jobs: none(&JobState::ALL.map(JobState::name)),
        }
    }
}

impl Default for StatePosition {
    /// Before the first collection.
    fn default() -> Self {
        let before = ItemBuilder::default().text("pk", SUBSCRIPTIONS).text("sk", COLLECTIONS);
        Self(before.done())
    }
}

impl DynamoStore {
    /// Adds the collections and jobs of one page to the counts. Returns where the next page begins;
    /// `None` after the last one.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn count_states(
        &self,
        counts: &mut StateCounts,
        from: StatePosition,
        now: DateTime<Utc>,
    ) -> Result<Option<StatePosition>, StoreError> {
        let scan = self
            .table
            .scan(PAGE_ITEMS, Some(from.0))
            .filter_expression(IS_COUNTED)
            .projection_expression("sk, #state, document")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":timer", text(keys::TIMER))
            .expression_attribute_values(":now", number(now.timestamp()))
            .expression_attribute_values(":subscriptions", text(SUBSCRIPTIONS))
            .expression_attribute_values(":collections", text(COLLECTIONS));
        let page = scan.send().await.map_err(store_error)?;
        for found in page.items() {
            let reader = Reader::new(found);
            let (states, state) = if reader.text("sk")? == keys::TIMER {
                (&mut counts.jobs, read_state(&reader).ok().map(JobState::name))
            } else {
                (&mut counts.collections, read_collection_state(&reader).map(label_of))
            };
            *states.entry(state.unwrap_or(UNREADABLE)).or_default() += 1;
        }
        Ok(page.last_evaluated_key.map(StatePosition))
    }
}

/// The state of a collection; `None` if the collection cannot be read.
fn read_collection_state(reader: &Reader<'_>) -> Option<CollectionState> {
    let document = serde_json::from_str(reader.text("document").ok()?).ok()?;
    Some(load_collection_shown(&document).ok()?.state)
}

/// The name of a collection's state in lower case, as those of jobs are.
const fn label_of(state: CollectionState) -> &'static str {
    match state {
        CollectionState::Enabled => "enabled",
        CollectionState::Disabled => "disabled",
        CollectionState::Suspended => "suspended",
    }
}
