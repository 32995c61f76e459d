//! Removing the jobs of a deleted collection. Jobs that have finished expire.
//!
//! A purge does nothing while the collection is there, which is so only if another program sent the
//! message.
//!
//! The jobs of a deleted collection are not counted anywhere. Of each page the timers go first, then
//! the definitions, by which the next page is found. A crash leaves definitions without timers, and
//! the purge timer, which asks again. Retry timers and claims find their job gone when they are due.
//! History expires by itself.

use async_trait::async_trait;
use minutehand_ports::store::PageRequest;
use minutehand_ports::{Removal, StoreError};

use crate::ping_keys;
use crate::store::DynamoStore;
use crate::table::item::Reader;
use crate::table::keys::{self, Key};
use crate::table::{Consistency, List, MeteredCall, Write};

/// The jobs that one call purges.
const PURGED_MAX: u32 = 100;

#[async_trait]
impl Removal for DynamoStore {
    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        let switch = keys::switch(collection_uid);
        if self.table.get_for(Some(MeteredCall::Remove), switch).await?.is_some() {
            tracing::warn!(collection_uid, "a collection that is there was to be purged; it stays");
            return Ok(true);
        }
        let list = List::new(keys::inside(collection_uid), keys::JOBS);
        let page =
            list.page(&self.table, PageRequest { from: None, items_max: PURGED_MAX }).await?;
        let (mut uids, mut timers, mut definitions) = (Vec::new(), Vec::new(), Vec::new());
        for definition in &page.items {
            let reader = Reader::new(definition);
            let at = Key { pk: reader.text("pk")?.to_owned(), sk: reader.text("sk")?.to_owned() };
            let uid = reader.text("uid")?;
            uids.push(uid);
            timers.push(Write::delete(keys::timer(uid)));
            definitions.push(Write::delete(at));
        }
        // The keys of pings go before their jobs, by which they are found.
        let of_pings = uids.iter().map(|uid| keys::ping_key(uid));
        let of_pings = self.table.get_many(None, Consistency::Eventual, of_pings).await?;
        let mut keys_of_pings = Vec::new();
        for uid in uids {
            if let Some(key) = of_pings.get(&keys::ping_key(uid)) {
                keys_of_pings.extend(ping_keys::forget(uid, key)?);
            }
        }
        for writes in [keys_of_pings, timers, definitions] {
            for wrote in self.table.write_group(MeteredCall::Remove, writes).await {
                wrote?;
            }
        }
        if page.next.is_some() {
            return Ok(false);
        }
        self.table.write(MeteredCall::Remove, Write::delete(keys::purge(collection_uid))).await?;
        Ok(true)
    }
}
