//! Removing what is over: a job sixty days after it finished, and the jobs of a deleted collection.
//!
//! A finished job is deleted in one transaction with the count of its collection. A crash leaves the
//! job stored and counted, or neither. Its timer is due again and asks for the deletion once more.
//!
//! A purge does nothing while the collection is there, which is so only if another program sent the
//! message.
//!
//! The jobs of a deleted collection are not counted anywhere. Of each page the timers go first, then
//! the definitions, by which the next page is found. A crash leaves definitions without timers, and
//! the purge timer, which asks again. Retry timers and claims find their job gone when they are due.
//! History expires by itself.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{Delete, Update};
use domain::job::JobState;
use domain::work_item::JobRef;
use ports::store::PageRequest;
use ports::{Removal, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{ItemBuilder, Reader, key, number, text};
use crate::table::keys::{self, Key};
use crate::table::{List, MeteredCall, Write, transact_item as item};

/// The jobs that one call purges.
const PURGED_MAX: u32 = 100;

#[async_trait]
impl Removal for DynamoStore {
    async fn delete_finished(&self, job: &JobRef, generation: u64) -> Result<(), StoreError> {
        let Some(switch) = self
            .table
            .get_for(Some(MeteredCall::Snapshot), keys::switch(&job.collection_uid))
            .await?
        else {
            // The collection is deleted, so its jobs are purged.
            return Ok(());
        };
        let reader = Reader::new(&switch);
        let collection =
            Key { pk: reader.text("at_pk")?.to_owned(), sk: reader.text("at_sk")?.to_owned() };
        let values = ItemBuilder::default()
            .number(":generation", generation)
            .text(":completed", JobState::Completed.name())
            .text(":faulted", JobState::Faulted.name());
        let timer = Delete::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(keys::timer(&job.uid))))
            .condition_expression("generation = :generation AND #state IN (:completed, :faulted)")
            .expression_attribute_names("#state", "state")
            .set_expression_attribute_values(Some(values.done()))
            .build();
        let definition = Delete::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(keys::job_of_key(&job.collection_uid, &job.key))))
            .condition_expression("uid = :uid")
            .expression_attribute_values(":uid", text(&job.uid))
            .build();
        let count = Update::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(collection)))
            .update_expression("SET job_count = job_count - :one")
            .condition_expression("uid = :uid")
            .expression_attribute_values(":uid", text(&job.collection_uid))
            .expression_attribute_values(":one", number(1))
            .build();
        // If a condition failed, the job is gone, or has not finished.
        self.table
            .transact_for(
                Some(MeteredCall::Remove),
                vec![
                    item(|it| Ok(it.delete(timer?)))?,
                    item(|it| Ok(it.delete(definition?)))?,
                    item(|it| Ok(it.update(count?)))?,
                ],
            )
            .await?;
        Ok(())
    }

    async fn purge(&self, collection_uid: &str) -> Result<bool, StoreError> {
        let switch = keys::switch(collection_uid);
        if self.table.get_for(Some(MeteredCall::Remove), switch).await?.is_some() {
            tracing::warn!(collection_uid, "a collection that is there was to be purged; it stays");
            return Ok(true);
        }
        let list = List::new(keys::inside(collection_uid), keys::JOBS);
        let page =
            list.page(&self.table, PageRequest { from: None, items_max: PURGED_MAX }).await?;
        let mut timers = Vec::new();
        let mut definitions = Vec::new();
        for definition in &page.items {
            let reader = Reader::new(definition);
            let at = Key { pk: reader.text("pk")?.to_owned(), sk: reader.text("sk")?.to_owned() };
            timers.push(Write::delete(keys::timer(reader.text("uid")?)));
            definitions.push(Write::delete(at));
        }
        for writes in [timers, definitions] {
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
