//! Many jobs at once, for commands that look at a whole group.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_client::{CollectionPath, Job};
use minutehand_recurrence::{Recurrence, Rule, Start, Timetable};
use serde_json::{Map, Value};

use crate::failure::Result;
use crate::output::times::read;
use crate::work::{Work, in_collection};

/// The most jobs that are read. A larger installation is looked at collection by collection.
pub(crate) const JOBS_MAX: usize = 50_000;
/// The most collections that are read.
const COLLECTIONS_MAX: usize = 10_000;

/// How late an occurrence may be before it is reported.
const LATE_MAX: TimeDelta = TimeDelta::minutes(2);

/// The jobs of collections.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    pub(crate) collections: Vec<Members>,
    /// Whether there are more jobs than were read.
    pub(crate) is_cut: bool,
}

/// A collection with its jobs.
#[derive(Debug)]
pub(crate) struct Members {
    pub(crate) path: CollectionPath,
    pub(crate) is_on: bool,
    pub(crate) jobs: Vec<Job>,
}

impl Fleet {
    /// Reads one collection, or all of the group.
    pub(crate) async fn read(work: &Work, collection: Option<&str>) -> Result<Self> {
        let mut found = Vec::new();
        if let Some(name) = collection {
            let path = work.defaults().collection(Some(name))?;
            let found_one = work.client().collection(&path).await;
            let state = found_one.map_err(in_collection(work, &path))?.value.properties.state;
            found.push((path, state == "Enabled"));
        } else {
            let place = &work.defaults().place;
            for listed in work.client().collections(place).up_to(COLLECTIONS_MAX).await? {
                let path = work.defaults().collection(Some(&listed.value.name))?;
                found.push((path, listed.value.properties.state == "Enabled"));
            }
        }
        let mut fleet = Self::default();
        let mut left = JOBS_MAX;
        for (path, is_on) in found {
            let listed = work.client().jobs(&path, None).up_to(left.saturating_add(1)).await?;
            let mut jobs: Vec<Job> = listed.into_iter().map(|listed| listed.value).collect();
            fleet.is_cut |= jobs.len() > left;
            jobs.truncate(left);
            left -= jobs.len();
            fleet.collections.push(Members { path, is_on, jobs });
        }
        Ok(fleet)
    }

    /// All jobs, with their collections.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (&Members, &Job)> {
        self.collections
            .iter()
            .flat_map(|members| members.jobs.iter().map(move |job| (members, job)))
    }
}

/// Whether the next occurrence of a job has been due for a while and has not begun.
pub(crate) fn is_late(next: Option<&str>, now: DateTime<Utc>) -> bool {
    next.and_then(read).is_some_and(|next| next + LATE_MAX < now)
}

/// The timetable of a job from now on; `None` if it does not fire.
///
/// The next occurrence is the server's. A rule without a start counts from it: what it counted from
/// before is not in the document, and does not matter from there on.
pub(crate) fn timetable(job: &Job, now: DateTime<Utc>) -> Option<Timetable> {
    let properties: &Map<String, Value> = &job.properties;
    let next = read(job.status().next_execution_time.as_deref()?)?;
    let Some(recurrence) = properties.get("recurrence").filter(|value| !value.is_null()) else {
        return Some(Timetable::once(Some(next), now));
    };
    let rule = Rule::canonical(&Recurrence::from_json(recurrence).ok()?).ok()?;
    let start = properties.get("startTime").and_then(Value::as_str).and_then(read).unwrap_or(next);
    let used = u32::try_from(job.status().execution_count).unwrap_or(u32::MAX);
    Timetable::resumed(&rule, Start::Given(start), now, used).ok()
}
