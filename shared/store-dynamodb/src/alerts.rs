//! The states of alerts: an item for each job that had one under rules, and for each collection of which one
//! failed. Others have none.

use async_trait::async_trait;
use minutehand_ports::store::{AlertRead, AlertWrite};
use minutehand_ports::{Alerts, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, number};
use crate::table::{MeteredCall, Write, WriteOutcome, keys};

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
        let at = keys::alert(uid);
        let item = ItemBuilder::at(at.clone())
            .number(NUMBER, as_read.saturating_add(1))
            .text(STATE, state)
            .number("expires_at", expires_at.timestamp());
        let put = Write::put(at, item);
        let put = if *as_read == 0 {
            put.when("attribute_not_exists(pk)")
        } else {
            put.when(format!("{NUMBER} = :as_read")).with(":as_read", number(*as_read))
        };
        let outcome = self.table.write(MeteredCall::Alerts, put).await?;
        Ok(matches!(outcome, WriteOutcome::Done))
    }
}
