//! The states of alerts: an item for each job that had one under rules, and for each collection of which one
//! failed. Others have none.

use async_trait::async_trait;
use minutehand_ports::store::{AlertRead, AlertWrite};
use minutehand_ports::{Alerts, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader};
use crate::table::{MeteredCall, Write, keys};

/// The number of the state.
const NUMBER: &str = "alerts";
/// The state.
const STATE: &str = "state_of_alerts";

#[async_trait]
impl Alerts for DynamoStore {
    async fn read_alert(&self, uid: &str) -> Result<AlertRead, StoreError> {
        let stored = self.table.get_for(Some(MeteredCall::ReadAlerts), keys::alert(uid)).await?;
        let Some(item) = stored else { return Ok(AlertRead::default()) };
        let reader = Reader::new(&item);
        Ok(AlertRead { number: reader.number(NUMBER)?, state: reader.text(STATE)?.to_owned() })
    }

    async fn write_alert(&self, write: &AlertWrite) -> Result<bool, StoreError> {
        let AlertWrite { uid, as_read, state, expires_at } = write;
        let item = ItemBuilder::at(keys::alert(uid))
            .number(NUMBER, as_read.saturating_add(1))
            .text(STATE, state)
            .number("expires_at", expires_at.timestamp());
        let put = Write::put(item).when_as_read(NUMBER, *as_read);
        self.table.does(MeteredCall::Alerts, put).await
    }
}
