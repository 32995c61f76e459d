//! Reads for people and their tools. They are as the store was a moment ago.

use domain::name::{Name, PathSegment};
use ports::store::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup};

use super::Manage;
use crate::error::AppError;

impl Manage {
    /// A page of the subscriptions that have had a collection.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn list_subscriptions(
        &self,
        page: PageRequest,
    ) -> Result<Page<PathSegment>, AppError> {
        Ok(self.ports.browse.subscriptions(page).await?)
    }

    /// A collection that must exist, for a look at its jobs.
    pub(super) async fn browsed_parent(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<CollectionRecord, AppError> {
        let found = self.ports.browse.collection(place, name).await?;
        found.ok_or_else(|| AppError::NoParent {
            group: place.group.to_string(),
            name: name.to_string(),
        })
    }

    /// A job that must exist, with its collection, for a look at it.
    pub(super) async fn browsed_job(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        name: &Name,
    ) -> Result<(CollectionRecord, JobRecord), AppError> {
        let collection = self.browsed_parent(place, collection).await?;
        let job = self.ports.browse.job(&collection.collection.uid, name).await?;
        let job = job.ok_or_else(|| AppError::NoJob { name: name.to_string() })?;
        Ok((collection, job))
    }
}
