//! Reads for people and their tools. They are as the store was a moment ago.

use chrono::{DateTime, Utc};
use minutehand_domain::action::Target;
use minutehand_domain::job::{JobCounters, JobDefinition, JobState};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::schedule::Schedule;
use minutehand_domain::snooze::snoozed_at;
use minutehand_ports::store::{CollectionRecord, JobRecord, Page, PageRequest, ResourceGroup};
use minutehand_recurrence::zone::Zone;

use super::describe::Facts;
use super::present::SinceByJob;
use super::{JobPlace, Manage};
use crate::definition::shown_definition;
use crate::error::{AppError, Result};

/// A job in one row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// The name.
    pub name: Name,
    /// The state.
    pub state: JobState,
    /// When it fires, in words; `None` if this version cannot read it.
    pub sentence: Option<String>,
    /// The time zone of its recurrence; `None` is UTC.
    pub zone: Option<&'static str>,
    /// Its next occurrence.
    pub next_at: Option<DateTime<Utc>>,
    /// What it has done.
    pub counters: JobCounters,
    /// The type of its action; `None` if this version cannot read it.
    pub action: Option<&'static str>,
    /// What its action calls, without secrets; `None` if this version cannot read it.
    pub target: Option<String>,
    /// Since when an attempt of it runs, if one does and that is known.
    pub running_since: Option<DateTime<Utc>>,
    /// Since when an attempt is due that waits.
    pub waiting_since: Option<DateTime<Utc>>,
    /// Until when it is not shown as needing someone, because it or its collection is snoozed.
    pub snoozed_until: Option<DateTime<Utc>>,
}

impl Manage {
    /// A page of the jobs of a collection whose names begin with a prefix, in rows.
    ///
    /// # Errors
    ///
    /// If the collection does not exist.
    pub async fn list_rows(
        &self,
        place: &ResourceGroup,
        collection: &Name,
        prefix: &str,
        page: PageRequest,
    ) -> Result<Page<JobRow>> {
        let collection = self.browsed_parent(place, collection).await?;
        let now = self.ports.clock.now();
        let page = self.ports.browse.jobs(&collection.collection.uid, prefix, now, page).await?;
        let present = self.all_present().await?;
        let since = present.map(|it| it.since_by_job(&collection.collection.uid));
        let since = since.unwrap_or_default();
        let rows = page.items.iter().map(|job| row(&collection, job, &since, now));
        Ok(Page { items: rows.collect(), next: page.next })
    }

    /// A page of the subscriptions that have had a collection.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the caller is limited to some collections.
    pub async fn list_subscriptions(&self, page: PageRequest) -> Result<Page<PathSegment>> {
        self.check_everything()?;
        Ok(self.ports.browse.subscriptions(page).await?)
    }

    /// A collection that must exist, for a look at its jobs.
    pub(super) async fn browsed_parent(
        &self,
        place: &ResourceGroup,
        name: &Name,
    ) -> Result<CollectionRecord> {
        let found = self.browse_collection(place, name).await?;
        found.ok_or_else(|| AppError::no_parent(place, name))
    }

    /// A job that must exist, with its collection, for a look at it.
    pub(super) async fn browsed_job(
        &self,
        of: JobPlace<'_>,
    ) -> Result<(CollectionRecord, JobRecord)> {
        let (place, collection, name) = of;
        let collection = self.browsed_parent(place, collection).await?;
        let job = self.ports.browse.job(&collection.collection.uid, name).await?;
        let now = self.ports.clock.now();
        let job = job.filter(|job| job.expires_at.is_none_or(|at| at > now));
        let job = job.ok_or_else(|| AppError::no_job(name))?;
        Ok((collection, job))
    }
}

pub(super) fn row(
    collection: &CollectionRecord,
    job: &JobRecord,
    since: &SinceByJob,
    now: DateTime<Utc>,
) -> JobRow {
    let [running_since, waiting_since] = since.get(&job.uid).copied().unwrap_or_default();
    // A job that this version cannot read must not make the whole list fail.
    let definition = shown_definition(&job.uid, &job.document).ok();
    let timing = &job.timer.timing;
    let schedule = definition.as_ref().and_then(|it| timing.schedule(it, &job.uid, now).ok());
    let target = definition.as_ref().map(|it| &it.action.action.target);
    let own = definition.as_ref().and_then(JobDefinition::snoozed_until);
    let snoozed_until = own.max(collection.collection.definition.snoozed_until());
    JobRow {
        name: job.name.clone(),
        state: job.timer.state,
        sentence: schedule.as_ref().map(Schedule::sentence),
        zone: schedule.and_then(|schedule| schedule.timetable.zone().map(Zone::name)),
        next_at: Facts::of(collection, job).next_occurrence(now),
        counters: job.timer.counters,
        action: target.map(Target::type_name),
        target: target.map(Target::summary),
        running_since,
        waiting_since,
        snoozed_until: snoozed_at(snoozed_until, now),
    }
}
