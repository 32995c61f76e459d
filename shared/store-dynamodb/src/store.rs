//! The store.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use minutehand_domain::history_days::HistoryDays;

use crate::definitions::Definitions;
use crate::table::{Meter, Table};

/// Stores collections, jobs, timers and attempts in one table.
#[derive(Debug, Clone)]
pub struct DynamoStore {
    pub(crate) table: Table,
    pub(crate) definitions: Arc<Definitions>,
    /// For how long history is kept.
    pub(crate) history: HistoryDays,
}

impl DynamoStore {
    /// A store in a table that exists.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        let history = HistoryDays::default();
        let table = Table::new(client, table.into());
        Self { table, definitions: Arc::default(), history }
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

    /// Sets a meter, which adds up what calls consume.
    #[must_use]
    pub fn with_meter(self, meter: Arc<Meter>) -> Self {
        Self { table: Table { meter: Some(meter), ..self.table }, ..self }
    }
}
