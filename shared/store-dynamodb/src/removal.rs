//! Removing what is over: a job sixty days after its end, and the jobs of a collection that is gone.
//!
//! A job that is over goes in one transaction with the count of its collection, so a crash leaves it
//! there and counted, or neither; its timer is due again and asks for it once more.
//!
//! The jobs of a collection that is gone are nowhere counted. Of each page the timers go first, then
//! the definitions, by which the next page is found: a crash leaves definitions without timers, and
//! the purge timer, which asks again. Retries in timers of their own, and claims, find their job gone
//! when they are due; history goes by its expiry.

use aws_sdk_dynamodb::types::{Delete, Update};
use domain::job::JobState;
use domain::work_item::JobRef;
use ports::StoreError;
use ports::store::PageRequest;

use crate::DynamoStore;
use crate::groups::Write;
use crate::item::{ItemBuilder, Reader, key, number, text};
use crate::keys::{self, Key};
use crate::list::List;
use crate::meter::MeteredCall;
use crate::transaction::item;

/// Jobs that one call purges.
const PURGED_MAX: u32 = 100;

pub(crate) async fn delete_finished(
    store: &DynamoStore,
    job: &JobRef,
    generation: u64,
) -> Result<(), StoreError> {
    let Some(switch) =
        store.get_for(Some(MeteredCall::Look), keys::switch(&job.collection_uid)).await?
    else {
        // Its collection is gone, and the jobs of that are purged.
        return Ok(());
    };
    let reader = Reader::of(&switch);
    let collection =
        Key { pk: reader.text("at_pk")?.to_owned(), sk: reader.text("at_sk")?.to_owned() };
    let values = ItemBuilder::default()
        .number(":generation", generation)
        .text(":completed", JobState::Completed.name())
        .text(":faulted", JobState::Faulted.name());
    let timer = Delete::builder()
        .table_name(&store.table)
        .set_key(Some(key(keys::timer(&job.uid))))
        .condition_expression("generation = :generation AND #state IN (:completed, :faulted)")
        .expression_attribute_names("#state", "state")
        .set_expression_attribute_values(Some(values.done()))
        .build();
    let definition = Delete::builder()
        .table_name(&store.table)
        .set_key(Some(key(keys::job_of_key(&job.collection_uid, &job.key))))
        .condition_expression("uid = :uid")
        .expression_attribute_values(":uid", text(&job.uid))
        .build();
    let count = Update::builder()
        .table_name(&store.table)
        .set_key(Some(key(collection)))
        .update_expression("SET job_count = job_count - :one")
        .condition_expression("uid = :uid")
        .expression_attribute_values(":uid", text(&job.collection_uid))
        .expression_attribute_values(":one", number(1))
        .build();
    // A condition that fails says that it is gone, or not over.
    store
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

pub(crate) async fn purge(
    store: &DynamoStore,
    collection_uid: &str,
) -> Result<bool, StoreError> {
    let list = List::of(keys::inside(collection_uid), keys::JOBS);
    let page = list.page(store, PageRequest { from: None, items_max: PURGED_MAX }).await?;
    let mut timers = Vec::new();
    let mut definitions = Vec::new();
    for definition in &page.items {
        let reader = Reader::of(definition);
        let at = Key { pk: reader.text("pk")?.to_owned(), sk: reader.text("sk")?.to_owned() };
        timers.push(Write::delete(keys::timer(reader.text("uid")?)));
        definitions.push(Write::delete(at));
    }
    for writes in [timers, definitions] {
        for wrote in store.write_group(MeteredCall::Remove, writes).await {
            wrote?;
        }
    }
    if page.next.is_some() {
        return Ok(false);
    }
    store.write(MeteredCall::Remove, Write::delete(keys::purge(collection_uid))).await?;
    Ok(true)
}
