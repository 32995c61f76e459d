//! The table as a client has it.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::get_item::GetItemInput;
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use minutehand_ports::StoreError;

use super::error::store_error;
use super::get_many::Consistency;
use super::item::{Item, key};
use super::keys::Key;
use super::meter::{Meter, MeteredCall};

/// A table and the client that reads and writes it.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) client: Client,
    /// The way past the client for frequent requests, if there is one.
    pub(crate) connector: Option<SharedHttpConnector>,
    pub(crate) name: String,
    pub(crate) meter: Option<Arc<Meter>>,
}

impl Table {
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self { client, connector: None, name, meter: None }
    }

    /// Reads an item as it is now.
    pub(crate) async fn get(&self, at: Key) -> Result<Option<Item>, StoreError> {
        self.get_for(None, at).await
    }

    /// Reads an item as it was a moment ago, for people.
    pub(crate) async fn browse(&self, at: Key) -> Result<Option<Item>, StoreError> {
        self.read(Some(MeteredCall::Browse), Consistency::Eventual, at).await
    }

    /// Reads an item as it is now, and adds what that consumes to the meter.
    pub(crate) async fn get_for(
        &self,
        call: Option<MeteredCall>,
        at: Key,
    ) -> Result<Option<Item>, StoreError> {
        self.read(call, Consistency::Strong, at).await
    }

    /// Reads an item.
    pub(crate) async fn read(
        &self,
        call: Option<MeteredCall>,
        consistency: Consistency,
        at: Key,
    ) -> Result<Option<Item>, StoreError> {
        let request = GetItemInput::builder().table_name(&self.name).set_key(Some(key(at)));
        let request = request
            .consistent_read(consistency == Consistency::Strong)
            .set_return_consumed_capacity(call.and_then(|_| self.capacity_to_return()));
        let found = self.send(request).await.map_err(store_error)?;
        if let Some(call) = call {
            self.consumed(call, found.consumed_capacity());
        }
        Ok(found.item)
    }

    /// What a request asks the service to report of its consumption: nothing without a meter.
    pub(crate) fn capacity_to_return(&self) -> Option<ReturnConsumedCapacity> {
        self.meter.as_ref().map(|_| ReturnConsumedCapacity::Total)
    }

    /// Adds what a request consumed to the meter.
    pub(crate) fn consumed<'a>(
        &self,
        call: MeteredCall,
        consumed: impl IntoIterator<Item = &'a ConsumedCapacity>,
    ) {
        if let Some(meter) = &self.meter {
            meter.count(call, consumed);
        }
    }

    /// Adds writes whose conditions failed to the meter.
    pub(crate) fn condition_failed(&self, call: MeteredCall, writes: usize) {
        if let Some(meter) = &self.meter {
            meter.count_failed_conditions(call, writes as u64);
        }
    }
}
