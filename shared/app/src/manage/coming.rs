//! The coming occurrences of a job, from its stored timing.

use chrono::{DateTime, Utc};
use minutehand_domain::firing::NotFiring;
use minutehand_domain::refusal::Refusal;
use minutehand_domain::schedule::Schedule;

use super::describe::Facts;
use super::{JobPlace, Manage};
use crate::definition::shown_definition;
use crate::error::Result;

/// The occurrences that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedOccurrences {
    /// Only those at or after this instant; `None` is now.
    pub from: Option<DateTime<Utc>>,
    /// The most of them.
    pub max: usize,
}

/// The coming occurrences of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coming {
    /// All its occurrences. Those of a disabled job are what it would do if it were enabled now.
    pub schedule: Schedule,
    /// The occurrences that were asked for.
    pub occurrences: Vec<DateTime<Utc>>,
    /// Whether none follows them.
    pub ends: bool,
    /// Why the job does not fire.
    pub not_firing: Vec<NotFiring>,
}

impl Manage {
    /// The coming occurrences of a job.
    ///
    /// # Errors
    ///
    /// If the collection or the job does not exist, or the job cannot be read.
    pub async fn coming(&self, of: JobPlace<'_>, wanted: WantedOccurrences) -> Result<Coming> {
        let (collection, job) = self.browsed_job(of).await?;
        let now = self.ports.clock.now();
        let facts = Facts::of(&collection, &job);
        let not_firing = facts.not_firing(now);
        let definition = shown_definition(&job.uid, &job.document)?;
        let timing = &job.timer.timing;
        let timetable = timing.schedule(&definition, &job.uid, now).map_err(Refusal::from)?;
        let is_over = job.timer.state.is_final() || timing.is_over(&definition);
        // What is due at once is still to come, even if its instant has just passed.
        let next = facts.next_occurrence(now).unwrap_or(now);
        let first = timetable.at_or_after(wanted.from.unwrap_or(next)).filter(|_| !is_over);
        let mut coming = std::iter::successors(first, |at| timetable.after(*at));
        let occurrences = coming.by_ref().take(wanted.max).collect();
        let ends = coming.next().is_none();
        Ok(Coming { schedule: timetable, occurrences, ends, not_firing })
    }
}
