//! The occurrences of a subscription that failed for good.

use chrono::{DateTime, NaiveDate, Utc};
use minutehand_domain::failed_occurrence::FailedOccurrence;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::{PageRequest, ResourceGroup};

use super::Manage;
use crate::error::Result;

/// The most items that are read for one answer, if only some of them are wanted.
const LOOKED_AT_MAX: usize = 10_000;

/// Which failures are asked for.
#[derive(Debug, Clone)]
pub struct WantedFailures {
    /// The subscription.
    pub subscription: PathSegment,
    /// Only those of jobs of this collection.
    pub collection: Option<(PathSegment, Name)>,
    /// Only those of the job of this name.
    pub job: Option<Name>,
    /// Only those that ended at this instant or later.
    pub since: DateTime<Utc>,
    /// The most of them.
    pub max: usize,
    /// Where the page before has ended.
    pub from: Option<FailuresPosition>,
}

/// A position in the list of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailuresPosition {
    /// The day.
    pub day: NaiveDate,
    /// The position within the day.
    pub within: Option<String>,
}

/// A page of failures.
#[derive(Debug, Clone)]
pub struct Failures {
    /// The failures, the newest first.
    pub items: Vec<FailedOccurrence>,
    /// Where the next page begins.
    pub next: Option<FailuresPosition>,
    /// How many were read.
    pub looked_at: usize,
}

impl WantedFailures {
    fn wants(&self, failed: &FailedOccurrence, kept_since: DateTime<Utc>) -> bool {
        let path = &failed.collection_path;
        let is_of = |(wanted_group, wanted): &(PathSegment, Name)| {
            wanted_group.key() == path.group().to_lowercase()
                && wanted.key() == path.name().to_lowercase()
        };
        failed.ended_at >= self.since
            && failed.ended_at > kept_since
            && self.collection.as_ref().is_none_or(is_of)
            && self.job.as_ref().is_none_or(|job| job.key() == failed.job.to_lowercase())
    }
}

impl Manage {
    /// A page of the occurrences of a subscription that failed for good, the newest first. Each day
    /// since then is a list of its own.
    ///
    /// # Errors
    ///
    /// If the store does not answer, or the caller may not reach the collection that is asked for.
    pub async fn list_failures(&self, wanted: &WantedFailures) -> Result<Failures> {
        if let Some((group, name)) = wanted.collection.clone() {
            let subscription = wanted.subscription.clone();
            self.check_reach(&ResourceGroup { subscription, group }, &name)?;
        }
        let (now, kept_since) = (self.ports.clock.now(), self.history_since());
        let is_wanted = |failed: &FailedOccurrence| {
            wanted.wants(failed, kept_since) && self.reaches(&failed.collection_path)
        };
        let first_day = wanted.since.date_naive();
        let today = FailuresPosition { day: now.date_naive(), within: None };
        let mut next = Some(wanted.from.clone().unwrap_or(today));
        let mut found = Failures { items: Vec::new(), next: None, looked_at: 0 };
        // Bounded by the days since then, and by what one answer looks at.
        while let Some(position) = next.filter(|position| position.day >= first_day) {
            let wanted_more = wanted.max - found.items.len();
            if wanted_more == 0 || found.looked_at >= LOOKED_AT_MAX {
                found.next = Some(position);
                break;
            }
            let items_max = u32::try_from(wanted_more).unwrap_or(u32::MAX);
            let FailuresPosition { day, within } = position;
            let page = PageRequest { from: within, items_max };
            let page = self.ports.browse.failures(&wanted.subscription, day, page).await?;
            found.looked_at += page.items.len();
            found.items.extend(page.items.into_iter().filter(is_wanted));
            let day = if page.next.is_some() { Some(day) } else { day.pred_opt() };
            next = day.map(|day| FailuresPosition { day, within: page.next });
        }
        Ok(found)
    }
}
