//! When a job fires, and how a change of the job affects that.
//!
//! A [`Timing`] is stored beside the definition. It says where the timetable begins, since when
//! occurrences count, and how many of the count are used up. These changes affect it: another
//! `startTime` or recurrence, other dates, another `jitter`, other times for pings, and enabling or disabling the job. Any other
//! change leaves the timing, and so the messages that are already sent, as they are.

use chrono::{DateTime, Utc};
use minutehand_recurrence::{Exceptions, Refused, Rule, Start, Timetable};

use crate::duration::Span;
use crate::extensions::JobExtensions;
use crate::job::{JobDefinition, Switch};
use crate::ping_window::PingWindow;
use crate::policies::Policies;
use crate::schedule::Schedule;

/// The generation of a job that was never changed.
pub const FIRST_GENERATION: u64 = 0;

/// The stored part of a job's timetable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A number that grows with every change of the start, the recurrence or the switch. A message of
    /// an older generation does not start.
    pub generation: u64,
    /// The start of a job without a `startTime`: the instant at which it was created, first enabled,
    /// or its timing changed. `None` until it is first enabled.
    pub anchor: Option<DateTime<Utc>>,
    /// The instant from which occurrences count. Earlier ones fell due before the job existed, or
    /// while it was disabled.
    pub since: DateTime<Utc>,
    /// The occurrences of the count that fell due before `since`.
    pub used: u32,
}

/// The effect of a change on the timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The timing stays the same.
    Keeps,
    /// The timing starts again, pauses or continues; messages of the old generation do not start.
    Becomes(Timing),
}

impl Timing {
    /// The timing of a new job.
    #[must_use]
    pub fn created(job: &JobDefinition, now: DateTime<Utc>) -> Self {
        Self::starting(FIRST_GENERATION, job, now)
    }

    /// A timing that starts now.
    fn starting(generation: u64, job: &JobDefinition, now: DateTime<Utc>) -> Self {
        let anchor = (job.switch == Switch::Enabled).then_some(now);
        Self { generation, anchor, since: now, used: 0 }
    }

    /// The effect of replacing a job's definition.
    ///
    /// # Errors
    ///
    /// If the old definition has no timetable, although it had one when it was accepted.
    pub fn changed(
        &self,
        [old, new]: [&JobDefinition; 2],
        job_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<Change, Refused> {
        let next = self.generation + 1;
        let rule = rule(old)?;
        if old.start_time != new.start_time || rule != self::rule(new)? {
            return Ok(Change::Becomes(Self::starting(next, new, now)));
        }
        let has_other_dates = dates(old, rule.as_ref())? != dates(new, rule.as_ref())?;
        Ok(match (old.switch, new.switch) {
            (Switch::Enabled, Switch::Enabled) if has_other_dates || starts(old) != starts(new) => {
                let still_to_come = self.since_next_start(old, job_uid, now)?;
                let Some(since) = still_to_come.or(has_other_dates.then_some(now)) else {
                    return Ok(Change::Keeps);
                };
                let used = self.used_at(old, since)?;
                Change::Becomes(Self { generation: next, used, since, ..*self })
            }
            (Switch::Enabled, Switch::Enabled) | (Switch::Disabled, Switch::Disabled) => {
                Change::Keeps
            }
            (Switch::Enabled, Switch::Disabled) => Change::Becomes(Self {
                generation: next,
                used: self.used_at(old, now)?,
                since: now,
                ..*self
            }),
            (Switch::Disabled, Switch::Enabled) => Change::Becomes(Self {
                generation: next,
                anchor: self.anchor.or(Some(now)),
                since: now,
                ..*self
            }),
        })
    }

    /// Whether a job that runs once has had its occurrence. If it is disabled after that and enabled
    /// again, it does not run a second time.
    #[must_use]
    pub const fn is_over(&self, job: &JobDefinition) -> bool {
        job.recurrence.is_none() && self.used > 0
    }

    /// The schedule of the job: its timetable with its dates, and its policies. A job that was never
    /// enabled gets one as if it were enabled now.
    ///
    /// # Errors
    ///
    /// [`Refused::NeverOccurs`] if it has no occurrence, its end and count aside.
    pub fn schedule(
        &self,
        job: &JobDefinition,
        job_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<Schedule, Refused> {
        let policies = Policies::of_job(job, job_uid);
        Ok(Schedule { policies, ..self.without_policies(job, now)? })
    }

    fn without_policies(
        &self,
        job: &JobDefinition,
        now: DateTime<Utc>,
    ) -> Result<Schedule, Refused> {
        let anchor = self.anchor.unwrap_or(now);
        let Some(rule) = rule(job)? else {
            // After a clock was set back, a given start may lie ahead again.
            let now = job.start_time.map_or(self.since.max(anchor), |_| self.since);
            return Ok(Timetable::once(job.start_time, now).into());
        };
        let start = job.start_time.map_or(Start::Anchor(anchor), Start::Given);
        let dates = dates(job, Some(&rule))?;
        Schedule::of_rule(&rule, start, (self.since, self.used), dates.as_ref())
    }

    /// From when on occurrences count if only their starts change: an occurrence whose instant has
    /// passed, and whose start has not, is still to come. `None` if nothing is still to come.
    fn since_next_start(
        &self,
        job: &JobDefinition,
        job_uid: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, Refused> {
        let next = self.schedule(job, job_uid, now)?.starting_from(now);
        Ok(next.map(|next| next.min(now).max(self.since)))
    }

    /// The occurrences of the count that have fallen due, including those that an outage skipped.
    fn used_at(&self, job: &JobDefinition, now: DateTime<Utc>) -> Result<u32, Refused> {
        if self.is_over(job) {
            return Ok(self.used);
        }
        let fallen_due = self.without_policies(job, now)?.count_before(now);
        Ok(self.used.saturating_add(u32::try_from(fallen_due).unwrap_or(u32::MAX)))
    }
}

/// What tells the starts of a job's occurrences from their instants: the window over which they are spread, and
/// when pings are owed.
fn starts(job: &JobDefinition) -> (Option<Span>, Option<PingWindow>) {
    let jitter = job.extensions.as_ref().and_then(|extensions| extensions.jitter);
    (jitter, job.action.ping_window())
}

/// The exceptions of a job from its rule.
fn dates(job: &JobDefinition, rule: Option<&Rule>) -> Result<Option<Exceptions>, Refused> {
    JobExtensions::dates(job.extensions.as_ref()).exceptions(rule.and_then(Rule::zone))
}

fn rule(job: &JobDefinition) -> Result<Option<Rule>, Refused> {
    job.recurrence.as_deref().map(Rule::canonical).transpose()
}

#[cfg(test)]
mod tests {
    use minutehand_recurrence::{WrittenDate, format_instant};
    use serde_json::json;

    use super::*;
    use crate::document::accept;
    use crate::plan::Plan;

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    /// A job with these properties beside its action.
    fn job(properties: &str) -> JobDefinition {
        let mut body: serde_json::Value = serde_json::from_str(properties).unwrap();
        body["action"] =
            json!({"type": "Http", "request": {"uri": "http://example.org", "method": "GET"}});
        accept(&json!({"properties": body}), Plan::Standard).unwrap()
    }

    fn next(timing: &Timing, job: &JobDefinition, now: &str) -> Vec<String> {
        let timetable = timing.schedule(job, "j", at(now)).unwrap();
        let coming = timetable.iter().filter(|occurrence| *occurrence >= at(now));
        coming.take(3).map(format_instant).collect()
    }

    fn becomes(change: Result<Change, Refused>) -> Timing {
        match change.unwrap() {
            Change::Becomes(timing) => timing,
            Change::Keeps => panic!("the timing stays"),
        }
    }

    const DAILY: &str = r#"{"recurrence":{"frequency":"day","count":5}}"#;

    #[test]
    fn an_equal_recurrence_in_other_words_keeps_the_timing() {
        let old = job(DAILY);
        let timing = Timing::created(&old, at("2027-01-01T12:00"));
        // The same rule in other words.
        let new =
            job(r#"{"recurrence":{"frequency":"Daily","interval":1,"count":5,"schedule":{}}}"#);
        assert_eq!(timing.changed([&old, &new], "j", at("2027-01-03T08:00")), Ok(Change::Keeps));
    }

    #[test]
    fn another_start_or_recurrence_starts_the_timing_again() {
        let old = job(DAILY);
        let timing = Timing::created(&old, at("2027-01-01T12:00"));
        for new in [
            r#"{"recurrence":{"frequency":"day","count":6}}"#,
            r#"{"startTime":"2026-01-01","recurrence":{"frequency":"day","count":5}}"#,
            "{}",
        ] {
            let changed = becomes(timing.changed([&old, &job(new)], "j", at("2027-01-03T08:00")));
            let expected = Timing {
                generation: 1,
                anchor: Some(at("2027-01-03T08:00")),
                since: at("2027-01-03T08:00"),
                used: 0,
            };
            assert_eq!(changed, expected, "{new}");
        }
    }

    #[test]
    fn a_count_continues_after_a_pause_and_disabled_time_uses_none_of_it() {
        let on = job(DAILY);
        let off = job(r#"{"recurrence":{"frequency":"day","count":5},"state":"disabled"}"#);
        let timing = Timing::created(&on, at("2027-01-01T12:00"));
        // The 1st and the 2nd have fired.
        let paused = becomes(timing.changed([&on, &off], "j", at("2027-01-03T08:00")));
        assert_eq!((paused.used, paused.generation), (2, 1));
        // The 3rd to the 9th fall into the disabled time.
        let resumed = becomes(paused.changed([&off, &on], "j", at("2027-01-10T08:00")));
        assert_eq!((resumed.used, resumed.generation), (2, 2));
        assert_eq!(
            next(&resumed, &on, "2027-01-10T08:00"),
            ["2027-01-10T12:00:00Z", "2027-01-11T12:00:00Z", "2027-01-12T12:00:00Z"],
        );
        assert_eq!(next(&resumed, &on, "2027-01-12T12:01"), [""; 0]);
    }

    #[test]
    fn a_job_created_disabled_begins_when_it_is_first_enabled() {
        let off = job(r#"{"recurrence":{"frequency":"day"},"state":"disabled"}"#);
        let on = job(r#"{"recurrence":{"frequency":"day"}}"#);
        let timing = Timing::created(&off, at("2027-01-01T12:00"));
        assert_eq!(timing.anchor, None);
        let enabled = becomes(timing.changed([&off, &on], "j", at("2027-01-05T09:30")));
        assert_eq!(
            next(&enabled, &on, "2027-01-05T09:30")[..2],
            ["2027-01-05T09:30:00Z", "2027-01-06T09:30:00Z"],
        );
        // Switched off and on again, it keeps that anchor.
        let paused = becomes(enabled.changed([&on, &off], "j", at("2027-01-07T00:00")));
        let again = becomes(paused.changed([&off, &on], "j", at("2027-01-08T20:00")));
        assert_eq!(next(&again, &on, "2027-01-08T20:00")[0], "2027-01-09T09:30:00Z");
    }

    #[test]
    fn a_job_that_runs_once_fires_when_enabled_if_its_start_has_passed() {
        let off = job(r#"{"startTime":"2027-01-02","state":"disabled"}"#);
        let on = job(r#"{"startTime":"2027-01-02"}"#);
        let timing = Timing::created(&off, at("2027-01-01T12:00"));
        let early = becomes(timing.changed([&off, &on], "j", at("2027-01-01T13:00")));
        assert_eq!(next(&early, &on, "2027-01-01T13:00"), ["2027-01-02T00:00:00Z"]);
        let late = becomes(timing.changed([&off, &on], "j", at("2027-01-05T09:30")));
        assert_eq!(next(&late, &on, "2027-01-05T09:30"), ["2027-01-05T09:30:00Z"]);
        // The clock was wrong, and is set back.
        let paused = becomes(late.changed([&on, &off], "j", at("2027-01-01T14:00")));
        let again = becomes(paused.changed([&off, &on], "j", at("2027-01-01T15:00")));
        assert_eq!(next(&again, &on, "2027-01-01T15:00"), ["2027-01-02T00:00:00Z"]);
    }

    #[test]
    fn a_job_that_runs_once_runs_once_even_if_it_is_enabled_again() {
        let on = job(r#"{"startTime":"2027-01-02"}"#);
        let off = job(r#"{"startTime":"2027-01-02","state":"disabled"}"#);
        let timing = Timing::created(&on, at("2027-01-01T12:00"));
        let before = becomes(timing.changed([&on, &off], "j", at("2027-01-01T23:59")));
        assert!(!becomes(before.changed([&off, &on], "j", at("2027-01-05"))).is_over(&on));
        let after = becomes(timing.changed([&on, &off], "j", at("2027-01-02T00:01")));
        assert!(becomes(after.changed([&off, &on], "j", at("2027-01-05"))).is_over(&on));
    }

    #[test]
    fn a_start_in_the_past_only_fixes_the_phase() {
        let weekly =
            job(r#"{"startTime":"2015-07-13T00:00:00Z","recurrence":{"frequency":"week"}}"#);
        let timing = Timing::created(&weekly, at("2016-03-30T20:40"));
        assert_eq!(next(&timing, &weekly, "2016-03-30T20:40")[0], "2016-04-04T00:00:00Z");
    }

    #[test]
    fn other_dates_keep_the_anchor_and_what_is_used_of_the_count() {
        let with = |dates: &str| {
            job(&format!(
                r#"{{"recurrence":{{"frequency":"day","count":5}},"minutehand":{{"exclude":{{"dates":[{dates}]}}}}}}"#
            ))
        };
        let (plain, old) = (job(DAILY), with(r#""2027-01-02""#));
        let timing = Timing::created(&old, at("2027-01-01T12:00"));
        // The 1st and the 3rd have fired.
        let new = with(r#""2027-01-02", "2027-01-05""#);
        let changed = becomes(timing.changed([&old, &new], "j", at("2027-01-03T13:00")));
        let expected = Timing {
            generation: 1,
            since: at("2027-01-03T13:00"),
            used: 2,
            anchor: Some(at("2027-01-01T12:00")),
        };
        assert_eq!(changed, expected);
        assert_eq!(
            next(&changed, &new, "2027-01-03T13:00"),
            ["2027-01-04T12:00:00Z", "2027-01-06T12:00:00Z", "2027-01-07T12:00:00Z"]
        );
        assert_eq!(next(&changed, &new, "2027-01-07T12:01"), [""; 0]);
        // Without any, and in other words.
        let without = becomes(timing.changed([&old, &plain], "j", at("2027-01-03T13:00")));
        assert_eq!(without, expected);
        let same = with(r#""2027-01-02/2027-01-02""#);
        assert_eq!(timing.changed([&old, &same], "j", at("2027-01-03T13:00")), Ok(Change::Keeps));
        // Dates give a job more to do whose recurrence is used up.
        let more = job(
            r#"{"recurrence":{"frequency":"day","endTime":"2027-01-09"},"minutehand":{"extraDates":["2027-01-08T20:00"]}}"#,
        );
        let less = job(r#"{"recurrence":{"frequency":"day","endTime":"2027-01-09"}}"#);
        let timing = Timing::created(&less, at("2027-01-01T12:00"));
        let changed = becomes(timing.changed([&less, &more], "j", at("2027-01-08T13:00")));
        assert_eq!(next(&changed, &more, "2027-01-08T13:00"), ["2027-01-08T20:00:00Z"]);
    }
}
