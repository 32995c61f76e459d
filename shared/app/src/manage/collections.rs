//! Operations on collections: read, list, put, patch, enable, disable and delete.

use chrono::{DateTime, Utc};
use minutehand_domain::collection::{Collection, CollectionDefinition, CollectionState};
use minutehand_domain::document::{
    COLLECTION, accept_collection, canonical_names, collection_secrets, has_withheld,
    keep_extensions, lacks_extensions, merge_patch, withhold, write_collection,
};
use minutehand_domain::location::display_name;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::plan::{JobLimits, Plan, PlanLimits, second_free_collection};
use minutehand_domain::refusal::{Code, Refusal};
use minutehand_domain::snooze::check_snooze;
use minutehand_ports::store::{CollectionRecord, Page, PageRequest, ResourceGroup, Saved};
use serde_json::Value;

use super::secrets::keep_secrets;
use super::{CollectionView, Manage, retry_on_stale, secrets};
use crate::definition::{shown_definition, whole_collection};
use crate::error::{AppError, Result};

/// The size of a page when all collections or jobs are read.
const PAGE_ITEMS: u32 = 500;

/// What a client says of a collection that it creates.
pub(super) struct NewCollection {
    pub(super) definition: CollectionDefinition,
    /// The label of the classic API.
    pub(super) label: Option<String>,
}

impl Manage {
    /// Reads a collection.
    ///
    /// # Errors
    ///
    /// [`AppError::NoCollection`] if it does not exist.
    pub async fn get_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<CollectionView> {
        self.collection(place, name).await.map(CollectionView::from)
    }

    /// A page of the collections of a subscription, or of one of its groups, sorted by name.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn list_collections(
        &self,
        subscription: &PathSegment,
        group: Option<&PathSegment>,
        page: PageRequest,
    ) -> Result<Page<CollectionView>> {
        let page = self.page_of_collections(subscription, group, page).await?;
        let items = page.items.into_iter().map(CollectionView::from).collect();
        Ok(Page { items, next: page.next })
    }

    /// Creates a collection, or replaces the user's part of it.
    ///
    /// # Errors
    ///
    /// If the body is refused, or its limits do not allow the jobs of the collection.
    pub async fn put_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
        body: Value,
    ) -> Result<CollectionView> {
        let body = canonical_names(body, COLLECTION)?;
        let saved = retry_on_stale(format!("job collection '{name}'"), || async {
            let now = self.ports.clock.now();
            let found = self.find_collection(place, name).await?;
            self.check_collection_condition(name, found.as_ref())?;
            let wanted = self.wanted_collection_by_put(found.as_ref(), body.clone()).await?;
            if let Some(old) = found {
                return self.replace(old, wanted, now).await;
            }
            let new = NewCollection { definition: wanted, label: None };
            self.create(place, name, new, now).await
        });
        saved.await.map(CollectionView::from)
    }

    /// Changes the properties that a body contains, and leaves the others.
    ///
    /// # Errors
    ///
    /// If the collection does not exist, or the merged collection is refused, or its limits do not
    /// allow the jobs of the collection.
    pub async fn patch_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
        body: Value,
    ) -> Result<CollectionView> {
        let patch = canonical_names(body, COLLECTION)?;
        let saved = retry_on_stale(format!("job collection '{name}'"), || async {
            let old = self.collection(place, name).await?;
            self.check_collection_condition(name, Some(&old))?;
            let wanted = self.wanted_collection_by_patch(&old, patch.clone()).await?;
            self.replace(old, wanted, self.ports.clock.now()).await
        });
        saved.await.map(CollectionView::from)
    }

    /// Enables or disables a collection. Its jobs keep their own states.
    ///
    /// # Errors
    ///
    /// If the collection does not exist.
    pub async fn switch_collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
        state: CollectionState,
    ) -> Result<()> {
        let saved = retry_on_stale(format!("job collection '{name}'"), || async {
            let old = self.collection(place, name).await?;
            self.check_collection_condition(name, Some(&old))?;
            let wanted = CollectionDefinition { state, ..old.collection.definition.clone() };
            let sealed = old.sealed.clone();
            self.save(old, wanted, sealed, self.ports.clock.now()).await
        });
        saved.await.map(|_| ())
    }

    /// Deletes a collection with its jobs.
    ///
    /// # Errors
    ///
    /// If the collection does not exist.
    pub async fn delete_collection(&self, place: &ResourceGroup, name: &Name) -> Result<()> {
        retry_on_stale(format!("job collection '{name}'"), || async {
            let old = self.collection(place, name).await?;
            self.check_collection_condition(name, Some(&old))?;
            let now = self.ports.clock.now();
            let before = Some(&old.collection.definition);
            let entry = self.collection_entry(before, None, false);
            match self.ports.collections.delete(&old, now, Some(&entry)).await? {
                Saved::Kept => Ok(Some(())),
                Saved::Stale | Saved::Full => Ok(None),
            }
        })
        .await
    }

    /// The record of a collection that must exist.
    pub(super) async fn collection(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<CollectionRecord> {
        let found = self.find_collection(place, name).await?;
        found.ok_or_else(|| AppError::no_collection(place, name))
    }

    /// The record of the collection of a job, which must exist.
    pub(super) async fn parent(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<CollectionRecord> {
        let found = self.find_collection(place, name).await?;
        found.ok_or_else(|| AppError::no_parent(place, name))
    }

    /// The collection that the body of a PUT describes, with canonical names.
    pub(super) async fn wanted_collection_by_put(
        &self,
        found: Option<&CollectionRecord>,
        body: Value,
    ) -> Result<CollectionDefinition> {
        Ok(accept_collection(&self.with_unsent_of_collection(body, found).await?)?)
    }

    /// The collection that a PATCH with canonical names makes of a stored one.
    pub(super) async fn wanted_collection_by_patch(
        &self,
        old: &CollectionRecord,
        patch: Value,
    ) -> Result<CollectionDefinition> {
        let whole = whole_collection(self.ports.sealer.as_ref(), old).await?;
        let mut shown = whole.clone();
        if let Some(properties) = shown.get_mut("properties") {
            withhold(properties);
        }
        let mut merged = merge_patch(shown, patch, COLLECTION);
        keep_secrets(&mut merged, whole.get("properties"))?;
        Ok(accept_collection(&merged)?)
    }

    /// The body of a PUT with what the client left as it is or cannot send: secrets that are withheld,
    /// and the stored extensions.
    async fn with_unsent_of_collection(
        &self,
        mut body: Value,
        found: Option<&CollectionRecord>,
    ) -> Result<Value> {
        let Some(old) = found else {
            keep_secrets(&mut body, None)?;
            return Ok(body);
        };
        // Secrets are opened only if some are kept. Extensions may contain some.
        let keeps_some =
            lacks_extensions(&body) || body.get("properties").is_some_and(has_withheld);
        let stored = if keeps_some {
            whole_collection(self.ports.sealer.as_ref(), old).await?
        } else {
            write_collection(&old.collection.definition)
        };
        let stored = stored.get("properties").unwrap_or(&Value::Null);
        keep_secrets(&mut body, Some(stored))?;
        keep_extensions(&mut body, stored);
        Ok(body)
    }

    pub(super) async fn create(
        &self,
        place: &ResourceGroup,
        name: &Name,
        new: NewCollection,
        now: DateTime<Utc>,
    ) -> Result<Option<CollectionRecord>> {
        let NewCollection { definition: mut wanted, label } = new;
        self.check_created(place, name, &mut wanted).await?;
        let location =
            wanted.location.as_deref().map_or(self.settings.region.as_str(), display_name);
        wanted.location = Some(location.to_owned());
        let uid = self.ports.ids.new_id();
        let record = CollectionRecord {
            sealed: self.sealed(&uid, collection_secrets(&wanted)).await?,
            place: place.clone(),
            collection: Collection { uid, name: name.clone(), definition: wanted },
            job_count: 0,
            on_since: CollectionRecord::NEVER_SWITCHED,
            state_since: Some(now),
            label,
            version: 1,
        };
        let after = &record.collection.definition;
        let entry = self.collection_entry(None, Some(after), record.sealed.is_some());
        let saved = self.ports.collections.create(&record, Some(&entry)).await?;
        Ok((saved == Saved::Kept).then_some(record))
    }

    pub(super) async fn replace(
        &self,
        old: CollectionRecord,
        mut wanted: CollectionDefinition,
        now: DateTime<Utc>,
    ) -> Result<Option<CollectionRecord>> {
        let before = &old.collection.definition;
        if (wanted.plan, wanted.quota) != (before.plan, before.quota) {
            let limits =
                JobLimits::of(wanted.plan, wanted.quota.as_ref(), self.settings.plan_limits)?;
            let is_full = |jobs| limits.check_job_count(jobs).is_err();
            if is_full(old.job_count) && self.has_room(&old, is_full).await? {
                return Ok(None);
            }
        }
        self.check_replaced(&old, &mut wanted).await?;
        let sealed = self.sealed(&old.collection.uid, collection_secrets(&wanted)).await?;
        self.save(old, wanted, sealed, now).await
    }

    /// Checks a collection that is to be created beyond what its document says.
    pub(super) async fn check_created(
        &self,
        place: &ResourceGroup,
        name: &Name,
        wanted: &mut CollectionDefinition,
    ) -> Result<()> {
        JobLimits::of(wanted.plan, wanted.quota.as_ref(), self.settings.plan_limits)?;
        self.check_one_free(place, name, wanted.plan).await?;
        check_snooze(None, wanted.snoozed_until(), self.ports.clock.now())?;
        self.check_failure_action(wanted)
    }

    /// Checks a collection that is to replace a stored one beyond what its document says.
    pub(super) async fn check_replaced(
        &self,
        old: &CollectionRecord,
        wanted: &mut CollectionDefinition,
    ) -> Result<()> {
        let before = &old.collection.definition;
        wanted.location = Some(same_location(before, wanted.location.as_deref())?);
        if (wanted.plan, wanted.quota) != (before.plan, before.quota) {
            self.check_one_free(&old.place, &old.collection.name, wanted.plan).await?;
            let limits =
                JobLimits::of(wanted.plan, wanted.quota.as_ref(), self.settings.plan_limits)?;
            self.check_jobs_fit(old, limits).await?;
        }
        check_snooze(before.snoozed_until(), wanted.snoozed_until(), self.ports.clock.now())?;
        self.check_failure_action(wanted)
    }

    /// Checks the failure action beyond what its document says, and opens its certificate.
    fn check_failure_action(&self, wanted: &mut CollectionDefinition) -> Result<()> {
        let limits = JobLimits::of(wanted.plan, wanted.quota.as_ref(), self.settings.plan_limits)?;
        let Some(action) = wanted.on_failure_mut() else {
            return Ok(());
        };
        limits.check_authentication(action.target().authenticates())?;
        self.check_aws([action.target()].into_iter())?;
        Ok(secrets::open_certificate(action.target_mut(), self.ports.certificates.as_ref())?)
    }

    pub(super) async fn save(
        &self,
        old: CollectionRecord,
        wanted: CollectionDefinition,
        sealed: Option<Vec<u8>>,
        now: DateTime<Utc>,
    ) -> Result<Option<CollectionRecord>> {
        let before = &old.collection.definition;
        let switched_on = wanted.state.is_on() && !before.state.is_on();
        let has_changed = wanted.state != before.state;
        let writes_secrets = sealed.is_some() && before.on_failure() != wanted.on_failure();
        let entry = self.collection_entry(Some(before), Some(&wanted), writes_secrets);
        let record = CollectionRecord {
            on_since: if switched_on { now } else { old.on_since },
            sealed,
            state_since: if has_changed { Some(now) } else { old.state_since },
            collection: Collection { definition: wanted, ..old.collection },
            ..old
        };
        let saved = self.ports.collections.replace(&record, Some(&entry)).await?;
        let record = CollectionRecord { version: record.version + 1, ..record };
        Ok((saved == Saved::Kept).then_some(record))
    }

    /// Checks that no other collection of the subscription has the plan Free.
    async fn check_one_free(&self, place: &ResourceGroup, name: &Name, plan: Plan) -> Result<()> {
        if plan != Plan::Free || self.settings.plan_limits == PlanLimits::Off {
            return Ok(());
        }
        let mut from = None;
        // Bounded by the collections of the subscription.
        loop {
            let page = PageRequest { from, items_max: PAGE_ITEMS };
            let page = self.ports.collections.list(&place.subscription, None, page).await?;
            let other = page.items.iter().find(|other| {
                let same = other.place.group == place.group && other.collection.name == *name;
                other.collection.definition.plan == Plan::Free && !same
            });
            if let Some(other) = other {
                let path = other.place.collection_path(&other.collection.name);
                let shown = Some(&other.collection.name).filter(|_| self.reaches(&path));
                return Err(second_free_collection(shown).into());
            }
            let Some(next) = page.next else { return Ok(()) };
            from = Some(next);
        }
    }

    /// Checks the jobs of a collection against another plan or quota.
    async fn check_jobs_fit(&self, old: &CollectionRecord, limits: JobLimits) -> Result<()> {
        limits.check_job_count(old.job_count)?;
        let (mut from, now) = (None, self.ports.clock.now());
        // Bounded by the jobs of the collection.
        loop {
            let page = PageRequest { from, items_max: PAGE_ITEMS };
            let page = self.ports.jobs.list(&old.collection.uid, now, page).await?;
            for record in &page.items {
                let job = shown_definition(&record.uid, &record.document)?;
                let schedule = record.timer.timing.schedule(&job, &record.uid, now);
                limits.check_gap(schedule.ok().and_then(|schedule| schedule.smallest_gap()))?;
                limits.check_authentication(secrets::authenticates(&job))?;
            }
            let Some(next) = page.next else { return Ok(()) };
            from = Some(next);
        }
    }
}

/// The location of a collection that is replaced, which must stay the same.
fn same_location(before: &CollectionDefinition, wanted: Option<&str>) -> Result<String, Refusal> {
    let location = before.location.as_deref().unwrap_or_default();
    let moved = wanted.map(display_name).filter(|wanted| !wanted.eq_ignore_ascii_case(location));
    let Some(wanted) = moved else { return Ok(location.to_owned()) };
    Err(Refusal::new(
        Code::LocationChanged,
        format!(
            "The job collection is in '{location}' and cannot move to '{wanted}'. Omit 'location', or \
             create a job collection with another name."
        ),
    ))
}
