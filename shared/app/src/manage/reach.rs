//! What a caller may reach. Every read of a collection by its name, and every list of them, goes through
//! this file, so a caller who is limited to some collections sees no others, whatever the operation is.

use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::reach::Reach;
use minutehand_ports::store::{CollectionRecord, Page, PageRequest, ResourceGroup};

use super::Manage;
use crate::error::{AppError, Result};

impl Manage {
    /// The same service for a caller who may reach these collections.
    #[must_use]
    pub fn within(&self, reach: Reach) -> Self {
        Self { reach, ..self.clone() }
    }

    /// Whether lists leave out collections that the caller may not reach.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        !self.reach.is_everything()
    }

    /// Refuses a caller who may not reach the whole installation.
    ///
    /// # Errors
    ///
    /// [`AppError::OutOfReach`] if the caller is limited to some collections.
    pub fn check_everything(&self) -> Result<()> {
        if self.is_limited() { Err(self.out_of_reach(None)) } else { Ok(()) }
    }

    /// Refuses a caller who may not reach a collection, whether it exists or not.
    pub(super) fn check_reach(&self, place: &ResourceGroup, name: &Name) -> Result<()> {
        if !self.is_limited() {
            return Ok(());
        }
        let path = place.collection_path(name);
        if self.reaches(&path) { Ok(()) } else { Err(self.out_of_reach(Some(path.to_string()))) }
    }

    /// Refuses a caller who may reach no collection of a resource group, whether it exists or not.
    pub(super) fn check_some_of(&self, place: &ResourceGroup) -> Result<()> {
        let ResourceGroup { subscription, group } = place;
        if self.reach.has_some_of(subscription.as_str(), group.as_str()) {
            return Ok(());
        }
        Err(self.out_of_reach(Some(format!("{subscription}/{group}"))))
    }

    /// Refuses a caller who may not reach every collection of a resource group.
    pub(super) fn check_all_of(&self, place: &ResourceGroup) -> Result<()> {
        let ResourceGroup { subscription, group } = place;
        if self.reach.has_all_of(subscription.as_str(), group.as_str()) {
            return Ok(());
        }
        Err(self.out_of_reach(Some(format!("{subscription}/{group}/*"))))
    }

    /// Whether a caller may reach the collection of a path.
    #[must_use]
    pub fn reaches(&self, path: &CollectionPlace) -> bool {
        self.reach.has(path)
    }

    /// The path of a collection by its id; `None` if it is gone.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn collection_path(&self, uid: &str) -> Result<Option<CollectionPlace>> {
        Ok(self.ports.browse.collection_path(uid).await?)
    }

    fn out_of_reach(&self, what: Option<String>) -> AppError {
        AppError::OutOfReach { what, reach: self.reach.to_string() }
    }

    /// Finds a collection.
    pub(super) async fn find_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>> {
        self.check_reach(place, name)?;
        Ok(self.ports.collections.find(place, name).await?)
    }

    /// Finds a collection, for a look at it.
    pub(super) async fn browse_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<CollectionRecord>> {
        self.check_reach(place, name)?;
        Ok(self.ports.browse.collection(place, name).await?)
    }

    /// A page of the collections of a subscription, or of one of its groups. It may have fewer than were
    /// asked for and not be the last.
    pub(super) async fn page_of_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>> {
        let page = self.ports.collections.list(subscription, group, page).await?;
        Ok(self.within_reach(page))
    }

    /// The same for a look at all of a subscription.
    pub(super) async fn browsed_page_of_collections(
        &self,
        subscription: &PathSegment,
        page: PageRequest,
    ) -> Result<Page<CollectionRecord>> {
        let page = self.ports.browse.collections(subscription, page).await?;
        Ok(self.within_reach(page))
    }

    fn within_reach(&self, mut page: Page<CollectionRecord>) -> Page<CollectionRecord> {
        if self.is_limited() {
            page.items.retain(|record| {
                self.reaches(&record.place.collection_path(&record.collection.name))
            });
        }
        page
    }
}
