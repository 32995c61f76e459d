use minutehand_domain::name::PathSegment;
use minutehand_ports_macro::port;

use super::{Page, PageRequest, ResourceGroup, Saved, StoreError};

/// A cloud service as it is stored: what the classic API says of a resource group.
///
/// A resource group needs no such item. It has one if a client of the classic API created it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudServiceRecord {
    /// The resource group of the same name, in the spelling in which it was first given.
    pub place: ResourceGroup,
    /// Its unique id, never reused.
    pub uid: String,
    /// A short text for people.
    pub label: String,
    /// A longer text for people.
    pub description: String,
    /// The location of collections that are created in it.
    pub region: String,
    /// The number of this change of the cloud service; the first is 1.
    pub version: u64,
}

/// Stores cloud services. Names match without regard to case.
#[port]
pub trait CloudServices: Send + Sync {
    /// Finds a cloud service by its name.
    async fn find(&self, place: &ResourceGroup) -> Result<Option<CloudServiceRecord>, StoreError>;

    /// Lists the cloud services of a subscription, by name.
    async fn list(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CloudServiceRecord>, StoreError>;

    /// Stores a version of a cloud service, if the version before it is the stored one. There is none
    /// before the first.
    async fn save(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError>;

    /// Deletes a cloud service that was read at `service.version`. Its collections stay.
    async fn delete(&self, service: &CloudServiceRecord) -> Result<Saved, StoreError>;
}
