//! Repair: sends again what the queue must have held, computed from the store alone.
//!
//! A queue that is lost takes four kinds of messages with it, and the store knows three of them:
//!
//! | message | what the store knows | sent again |
//! |---|---|---|
//! | an occurrence that was dispatched | the timetable, a timer that is beyond it, and the last sign of life of a worker | those from shortly before that sign of life to the timer, and from before an outage that had just ended then, unless their attempts have ended or are known to be left out: the worker finds out which of them an outage cost |
//! | a retry, an error action or a notice | the record or the claim of the attempt before it | that attempt: the worker finds the record, and goes on from it |
//! | a long retry that was sent | its timer, which waits to look again | that retry |
//! | a `run` that no worker has claimed, or that one has given back | nothing | never: the user has to ask again |
//!
//! A disabled or finished job is in no index by time. A repair finds it in a walk over all timers: a
//! `run` of it may have been under way, or a retry, an error action or a notice may have been waiting.
//!
//! Spent timers, timers of deleted collections, and those of long retries that were not sent, stay due
//! until their work is done, so they repair themselves.
//!
//! Only what happened around the end of the last process is sent again, and of the one before an outage that
//! had just ended: the store knows when that was from the newest attempt and the signs of life. Older
//! attempts have been followed to their end, under the retry policies of their time.
//!
//! A repair writes nothing but messages. A crash leaves some of them, and the next repair sends them
//! all: each attempt is claimed once, whatever the number of its messages.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::firing::latest_until;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::job::JobState;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{DueTimer, HistoryEntry, JobTimer, JobsAtRest, PageRequest};
use minutehand_ports::{Clock, DispatchQueue, QueueMessage};

use super::dispatch::attempt_message;
use super::{FireStore, spans};
use crate::error::AppError;

/// Timers of a page.
const TIMERS: u32 = 100;
/// Attempts of a page of history, and the newest items of what was left out that are looked at.
const ATTEMPTS: u32 = 100;
/// The most pages of history of a job. More than one only if so many attempts are recent: `run`s, mostly.
const PAGES_MAX: usize = 100;
/// The most occurrences of a job from each instant on that is looked at. The horizon has room for 14.
/// There are more only if nothing took messages for hours, or the clock was set back by hours.
const OCCURRENCES_MAX: usize = 256;
/// Messages that are sent together.
const SENT_TOGETHER: usize = 500;

/// What a repair has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// Jobs that were looked at.
    pub jobs: u64,
    /// Occurrences that were dispatched, and not known to have run.
    pub occurrences: u64,
    /// Attempts that may have been under way, or whose retry, error action or notice may have been waiting.
    pub attempts: u64,
    /// Jobs whose timer cannot be read, and which stay as they are.
    pub unreadable: u64,
}

/// An attempt that may have to go on, if the last process ended soon after its time.
struct Candidate {
    job: JobRef,
    attempt: Attempt,
    at: DateTime<Utc>,
}

/// What a repair needs from the world.
#[derive(Clone)]
pub struct RepairPorts {
    /// The store, from which everything is computed.
    pub store: FireStore,
    /// The jobs that the index of timers does not have.
    pub jobs_at_rest: Arc<dyn JobsAtRest>,
    /// The queue, which takes what is sent again.
    pub queue: Arc<dyn DispatchQueue>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Computes what is to be sent again.
struct Repair<'a> {
    ports: &'a RepairPorts,
    now: DateTime<Utc>,
    /// From when on what has no record did not run.
    known_since: DateTime<Utc>,
    /// From when on work may have waited at the last sign of life of a worker.
    waited_since: Vec<DateTime<Utc>>,
    report: RepairReport,
    messages: Vec<QueueMessage>,
    candidates: Vec<Candidate>,
    /// The time of the newest attempt of all jobs.
    last_seen: Option<DateTime<Utc>>,
}

/// Sends again what the queue must have held. The process must be alone.
///
/// # Errors
///
/// If the store or the queue fails. The repair can be begun again.
pub async fn repair(ports: &RepairPorts) -> Result<RepairReport, AppError> {
    let (now, workers) = (ports.clock.now(), ports.store.pulses.read_pulses().await?.workers);
    let mut repair = Repair {
        ports,
        now,
        known_since: workers.history.known_since(HistoryDays::Sixty, now),
        waited_since: workers.waited_since(&spans(ports.clock.as_ref())),
        report: RepairReport::default(),
        messages: Vec::new(),
        candidates: Vec::new(),
        last_seen: None,
    };
    for shard in 0..ports.store.timers.shards() {
        repair.shard(shard).await?;
    }
    repair.jobs_at_rest().await?;
    repair.candidates();
    repair.send().await?;
    Ok(repair.report)
}

impl Repair<'_> {
    async fn shard(&mut self, shard: u32) -> Result<(), AppError> {
        let mut from = None;
        // Bounded by the timers of the shard.
        loop {
            let page = PageRequest { from, items_max: TIMERS };
            let page = self.ports.store.timers.due(shard, DateTime::<Utc>::MAX_UTC, page).await?;
            for due in page.items {
                match due.what {
                    DueTimer::Job(timer) => self.job(&timer, due.due_at).await?,
                    // It was sent, and its timer would send it again only after a while.
                    DueTimer::Retry { job, attempt } if due.due_at > attempt.due_at => {
                        self.report.attempts += 1;
                        self.messages.push(attempt_message(&job, attempt));
                    }
                    DueTimer::Retry { .. } | DueTimer::Purge { .. } => {}
                }
            }
            match page.next {
                Some(next) => from = Some(next),
                None => return Ok(()),
            }
            if self.messages.len() >= SENT_TOGETHER {
                self.send().await?;
            }
        }
    }

    /// Looks at the attempts of jobs for which nothing is planned.
    async fn jobs_at_rest(&mut self) -> Result<(), AppError> {
        let mut from = None;
        // Bounded by the timers of all jobs.
        loop {
            let page = PageRequest { from, items_max: TIMERS };
            let page = self.ports.jobs_at_rest.at_rest(page).await?;
            for job in &page.items {
                self.attempts(job).await?;
            }
            match page.next {
                Some(next) => from = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn job(&mut self, timer: &JobTimer, due_at: DateTime<Utc>) -> Result<(), AppError> {
        if timer.state != JobState::Enabled {
            // Its error action or a notice may have been waiting.
            return self.attempts(&timer.job).await.map(drop);
        }
        self.report.jobs += 1;
        let seen = self.attempts(&timer.job).await?;
        let snapshot = self.ports.store.snapshots.read(&timer.job).await?;
        let readable = snapshot.and_then(|snapshot| {
            let schedule = Schedule::read(&timer.timetable, &snapshot.document).ok()?;
            Some((snapshot, schedule))
        });
        let Some((snapshot, schedule)) = readable else {
            self.report.unreadable += 1;
            return Ok(());
        };
        let until = if timer.is_spent { DateTime::<Utc>::MAX_UTC } else { due_at };
        let since = snapshot.timing.since.max(self.known_since);
        let bounds = Bounds { since, now: self.now, until };
        let page = PageRequest { from: None, items_max: ATTEMPTS };
        let left_out = self.ports.store.history.list_left_out(&timer.job.uid, page).await?.items;
        let is_left_out =
            |nominal_at| left_out.iter().any(|it| it.contains(timer.generation, nominal_at));
        for nominal_at in dispatched(&schedule, bounds, &self.waited_since) {
            let attempt = schedule.attempt(timer.generation, nominal_at);
            if !seen.iter().any(|entry| entry.attempt.is_same(&attempt)) && !is_left_out(nominal_at)
            {
                self.report.occurrences += 1;
                self.messages.push(attempt_message(&timer.job, attempt));
            }
        }
        Ok(())
    }

    /// Reads the recent attempts of a job, and notes those that may have to go on.
    async fn attempts(&mut self, job: &JobRef) -> Result<Vec<HistoryEntry>, AppError> {
        let (mut seen, mut from) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = PageRequest { from, items_max: ATTEMPTS };
            let page = self.ports.store.history.list(&job.uid, page).await?;
            let since = self.since();
            let mut is_recent = true;
            for entry in &page.items {
                let ended_at = entry.record.as_ref().map(|record| record.ended_at);
                let at = ended_at.unwrap_or(entry.attempt.due_at);
                is_recent &= at >= since;
                self.last_seen = self.last_seen.max(Some(at.min(self.now)));
                let (job, attempt) = (job.clone(), entry.attempt.clone());
                self.candidates.push(Candidate { job, attempt, at });
            }
            self.forget();
            seen.extend(page.items);
            from = page.next;
            if from.is_none() || !is_recent {
                break;
            }
        }
        Ok(seen)
    }

    /// Drops candidates that are too old, as far as that is known.
    fn forget(&mut self) {
        let since = self.since();
        self.candidates.retain(|candidate| candidate.at >= since);
    }

    /// What ended before this time has been followed to its end: a message waits for the horizon at
    /// most, and work that stalled is found after the time to look again.
    fn since(&self) -> DateTime<Utc> {
        let spans = spans(self.ports.clock.as_ref());
        let last_seen = self.last_seen.unwrap_or(self.now);
        let back = |at: DateTime<Utc>, span| at.checked_sub_signed(span);
        let since = back(last_seen, spans.horizon + spans.look_again);
        // Over an outage it may have waited for longer.
        let waited = self.waited_since.last().and_then(|at| back(*at, spans.look_again));
        let since = since.unwrap_or(DateTime::<Utc>::MIN_UTC);
        waited.map_or(since, |waited| waited.min(since))
    }

    /// Turns the candidates into messages.
    fn candidates(&mut self) {
        self.forget();
        for Candidate { job, attempt, .. } in std::mem::take(&mut self.candidates) {
            self.report.attempts += 1;
            self.messages.push(attempt_message(&job, attempt));
        }
    }

    async fn send(&mut self) -> Result<(), AppError> {
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_by_key(|message| Reverse(message.due_at));
        while !messages.is_empty() {
            let rest = messages.len().saturating_sub(SENT_TOGETHER);
            let sent = messages.split_off(rest);
            self.ports.queue.send(&sent, self.now).await?;
        }
        Ok(())
    }
}

/// What bounds the occurrences of a job that are sent again.
#[derive(Clone, Copy)]
struct Bounds {
    /// Since when its timing holds and history is complete.
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    /// The instant of its timer: from there on nothing was dispatched.
    until: DateTime<Utc>,
}

/// The occurrences that were dispatched and may not have run: those from each instant of `waited_since` on,
/// the latest one until now, and those from now on.
///
/// History that has expired cannot tell whether an occurrence has run. So none is older than history is.
fn dispatched(
    schedule: &Schedule,
    Bounds { since, now, until }: Bounds,
    waited_since: &[DateTime<Utc>],
) -> BTreeSet<DateTime<Utc>> {
    // Of a job that makes up for more, those that were sent until the outage began may be owed, too.
    let makes_up = schedule.policies.catch_up.bounds().max > 1;
    let max = if makes_up { 2 * OCCURRENCES_MAX } else { OCCURRENCES_MAX };
    let from = |from| {
        std::iter::successors(schedule.at_or_after(from), |at| schedule.after(*at))
            .take_while(|at| *at < until)
            .take(max)
    };
    let latest = latest_until(schedule, since, now).unwrap_or(since);
    let worked_until = waited_since.last().map_or(latest, |at| (*at).max(since));
    // After the latest one, if the clock was set back.
    let coming = from(latest.max(worked_until));
    let waited = waited_since.iter().flat_map(|at| from((*at).max(since)));
    waited.filter(|at| *at < latest).chain(coming).collect()
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    fn found(rule: &serde_json::Value, bounds: [&str; 3]) -> Vec<String> {
        found_after(rule, bounds, None)
    }

    fn found_after(
        rule: &serde_json::Value,
        [since, now, until]: [&str; 3],
        waited_since: Option<&str>,
    ) -> Vec<String> {
        let rule = Rule::canonical(&Recurrence::from_json(rule).unwrap()).unwrap();
        let timetable = Timetable::new(&rule, Some(at("2027-01-01")), at(since)).unwrap();
        let timetable = Schedule::from(timetable);
        let bounds = Bounds { since: at(since), now: at(now), until: at(until) };
        let waited_since: Vec<_> = waited_since.map(at).into_iter().collect();
        dispatched(&timetable, bounds, &waited_since).into_iter().map(format_instant).collect()
    }

    #[test]
    fn the_latest_occurrence_and_those_up_to_the_timer_were_dispatched() {
        let minutes = json!({"frequency": "minute", "interval": 5});
        assert_eq!(
            found(&minutes, ["2027-03-01", "2027-03-01T10:01", "2027-03-01T10:15"]),
            ["2027-03-01T10:00:00Z", "2027-03-01T10:05:00Z", "2027-03-01T10:10:00Z"]
        );
        // The timer is before the latest occurrence: the server did not sweep for a while.
        let late = ["2027-03-01", "2027-03-01T10:01", "2027-03-01T09:30"];
        assert_eq!(found(&minutes, late), Vec::<String>::new());
        // Nothing from before the timing, and nothing older than history.
        let young = ["2027-03-01T10:01", "2027-03-01T10:01", "2027-03-01T10:10"];
        assert_eq!(found(&minutes, young), ["2027-03-01T10:05:00Z"]);
        // The last sign of life was at 09:54, and those up to 10:05 were dispatched then.
        assert_eq!(
            found_after(
                &minutes,
                ["2027-03-01", "2027-03-01T11:01", "2027-03-01T10:10"],
                Some("2027-03-01T09:40")
            ),
            [
                "2027-03-01T09:40:00Z",
                "2027-03-01T09:45:00Z",
                "2027-03-01T09:50:00Z",
                "2027-03-01T09:55:00Z",
                "2027-03-01T10:00:00Z",
                "2027-03-01T10:05:00Z"
            ]
        );
        // The clock was set back: workers had worked until 10:54 by the clock before.
        assert_eq!(
            found_after(
                &minutes,
                ["2027-03-01", "2027-03-01T01:01", "2027-03-01T11:00"],
                Some("2027-03-01T10:40")
            ),
            [
                "2027-03-01T10:40:00Z",
                "2027-03-01T10:45:00Z",
                "2027-03-01T10:50:00Z",
                "2027-03-01T10:55:00Z"
            ]
        );
        // It was a moment ago: none is sent twice.
        assert_eq!(
            found_after(
                &minutes,
                ["2027-03-01", "2027-03-01T10:01", "2027-03-01T10:10"],
                Some("2027-03-01T09:47")
            ),
            [
                "2027-03-01T09:50:00Z",
                "2027-03-01T09:55:00Z",
                "2027-03-01T10:00:00Z",
                "2027-03-01T10:05:00Z"
            ]
        );
        // A job that makes up for more of an outage was sent more of it.
        let line = "2 catchUp=all:86400000:100 1 every=5minute start=2027-01-01T00:00:00Z";
        let bounds = Bounds {
            since: at("2027-03-01"),
            now: at("2027-03-01T10:01"),
            until: at("2027-03-01T09:55"),
        };
        let waited_since = [at("2027-03-01T09:27")];
        let found_all = dispatched(&line.parse().unwrap(), bounds, &waited_since);
        assert_eq!(found_all.first().copied(), Some(at("2027-03-01T09:30")));
        assert_eq!(found_all.last().copied(), Some(at("2027-03-01T09:50")));
        assert_eq!(found_all.len(), 5);
        let years = json!({"frequency": "year"});
        let old = ["2027-01-01", "2027-03-01", "2028-01-01"];
        assert_eq!(found(&years, old), ["2027-01-01T00:00:00Z"]);
        // History is complete from later on.
        let old = ["2027-01-02", "2027-03-02", "2028-01-01"];
        assert_eq!(found(&years, old), Vec::<String>::new());
    }

    #[test]
    fn what_waited_over_an_outage_is_sent_again() {
        // An outage from 02:00 to 09:50 ended shortly before the last sign of life, at 09:55: what waited
        // when it began, the last one of it, which was made up for, and what came then.
        let waited_since = [at("2027-03-01T09:41"), at("2027-03-01T01:44")];
        let bounds = Bounds {
            since: at("2027-03-01"),
            now: at("2027-03-01T10:01"),
            until: at("2027-03-01T10:15"),
        };
        let minutely: Schedule = "1 every=5minute start=2027-01-01T00:00:00Z".parse().unwrap();
        let found_all = dispatched(&minutely, bounds, &waited_since);
        assert_eq!(found_all.first().copied(), Some(at("2027-03-01T01:45")));
        for sent in ["02:00", "09:45", "09:50", "09:55", "10:00", "10:05", "10:10"] {
            assert!(found_all.contains(&at(&format!("2027-03-01T{sent}"))), "{sent}");
        }
        // It had ended in the outage, and the last one was made up for.
        let ended: Schedule =
            "1 every=5minute start=2027-01-01T00:00:00Z last=1803893400".parse().unwrap();
        let found_all =
            dispatched(&ended, Bounds { until: DateTime::<Utc>::MAX_UTC, ..bounds }, &waited_since);
        assert_eq!(found_all.last().copied(), Some(at("2027-03-01T09:30")));
    }
}
