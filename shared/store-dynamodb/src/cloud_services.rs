//! Cloud services: what the classic API says of resource groups.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{Delete, Put};
use minutehand_domain::name::PathSegment;
use minutehand_ports::store::{CloudServiceRecord, Page, PageRequest, ResourceGroup, Saved};
use minutehand_ports::{CloudServices, StoreError};

use crate::store::DynamoStore;
use crate::table::item::{Item, ItemBuilder, Reader, key, number, text};
use crate::table::{List, keys, transact_item as item};

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
        let page = list.page(&self.table, page).await?;
        let items = page.items.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Page { items, next: page.next })
    }

    async fn save(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        let put = Put::builder().table_name(&self.table.name).set_item(Some(write(service)));
        let put = match service.version.saturating_sub(1) {
            0 => put.condition_expression("attribute_not_exists(pk)"),
            before => put
                .condition_expression("version = :version AND uid = :uid")
                .expression_attribute_values(":version", number(before))
                .expression_attribute_values(":uid", text(&service.uid)),
        };
        self.table.save(vec![item(|it| Ok(it.put(put.build()?)))?]).await
    }

    async fn delete(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError> {
        let delete = Delete::builder()
            .table_name(&self.table.name)
            .set_key(Some(key(keys::cloud_service(&service.place))))
            .condition_expression("version = :version AND uid = :uid")
            .expression_attribute_values(":version", number(service.version))
            .expression_attribute_values(":uid", text(&service.uid))
            .build();
        self.table.save(vec![item(|it| Ok(it.delete(delete?)))?]).await
    }
}

pub(crate) fn write(service: &CloudServiceRecord) -> Item {
    ItemBuilder::at(keys::cloud_service(&service.place))
        .text("uid", &service.uid)
        .text("subscription", service.place.subscription.as_str())
        .text("group", service.place.group.as_str())
        .text("label", &service.label)
        .text("description", &service.description)
        .text("region", &service.region)
        .number("version", service.version)
        .done()
}

pub(crate) fn read(item: &Item) -> Result<CloudServiceRecord, StoreError> {
    let reader = Reader::new(item);
    let segment = |name: &str| {
        PathSegment::new(reader.text(name)?).map_err(|error| reader.corrupt(name, &error.message))
    };
    let owned = |name: &str| reader.text(name).map(str::to_owned);
    Ok(CloudServiceRecord {
        place: ResourceGroup { subscription: segment("subscription")?, group: segment("group")? },
        uid: owned("uid")?,
        label: owned("label")?,
        description: owned("description")?,
        region: owned("region")?,
        version: reader.number("version")?,
    })
}
