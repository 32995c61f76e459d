//! What only the classic API has: cloud services, which are resource groups under another name, the
//! collections in them as its resources, and changes of all jobs of a collection.
//!
//! A cloud service exists if the classic API created it, or if its resource group has a collection.
//!
//! Three operations change several things, one after the other. A crash leaves the others as they
//! were, and the same request again does the rest:
//!
//! | operation | steps |
//! |---|---|
//! | delete a cloud service | each collection of the group, then the cloud service itself |
//! | set the state of all jobs | each job that has another state and is not completed or faulted |
//! | delete all jobs | each job |

use std::collections::BTreeMap;

use minutehand_domain::collection::CollectionDefinition;
use minutehand_domain::document::accept_collection;
use minutehand_domain::job::JobState;
use minutehand_domain::location::display_name;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::plan::Plan;
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_ports::store::{
    CloudServiceRecord, CollectionRecord, Page, PageRequest, ResourceGroup, Saved,
};
use serde_json::{Value, json};

use super::collections::NewCollection;
use super::{JobView, Manage, retry_on_stale};
use crate::definition::whole_collection;
use crate::error::{AppError, Result};
use crate::etag::Etag;

/// The size of a page when all collections or jobs are read.
const PAGE_ITEMS: u32 = 500;
/// The most collections, or cloud services, in one answer: four megabytes of XML at most. AWS Lambda
/// rejects answers above six.
const LISTED_MAX: usize = 3_000;
/// The most jobs that one request changes. The API of AWS ends a request after 29 seconds.
const JOBS_MAX: usize = 1_000;
/// The description that Azure gave to cloud services that are only resource groups.
const DESCRIPTION_OF_GROUP: &str = "Resource group based cloud service.";

/// A cloud service as it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudServiceView {
    /// The name, as it was first given.
    pub name: PathSegment,
    /// A short text for people.
    pub label: String,
    /// A longer text for people.
    pub description: String,
    /// The location of collections that are created in it.
    pub region: String,
    /// Its collections, by name.
    pub resources: Vec<ResourceView>,
    /// The version of what the classic API says of it.
    pub etag: Etag,
}

/// A collection as a resource of its cloud service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceView {
    /// The name, as it was first given.
    pub name: Name,
    /// The user's part, without secrets.
    pub definition: CollectionDefinition,
    /// The label, as it was sent.
    pub label: Option<String>,
    /// The version of the definition.
    pub etag: Etag,
}

/// What a client says of a cloud service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CloudServiceSettings {
    /// A short text for people; `None` is the name.
    pub label: Option<String>,
    /// A longer text for people.
    pub description: Option<String>,
    /// The location; `None` leaves it as it is.
    pub region: Option<String>,
}

/// What a client of the classic API says of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceSettings {
    /// The plan. The classic API has one Premium for two: a collection keeps the one that it has.
    pub plan: Plan,
    /// The quota, as a JSON object in the form of `quota`.
    pub quota: Option<Value>,
    /// The label, as it was sent.
    pub label: Option<String>,
}

/// A cloud service without its collections.
struct Found {
    record: Option<CloudServiceRecord>,
    name: PathSegment,
    region: String,
}

impl From<CollectionRecord> for ResourceView {
    fn from(record: CollectionRecord) -> Self {
        let etag = Etag::from(&record);
        let CollectionRecord { collection, label, .. } = record;
        Self { name: collection.name, definition: collection.definition, label, etag }
    }
}

impl Found {
    fn etag(&self) -> Etag {
        let none = || Etag::new(&self.name.key(), 0);
        self.record.as_ref().map_or_else(none, |record| Etag::new(&record.uid, record.version))
    }

    fn with(self, collections: Vec<CollectionRecord>) -> CloudServiceView {
        let etag = self.etag();
        let name = self.name;
        let (label, description) = match self.record {
            Some(record) => (record.label, record.description),
            None => (name.to_string(), DESCRIPTION_OF_GROUP.to_owned()),
        };
        let resources = collections.into_iter().map(ResourceView::from).collect();
        CloudServiceView { name, label, description, region: self.region, resources, etag }
    }
}

impl Manage {
    /// All cloud services of a subscription, with their collections, by name.
    ///
    /// # Errors
    ///
    /// If there are too many for one answer.
    pub async fn list_cloud_services(
        &self,
        subscription: &PathSegment,
    ) -> Result<Vec<CloudServiceView>> {
        let mut groups = BTreeMap::<String, (Option<CloudServiceRecord>, Vec<_>)>::new();
        for record in self.all_cloud_services(subscription).await? {
            let key = record.place.group.key();
            groups.entry(key).or_default().0 = Some(record);
        }
        for record in self.all_collections(subscription, None).await? {
            groups.entry(record.place.group.key()).or_default().1.push(record);
        }
        let mut services: Vec<CloudServiceView> = groups
            .into_values()
            .filter_map(|(record, collections)| {
                found(record, collections.first()).map(|found| found.with(collections))
            })
            .collect();
        services.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
        Ok(services)
    }

    /// Reads a cloud service with its collections.
    ///
    /// # Errors
    ///
    /// [`AppError::NoCloudService`] if it does not exist.
    pub async fn get_cloud_service(&self, place: &ResourceGroup) -> Result<CloudServiceView> {
        self.check_some_of(place)?;
        let record = self.ports.cloud_services.find(place).await?;
        let group = Some(&place.group);
        let collections = self.all_collections(&place.subscription, group).await?;
        let found = found(record, collections.first()).ok_or_else(|| no_cloud_service(place))?;
        Ok(found.with(collections))
    }

    /// The version of a cloud service; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn cloud_service_etag(&self, place: &ResourceGroup) -> Result<Option<Etag>> {
        Ok(self.find_cloud_service(place).await?.as_ref().map(Found::etag))
    }

    /// Creates a cloud service, or replaces what is said of it.
    ///
    /// # Errors
    ///
    /// If it exists in another location.
    pub async fn put_cloud_service(
        &self,
        place: &ResourceGroup,
        settings: CloudServiceSettings,
    ) -> Result<Etag> {
        self.check_all_of(place)?;
        let name = &place.group;
        retry_on_stale(format!("cloud service '{name}'"), || async {
            let old = self.find_cloud_service(place).await?;
            self.check_cloud_service_condition(name, old.as_ref())?;
            let wanted = settings.region.as_deref().map(display_name);
            if let (Some(old), Some(wanted)) = (&old, wanted) {
                check_region(&old.region, wanted)?;
            }
            let (region, record) = old.map(|old| (old.region, old.record)).unzip();
            let before = record.flatten();
            let wanted = wanted.unwrap_or(&self.settings.region);
            let next = CloudServiceRecord {
                place: before.as_ref().map_or(place, |before| &before.place).clone(),
                uid: before
                    .as_ref()
                    .map_or_else(|| self.ports.ids.new_id(), |before| before.uid.clone()),
                label: settings.label.clone().unwrap_or_else(|| name.to_string()),
                description: settings.description.clone().unwrap_or_default(),
                region: region.unwrap_or_else(|| wanted.to_owned()),
                version: before.map_or(1, |before| before.version + 1),
            };
            let saved = self.ports.cloud_services.save(&next).await?;
            Ok((saved == Saved::Kept).then(|| Etag::new(&next.uid, next.version)))
        })
        .await
    }

    /// Deletes a cloud service with its collections and their jobs.
    ///
    /// # Errors
    ///
    /// If it does not exist.
    pub async fn delete_cloud_service(&self, place: &ResourceGroup) -> Result<()> {
        self.check_all_of(place)?;
        let found = self.find_cloud_service(place).await?;
        self.check_cloud_service_condition(&place.group, found.as_ref())?;
        let found = found.ok_or_else(|| no_cloud_service(place))?;
        // The condition was about the cloud service, and not about each collection.
        let unconditional = self.only_if(super::Condition::default());
        for record in self.all_collections(&place.subscription, Some(&place.group)).await? {
            match unconditional.delete_collection(place, &record.collection.name).await {
                // Another request has deleted it.
                Ok(()) | Err(AppError::NoCollection { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut record = found.record;
        retry_on_stale(format!("cloud service '{}'", place.group), || {
            let stored = record.take();
            async move {
                let stored = match stored {
                    Some(stored) => Some(stored),
                    None => self.ports.cloud_services.find(place).await?,
                };
                let Some(stored) = stored else { return Ok(Some(())) };
                let saved = self.ports.cloud_services.delete(&stored).await?;
                Ok((saved == Saved::Kept).then_some(()))
            }
        })
        .await
    }

    /// Whether a name is free for a collection of a cloud service.
    ///
    /// # Errors
    ///
    /// If the cloud service does not exist.
    pub async fn is_name_free(&self, place: &ResourceGroup, name: &Name) -> Result<bool> {
        self.existing_cloud_service(place).await?;
        Ok(self.find_collection(place, name).await?.is_none())
    }

    /// Reads a collection as a resource of its cloud service.
    ///
    /// # Errors
    ///
    /// If it does not exist.
    pub async fn get_resource(&self, place: &ResourceGroup, name: &Name) -> Result<ResourceView> {
        self.collection(place, name).await.map(ResourceView::from)
    }

    /// Finds a collection as a resource of its cloud service.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn find_resource(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<Option<ResourceView>> {
        Ok(self.find_collection(place, name).await?.map(ResourceView::from))
    }

    /// Creates a collection in a cloud service, or replaces its plan, quota and label. What the classic
    /// API does not know stays: tags, state and extensions.
    ///
    /// # Errors
    ///
    /// If the cloud service does not exist, a value is refused, or the limits do not allow the jobs of
    /// the collection.
    pub async fn put_resource(
        &self,
        place: &ResourceGroup,
        name: &Name,
        settings: ResourceSettings,
    ) -> Result<ResourceView> {
        let saved = retry_on_stale(format!("job collection '{name}'"), || async {
            let service = self.existing_cloud_service(place).await?;
            let now = self.ports.clock.now();
            let found = self.find_collection(place, name).await?;
            self.check_collection_condition(name, found.as_ref())?;
            let ResourceSettings { plan, quota, label } = settings.clone();
            let Some(old) = found else {
                let body = with_settings(json!({"location": service.region}), plan, quota);
                let new = NewCollection { definition: accept_collection(&body)?, label };
                return self.create(place, name, new, now).await;
            };
            let whole = whole_collection(self.ports.sealer.as_ref(), &old).await?;
            let is_premium = |plan| matches!(plan, Plan::P10Premium | Plan::P20Premium);
            let before = old.collection.definition.plan;
            let plan = if is_premium(plan) && is_premium(before) { before } else { plan };
            let wanted = accept_collection(&with_settings(whole, plan, quota))?;
            self.replace(CollectionRecord { label, ..old }, wanted, now).await
        });
        saved.await.map(ResourceView::from)
    }

    /// Enables or disables all jobs of a collection. Jobs that are completed or faulted stay as they
    /// are, and so do those that have the state: a request that is sent again does what is left.
    ///
    /// # Errors
    ///
    /// If the collection does not exist, or has too many jobs for one request.
    pub async fn patch_all_jobs(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        state: JobState,
    ) -> Result<Vec<JobView>> {
        let body = json!({"properties": {"state": state.name()}});
        let mut jobs = self.all_jobs(place, collection).await?;
        for job in jobs.iter_mut().filter(|job| !job.state.is_final() && job.state != state) {
            match self.patch_job((place, collection, &job.name), body.clone()).await {
                Ok(changed) => *job = changed,
                Err(error) if has_ended(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(jobs)
    }

    /// Deletes all jobs of a collection.
    ///
    /// # Errors
    ///
    /// If the collection does not exist, or has too many jobs for one request.
    pub async fn delete_all_jobs(&self, place: &ResourceGroup, collection: &Name) -> Result<()> {
        for job in self.all_jobs(place, collection).await? {
            match self.delete_job((place, collection, &job.name)).await {
                Ok(()) => {}
                Err(error) if has_ended(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn all_jobs(&self, place: &ResourceGroup, collection: &Name) -> Result<Vec<JobView>> {
        let page = |page| self.list_jobs(place, collection, page);
        let jobs = all(JOBS_MAX, page).await?;
        jobs.ok_or_else(|| {
            let message = format!(
                "The job collection '{collection}' has more than {JOBS_MAX} jobs, the most that one \
                 request changes. Change each job by itself, or delete the job collection."
            );
            Refusal::invalid(message).into()
        })
    }

    async fn all_cloud_services(
        &self,
        subscription: &PathSegment,
    ) -> Result<Vec<CloudServiceRecord>> {
        let page =
            |page| async move { Ok(self.ports.cloud_services.list(subscription, page).await?) };
        let mut found = all(LISTED_MAX, page).await?.ok_or_else(|| too_many("cloud services"))?;
        found.retain(|service: &CloudServiceRecord| self.check_some_of(&service.place).is_ok());
        Ok(found)
    }

    async fn all_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
    ) -> Result<Vec<CollectionRecord>> {
        let page = |page| self.page_of_collections(subscription, group, page);
        all(LISTED_MAX, page).await?.ok_or_else(|| too_many("job collections"))
    }

    async fn existing_cloud_service(&self, place: &ResourceGroup) -> Result<Found> {
        self.find_cloud_service(place).await?.ok_or_else(|| no_cloud_service(place))
    }

    async fn find_cloud_service(&self, place: &ResourceGroup) -> Result<Option<Found>> {
        self.check_some_of(place)?;
        let record = self.ports.cloud_services.find(place).await?;
        if record.is_some() {
            return Ok(found(record, None));
        }
        let (group, page) = (Some(&place.group), PageRequest { from: None, items_max: 1 });
        let first = self.ports.collections.list(&place.subscription, group, page).await?;
        Ok(found(None, first.items.first()))
    }

    fn check_cloud_service_condition(
        &self,
        name: &PathSegment,
        found: Option<&Found>,
    ) -> Result<()> {
        self.check_condition(found.map(Found::etag), || format!("cloud service '{name}'"))
    }
}

/// A cloud service, by its item or by the first collection of its group.
fn found(record: Option<CloudServiceRecord>, first: Option<&CollectionRecord>) -> Option<Found> {
    if let Some(record) = record {
        let (name, region) = (record.place.group.clone(), record.region.clone());
        return Some(Found { record: Some(record), name, region });
    }
    let first = first?;
    let region = first.collection.definition.location.clone().unwrap_or_default();
    Some(Found { record: None, name: first.place.group.clone(), region })
}

/// The body of a collection with what the classic API says of it.
fn with_settings(mut body: Value, plan: Plan, quota: Option<Value>) -> Value {
    if let Some(body) = body.as_object_mut() {
        let properties = body.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("sku".to_owned(), json!({"name": plan.name()}));
            properties.insert("quota".to_owned(), quota.unwrap_or(Value::Null));
        }
    }
    body
}

fn check_region(region: &str, wanted: &str) -> Result<(), Refusal> {
    if wanted.eq_ignore_ascii_case(region) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::LocationChanged,
        format!(
            "The cloud service is in '{region}' and cannot move to '{wanted}'. Omit 'GeoRegion', or \
             create a cloud service with another name."
        ),
    ))
}

/// Whether a job could not change because it is gone or has ended.
fn has_ended(error: &AppError) -> bool {
    match error {
        AppError::NoJob { .. } => true,
        AppError::Refused(refusal) => refusal.code == Code::JobFinished,
        _ => false,
    }
}

fn no_cloud_service(place: &ResourceGroup) -> AppError {
    AppError::NoCloudService { name: place.group.to_string() }
}

fn too_many(what: &str) -> AppError {
    let message = format!(
        "There are more than {LISTED_MAX} {what}, too many for one answer. Use the API of 2016-03-01, \
         whose lists have pages."
    );
    Refusal::invalid(message).into()
}

/// All items of a list; `None` if there are more than this number.
async fn all<T, F>(items_max: usize, read: impl Fn(PageRequest) -> F) -> Result<Option<Vec<T>>>
where
    F: Future<Output = Result<Page<T>>>,
{
    let (mut items, mut from) = (Vec::new(), None);
    while items.len() <= items_max {
        let page = read(PageRequest { from, items_max: PAGE_ITEMS }).await?;
        items.extend(page.items);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    Ok((items.len() <= items_max).then_some(items))
}
