//! Scans of the whole table: only a process whose table nothing else maintains makes them.

use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;

use super::client::Table;
use super::item::Item;

impl Table {
    /// A scan of one page, from where the page before it ended.
    pub(crate) fn scan(&self, items_max: i32, from: Option<Item>) -> ScanFluentBuilder {
        let scan = self.client.scan().table_name(&self.name).limit(items_max);
        scan.set_exclusive_start_key(from)
    }
}
