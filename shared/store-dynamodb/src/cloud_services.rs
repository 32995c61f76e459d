//! Cloud services: what the classic API says of resource groups.

use async_trait::async_trait;
use minutehand_domain::name::PathSegment;
use minutehand_ports::store::{CloudServiceRecord, Page, PageRequest, ResourceGroup, Saved};
use minutehand_ports::{CloudServices, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, number, text};
use crate::table::{List, Write, keys, read_page};

#[async_trait]
impl CloudServices for DynamoStore {
    async fn find(&self, place: &ResourceGroup) -> Result<Option<CloudServiceRecord>, StoreError> {
        let found = self.table.get(keys::cloud_service(place)).await?;
        found.as_ref().map(read).transpose()
    }

    async fn list(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CloudServiceRecord>, StoreError> {
        let list = List::new(keys::subscription(subscription), keys::CLOUD_SERVICES);
        read_page(list.page(&self.table, page).await?, read)
    }

    async fn save(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        let put = Write::put(write(service));
        let put = match service.version.saturating_sub(1) {
            0 => put.when("attribute_not_exists(pk)"),
            before => as_read(put, service, before),
        };
        self.table.save(vec![put]).await
    }

    async fn delete(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        let delete = Write::delete(keys::cloud_service(&service.place));
        self.table.save(vec![as_read(delete, service, service.version)]).await
    }
}

/// A write of a cloud service, if it has this version.
fn as_read(write: Write, service: &CloudServiceRecord, version: u64) -> Write {
    write
        .when("version = :version AND uid = :uid")
        .with(":version", number(version))
        .with(":uid", text(&service.uid))
}

pub(crate) fn write(service: &CloudServiceRecord) -> ItemBuilder {
    ItemBuilder::at(keys::cloud_service(&service.place))
        .text("uid", &service.uid)
        .text("subscription", service.place.subscription.as_str())
        .text("group", service.place.group.as_str())
        .text("label", &service.label)
        .text("description", &service.description)
        .text("region", &service.region)
        .number("version", service.version)
}

pub(crate) fn read(item: &Item) -> Result<CloudServiceRecord, StoreError> {
    let reader = Reader::new(item);
    let owned = |name: &str| reader.text(name).map(str::to_owned);
    Ok(CloudServiceRecord {
        place: reader.resource_group()?,
        uid: owned("uid")?,
        label: owned("label")?,
        description: owned("description")?,
        region: owned("region")?,
        version: reader.number("version")?,
    })
}
