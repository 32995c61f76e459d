//! The states of alerts: a row for each job that had one under rules, and for each collection of which one
//! failed. Others have none.

use async_trait::async_trait;
use minutehand_ports::store::{AlertRead, AlertWrite};
use minutehand_ports::{Alerts, StoreError};

use crate::sql::attempts as sql;
use crate::store::{SqlStore, changes, start};
use crate::value::{Columns, id, params};

#[async_trait]
impl Alerts for SqlStore {
    async fn read_alert(&self, uid: &str) -> Result<AlertRead, StoreError> {
        let Some(row) = self.read_now(uid, sql::ALERT, params![id(uid)]).await? else {
            return Ok(AlertRead::default());
        };
        let mut row = Columns::after_id("alerts", row)?;
        Ok(AlertRead { number: row.next()?, state: row.next()? })
    }

    async fn write_alert(&self, write: &AlertWrite) -> Result<bool, StoreError> {
        let AlertWrite { uid, as_read, state, expires_at } = write;
        let text = if *as_read == 0 { sql::FIRST_ALERT } else { sql::NEXT_ALERT };
        let statement = changes(text, params![id(uid), *as_read, state.as_str(), *expires_at]);
        self.does(start(uid, vec![statement])).await
    }
}
