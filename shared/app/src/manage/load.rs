//! How many occurrences fall due in each step of a time: all jobs of a subscription, by their timers.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use minutehand_domain::far::unusually_far;
use minutehand_domain::load::add_load;
use minutehand_ports::store::PageRequest;

use super::Manage;
use super::ahead::{Ahead, FiringJob, UpcomingOccurrence};
use crate::error::Result;

/// The most timers that are looked at for one answer.
const TIMERS_MAX: usize = 10_000;
/// The timers of a page.
const TIMERS_PAGE: u32 = 1_000;
/// The most occurrences and steps that are computed for one answer; a page of timers is completed.
const COMPUTED_MAX: u64 = 500_000;
/// The most steps whose jobs are named.
const PEAKS_MAX: usize = 5;
/// The most groups of a step.
const GROUPS_MAX: usize = 5;
/// The most names of a group.
const NAMES_MAX: usize = 3;
/// The most jobs whose next occurrence is unusually far away. Once they are found, none is looked for.
const FAR_MAX: usize = 20;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedLoad {
    /// The jobs.
    pub jobs: Ahead,
    /// The beginnings of the steps, and the end of the last one.
    pub bounds: Vec<DateTime<Utc>>,
    /// Where the answer before ended: a shard, and a place in it.
    pub from: Option<(u32, Option<String>)>,
    /// From when on next occurrences that are unusually far away are looked for; `None` if not at all.
    pub far_from: Option<DateTime<Utc>>,
}

/// How many occurrences fall due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The occurrences in each step, of the jobs that were looked at.
    pub counts: Vec<u64>,
    /// The jobs that were counted.
    pub jobs: usize,
    /// The timers that were looked at.
    pub looked_at: usize,
    /// The fullest steps, the fullest first.
    pub peaks: Vec<Peak>,
    /// Next occurrences that are unusually far away, if they were asked for.
    pub far: Vec<UpcomingOccurrence>,
    /// Where to go on; `None` at the end.
    pub next: Option<(u32, Option<String>)>,
}

/// A step in which many occurrences fall due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peak {
    /// Its beginning.
    pub at: DateTime<Utc>,
    /// Its occurrences.
    pub count: u64,
    /// The jobs with the most of them, by what fires them.
    pub groups: Vec<LoadGroup>,
}

/// Jobs that fire by the same rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadGroup {
    /// The rule in words.
    pub sentence: String,
    /// Their occurrences in the step.
    pub count: u64,
    /// The names of some of the jobs, in lower case.
    pub job_keys: Vec<String>,
}

impl Manage {
    /// Counts the occurrences of jobs in each step of a time, as the jobs are defined now.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn load(&self, wanted: &WantedLoad) -> Result<Load> {
        let collections = self.collections_ahead(&wanted.jobs).await?;
        let bounds = wanted.bounds.as_slice();
        let mut counts = vec![0; bounds.len().saturating_sub(1)];
        let (mut jobs, mut far) = (Vec::new(), Vec::new());
        let (mut looked_at, mut computed) = (0, 0);
        let shards = self.ports.browse.timer_shards();
        let mut next = Some(wanted.from.clone().unwrap_or((0, None)));
        while let Some((shard, from)) = next.take() {
            if shard >= shards {
                break;
            }
            if looked_at >= TIMERS_MAX || computed >= COMPUTED_MAX {
                next = Some((shard, from));
                break;
            }
            let page = PageRequest { from, items_max: TIMERS_PAGE };
            let until = DateTime::<Utc>::MAX_UTC;
            let page = self.ports.browse.timers(shard, until, page).await?;
            looked_at += page.items.len();
            for job in self.firing(page.items.into_iter(), &collections).await? {
                computed += add_load(&job.timetable, bounds, &mut counts);
                if let Some(from) = wanted.far_from.filter(|_| far.len() < FAR_MAX) {
                    let at = unusually_far(&job.timetable, from);
                    far.extend(at.and_then(|at| job.occurrence(at, &collections)));
                }
                jobs.push(job);
            }
            next = match page.next {
                Some(from) => Some((shard, Some(from))),
                None => Some((shard + 1, None)).filter(|(shard, _)| *shard < shards),
            };
        }
        let peaks = peaks(bounds, &counts, &jobs);
        Ok(Load { counts, jobs: jobs.len(), looked_at, peaks, far, next })
    }
}

/// The fullest steps, with the jobs that fill them.
fn peaks(bounds: &[DateTime<Utc>], counts: &[u64], jobs: &[FiringJob]) -> Vec<Peak> {
    let steps = bounds.iter().zip(bounds.iter().skip(1)).zip(counts);
    let mut full: Vec<_> = steps.filter(|(_, count)| **count > 0).collect();
    full.sort_by_key(|((from, _), count)| (std::cmp::Reverse(**count), **from));
    full.truncate(PEAKS_MAX);
    full.into_iter()
        .map(|((from, to), count)| Peak {
            at: *from,
            count: *count,
            groups: groups(jobs, *from, *to),
        })
        .collect()
}

fn groups(jobs: &[FiringJob], from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<LoadGroup> {
    let mut by_rule: BTreeMap<String, LoadGroup> = BTreeMap::new();
    for job in jobs {
        let count = job.timetable.count_between(from, to);
        if count == 0 {
            continue;
        }
        let sentence = job.timetable.sentence();
        let group = by_rule.entry(sentence.clone()).or_insert_with(|| LoadGroup {
            sentence,
            count: 0,
            job_keys: Vec::new(),
        });
        group.count += count;
        if group.job_keys.len() < NAMES_MAX {
            group.job_keys.push(job.key.clone());
        }
    }
    let mut groups: Vec<_> = by_rule.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups.truncate(GROUPS_MAX);
    groups
}
