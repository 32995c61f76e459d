//! Counts collections and jobs by state: a walk beside the writes.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::job::JobState;
use minutehand_ports::StoreError;

use crate::script::Value;
use crate::sql::jobs as sql;
use crate::store::SqlStore;
use crate::value::{Columns, params, second};

/// The rows that are read together: so few that no other read waits long for them.
const SLICE: u16 = 500;

/// What stands for a state that cannot be read.
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

/// Where the next page begins: behind the job or the collection with this id.
#[derive(Debug)]
pub struct StatePosition {
    is_of_jobs: bool,
    behind: Value,
}

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
        Self { is_of_jobs: false, behind: Value::Bytes(Vec::new()) }
    }
}

impl SqlStore {
    /// Adds the collections or jobs of one page to the counts. Returns where the next page begins; `None`
    /// after the last one.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn count_states(
        &self,
        counts: &mut StateCounts,
        StatePosition { is_of_jobs, behind }: StatePosition,
        now: DateTime<Utc>,
    ) -> Result<Option<StatePosition>, StoreError> {
        let slice = u32::from(SLICE);
        let (sql, parameters) = if is_of_jobs {
            (sql::JOB_STATES, params![behind, second(now), slice])
        } else {
            (sql::COLLECTION_STATES, params![behind, slice])
        };
        let rows = self.read(sql, parameters).await?;
        let last = rows.last().filter(|_| rows.len() == usize::from(SLICE));
        let last = last.and_then(|row| row.first().cloned());
        for row in rows {
            let mut row = Columns::new("states", row);
            let _uid: Vec<u8> = row.next()?;
            let state: String = row.next()?;
            let (states, state) = if is_of_jobs {
                (&mut counts.jobs, JobState::read_name(&state).map(JobState::name))
            } else {
                (&mut counts.collections, CollectionState::read_name(&state).map(label_of))
            };
            *states.entry(state.unwrap_or(UNREADABLE)).or_default() += 1;
        }
        Ok(match last {
            Some(behind) => Some(StatePosition { is_of_jobs, behind }),
            None if is_of_jobs => None,
            None => Some(StatePosition { is_of_jobs: true, ..StatePosition::default() }),
        })
    }
}

/// The name of a collection's state in lower case, as those of jobs are.
const fn label_of(state: CollectionState) -> &'static str {
    match state {
        CollectionState::Enabled => "enabled",
        CollectionState::Disabled => "disabled",
        CollectionState::Suspended => "suspended",
    }
}
