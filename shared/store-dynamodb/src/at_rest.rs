//! Finds the jobs whose timers are in no index: a walk over all timers, on one machine.
//!
//! Timers are behind the attempts, which are by far the most, in the order of keys that the store in
//! the process keeps.

use async_trait::async_trait;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::StoreError;
use minutehand_ports::store::{JobsAtRest, Page, PageRequest};

use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, text};
use crate::table::keys::{self, TIMERS};
use crate::table::store_error;
use crate::timers::read_job;

#[async_trait]
impl JobsAtRest for DynamoStore {
    async fn at_rest(&self, page: PageRequest) -> Result<Page<JobRef>, StoreError> {
        let items_max = i32::try_from(page.items_max).unwrap_or(i32::MAX);
        let from = page.from.map_or_else(|| Ok(before_all()), |from| read_position(&from))?;
        let scan = self
            .table
            .scan(items_max, Some(from))
            .filter_expression("sk = :timer AND attribute_not_exists(due_shard)")
            .expression_attribute_values(":timer", text(keys::TIMER));
        let found = scan.send().await.map_err(store_error)?;
        let next = found.last_evaluated_key.as_ref().map(write_position).transpose()?;
        let items = found.items().iter().map(|item| read_job(&Reader::new(item)));
        Ok(Page { items: items.collect::<Result<_, _>>()?, next })
    }
}

/// A position before the first timer.
fn before_all() -> Item {
    ItemBuilder::default().text("pk", TIMERS).text("sk", keys::TIMER).done()
}

fn write_position(last: &Item) -> Result<String, StoreError> {
    let reader = Reader::new(last);
    Ok(format!("{} {}", reader.text("pk")?, reader.text("sk")?))
}

fn read_position(position: &str) -> Result<Item, StoreError> {
    let Some((pk, sk)) = position.split_once(' ') else {
        return Err(StoreError::Refused("no position among the timers".into()));
    };
    Ok(ItemBuilder::default().text("pk", pk).text("sk", sk).done())
}
