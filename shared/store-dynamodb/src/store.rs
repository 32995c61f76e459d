//! The store, and what a process knows that is the only one on a table.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use minutehand_domain::history_days::HistoryDays;

use crate::definitions::Definitions;
use crate::prefetched::Prefetched;
use crate::table::{Groups, Meter, RecentWrites, Table};

/// Stores collections, jobs, timers and attempts in one table.
#[derive(Debug, Clone)]
pub struct DynamoStore {
    pub(crate) table: Table,
    pub(crate) definitions: Arc<Definitions>,
    /// For how long history is kept.
    pub(crate) history: HistoryDays,
    /// Set if this process is the only one that uses the table.
    pub(crate) alone: Option<Arc<Alone>>,
}

/// The state of a store whose process is the only one that uses the table.
#[derive(Debug)]
pub(crate) struct Alone {
    /// Part of the id of every claim, so that claims of earlier processes can be told.
    process_id: String,
    pub(crate) prefetched: Prefetched,
}

impl DynamoStore {
    /// A store in a table that exists, which performs groups as [`Groups::Singles`].
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        let history = HistoryDays::default();
        let table = Table::new(client, table.into());
        Self { table, definitions: Arc::default(), history, alone: None }
    }

    /// Sets a connector by which frequent requests go past the client.
    #[must_use]
    pub fn with_connector(self, connector: Option<SharedHttpConnector>) -> Self {
        Self { table: Table { connector, ..self.table }, ..self }
    }

    /// Sets for how long history is kept that is written from now on.
    #[must_use]
    pub fn with_history(self, history: HistoryDays) -> Self {
        Self { history, ..self }
    }

    /// Sets how groups are performed.
    #[must_use]
    pub fn with_groups(self, groups: Groups) -> Self {
        Self { table: Table { groups, ..self.table }, ..self }
    }

    /// Tells the store that this process is the only one that uses the table.
    ///
    /// Any other process that used it has ended. So the claims of other processes are void, even if
    /// their leases last. And the store knows whether a job was written since it was prefetched.
    /// Clones of this store belong to the same process.
    #[must_use]
    pub fn alone(self, process_id: impl Into<String>) -> Self {
        let alone = Alone { process_id: process_id.into(), prefetched: Prefetched::default() };
        let recent_writes = Some(Arc::new(RecentWrites::new()));
        Self { table: Table { recent_writes, ..self.table }, alone: Some(Arc::new(alone)), ..self }
    }

    /// Sets a meter, which adds up what calls consume.
    #[must_use]
    pub fn with_meter(self, meter: Arc<Meter>) -> Self {
        Self { table: Table { meter: Some(meter), ..self.table }, ..self }
    }

    /// A claim's id as it is stored: it tells the process, if that matters.
    pub(crate) fn stored_claim_id(&self, claim_id: &str) -> String {
        match &self.alone {
            Some(alone) => format!("{}-{claim_id}", alone.process_id),
            None => claim_id.to_owned(),
        }
    }

    /// A claim's id as its worker knows it, of one that is stored and not void.
    pub(crate) fn claim_id_of<'a>(&self, stored_claim_id: &'a str) -> &'a str {
        let of_process =
            |alone: &Arc<Alone>| stored_claim_id.strip_prefix(&alone.process_id)?.strip_prefix('-');
        self.alone.as_ref().and_then(of_process).unwrap_or(stored_claim_id)
    }

    /// Whether a stored claim is void, because the process that made it has ended.
    pub(crate) fn is_void(&self, stored_claim_id: &str) -> bool {
        self.alone.as_ref().is_some_and(|alone| {
            let rest = stored_claim_id.strip_prefix(&alone.process_id);
            !rest.is_some_and(|rest| rest.starts_with('-'))
        })
    }
}
