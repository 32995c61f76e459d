//! Checks a change of a job without making it.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::document::{JOB, JobDocument, canonical_names};
use minutehand_domain::job::{JobDefinition, Switch};
use minutehand_domain::name::Name;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::timing::{Change, Timing};
use minutehand_domain::warnings::{Warning, warnings};
use minutehand_ports::store::{CollectionRecord, JobRecord};
use serde_json::Value;

use super::describe::stored_schedule;
use super::run::check_not_final;
use super::timing::allowed_schedule;
use super::{JobPlace, Manage};
use crate::definition::shown_definition;
use crate::error::{AppError, Result};

/// How far ahead the occurrences before and after a change are compared.
const COMPARED_FOR: TimeDelta = TimeDelta::days(30);
/// The most occurrences that are compared on each side.
const COMPARED_MAX: usize = 100;

/// The request that would make the change, with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckedRequest {
    /// A PUT: the body is the whole job.
    Put(Value),
    /// A PATCH: the body is a merge patch.
    Patch(Value),
}

/// What a change would do.
#[derive(Debug, Clone, PartialEq)]
pub enum JobCheck {
    /// The change would be refused.
    Refused(Refusal),
    /// The change would be made.
    Accepted(Box<AcceptedCheck>),
}

/// A change that would be made.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedCheck {
    /// The job after the change.
    pub document: JobDocument,
    /// The job after the change, read.
    pub definition: JobDefinition,
    /// What its author should know.
    pub warnings: Vec<Warning>,
    /// When it fires, in words.
    pub sentence: String,
    /// What the change does to the job that exists; `None` if it creates one.
    pub change: Option<CheckedChange>,
}

/// What a change does to a job that exists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckedChange {
    /// Whether the timing changes: retries that are pending are dropped.
    pub changes_timing: bool,
    /// Whether the occurrences of a `count` are counted from the beginning again.
    pub restarts_count: bool,
    /// Occurrences of the next thirty days that are lost.
    pub gone: Vec<DateTime<Utc>>,
    /// Occurrences of the next thirty days that are added.
    pub new: Vec<DateTime<Utc>>,
}

impl Manage {
    /// Checks the body of a PUT or PATCH of a job, which may or may not exist, and changes nothing.
    ///
    /// # Errors
    ///
    /// If the collection does not exist, or the job of a PATCH. A body that is refused is not an error.
    pub async fn check_job(&self, of: JobPlace<'_>, request: CheckedRequest) -> Result<JobCheck> {
        let (place, collection, name) = of;
        let collection = self.browsed_parent(place, collection).await?;
        let found = self.ports.browse.job(&collection.collection.uid, name).await?;
        let now = self.ports.clock.now();
        let found = found.filter(|job| job.expires_at.is_none_or(|at| at > now));
        self.check_one(&collection, name, found, request).await
    }

    /// Checks the change of a job in its collection, as it was read or would be.
    pub(super) async fn check_one(
        &self,
        collection: &CollectionRecord,
        name: &Name,
        found: Option<JobRecord>,
        request: CheckedRequest,
    ) -> Result<JobCheck> {
        match self.checked(collection, name, found, request).await {
            Ok(accepted) => Ok(JobCheck::Accepted(Box::new(accepted))),
            Err(AppError::Refused(refusal)) => Ok(JobCheck::Refused(refusal)),
            Err(error) => Err(error),
        }
    }

    async fn checked(
        &self,
        collection: &CollectionRecord,
        name: &Name,
        found: Option<JobRecord>,
        request: CheckedRequest,
    ) -> Result<AcceptedCheck> {
        let (before, mut wanted) = match (&found, request) {
            (Some(old), CheckedRequest::Patch(patch)) => {
                let patch = canonical_names(patch, JOB)?;
                let (before, wanted) = self.wanted_by_patch(collection, old, &patch).await?;
                (Some(before), wanted)
            }
            (None, CheckedRequest::Patch(_)) => return Err(AppError::no_job(name)),
            (old, CheckedRequest::Put(body)) => {
                let body = canonical_names(body, JOB)?;
                let wanted = self.wanted_by_put(collection, old.as_ref(), &body).await?;
                let before = old.as_ref().map(|old| shown_definition(&old.uid, &old.document));
                (before.transpose()?, wanted)
            }
        };
        let limits = self.check(collection, before.as_ref(), &mut wanted)?;
        let now = self.ports.clock.now();
        let document = wanted.write();
        document.split()?;
        let Some((old, before)) = found.zip(before) else {
            limits.check_job_count(collection.job_count.saturating_add(1))?;
            let timing = Timing::created(&wanted, now);
            let timetable = allowed_schedule(&limits, &timing, (&wanted, ""), now)?;
            return Ok(AcceptedCheck {
                warnings: warnings(&wanted, Some(&timetable), now),
                sentence: timetable.sentence(),
                change: None,
                document,
                definition: wanted,
            });
        };
        check_not_final(&old)?;
        let (kept, uid) = (&old.timer.timing, old.uid.as_str());
        let change = kept.changed([&before, &wanted], uid, now).map_err(Refusal::from)?;
        let change = match change {
            Change::Keeps => None,
            Change::Becomes(timing) => Some(timing),
        };
        let timing = change.as_ref().unwrap_or(kept);
        let timetable = if change.is_some() {
            allowed_schedule(&limits, timing, (&wanted, uid), now)?
        } else {
            let schedule = timing.schedule(&wanted, uid, now).map_err(Refusal::from)?;
            schedule.policies.check(schedule.smallest_gap())?;
            schedule
        };
        let compared = change.map(|timing| CheckedChange {
            restarts_count: before.start_time != wanted.start_time
                || before.recurrence != wanted.recurrence,
            ..compare(&old, &wanted, &timing, &timetable, now)
        });
        Ok(AcceptedCheck {
            warnings: warnings(&wanted, change.map(|_| &timetable), now),
            sentence: timetable.sentence(),
            change: Some(compared.unwrap_or_default()),
            document,
            definition: wanted,
        })
    }
}

/// The occurrences of the next days before and after a change of timing.
fn compare(
    old: &JobRecord,
    wanted: &JobDefinition,
    timing: &Timing,
    timetable: &Schedule,
    now: DateTime<Utc>,
) -> CheckedChange {
    let until = now.checked_add_signed(COMPARED_FOR).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let coming = |schedule: Option<&Schedule>| -> BTreeSet<DateTime<Utc>> {
        let occurrences = schedule.into_iter().flat_map(|schedule| {
            std::iter::successors(schedule.at_or_after(now), |at| schedule.after(*at))
        });
        occurrences.take(COMPARED_MAX).take_while(|at| *at <= until).collect()
    };
    let stored = stored_schedule(old);
    let before = coming(stored.as_ref());
    let is_enabled = wanted.switch == Switch::Enabled && !timing.is_over(wanted);
    let after = coming(is_enabled.then_some(timetable));
    // If one list was cut, later occurrences of the other are neither gone nor new.
    let cut = |all: &BTreeSet<DateTime<Utc>>| {
        all.last().copied().filter(|_| all.len() == COMPARED_MAX).unwrap_or(until)
    };
    let known = cut(&before).min(cut(&after));
    let only = |these: &BTreeSet<DateTime<Utc>>, those: &BTreeSet<DateTime<Utc>>| {
        these.difference(those).copied().filter(|at| *at <= known).collect()
    };
    CheckedChange {
        changes_timing: true,
        restarts_count: false,
        gone: only(&before, &after),
        new: only(&after, &before),
    }
}
