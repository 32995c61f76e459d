//! The documents of jobs: when they run, and what follows a failure.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use chrono::{DateTime, NaiveDate};
use minutehand_domain::attempt::{Attempt, Occurrence};
use serde_json::{Value, json};

use super::EVER;
use super::run::Executed;
use super::zone::{ByClock, Zone};
use crate::simulation::time::{SECOND, instant, micros};

/// The timing and the retry policy of a job, read from its document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) start: i64,
    pub(super) every: Option<i64>,
    /// The clock that it follows, in place of `every`.
    pub(super) by_clock: Option<ByClock>,
    pub(super) count: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) retries: u32,
    pub(super) interval: i64,
    pub(super) waits: Waits,
    /// The retries of the error action, if there is one.
    pub(super) error_action: Option<Retry>,
    /// Of the occurrences of an outage, so many of the latest run.
    pub(super) made_up: i64,
    /// And only those that are not older than this at its end.
    pub(super) made_up_within: i64,
    /// How late a first attempt may start.
    pub(super) lateness_max: Option<i64>,
    /// Within which time after its instant an occurrence starts.
    pub(super) jitter: i64,
    /// When no occurrence exists: from, until.
    pub(super) excluded: Vec<(i64, i64)>,
    /// The further occurrences, in order.
    pub(super) extra: Vec<i64>,
    /// Whether it lets no attempts overlap.
    pub(super) takes_turns: bool,
    /// After how many failures in a row it pauses.
    pub(super) pauses_after: Option<u64>,
    /// Whether it says that it is paused.
    pub(super) is_paused: bool,
    /// How long before and after an occurrence its ping may come, if it expects one.
    pub(super) pings: Option<(i64, i64)>,
}

/// A retry policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Retry {
    pub(super) count: u32,
    pub(super) interval: i64,
}

/// How the waits before retries grow and end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Waits {
    /// Each is the one before, multiplied by this, in hundredths.
    factor: i64,
    longest: i64,
    /// Whether each is somewhere between a second and what was computed.
    are_spread: bool,
    /// No retry begins later than this after the occurrence.
    elapsed_max: Option<i64>,
    /// The longest wait that a target may ask for.
    asked_max: i64,
}

/// What a policy lets follow an attempt that failed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// A retry, after a wait within these bounds.
    Retry(RangeInclusive<i64>),
    /// No other attempt of its kind.
    Nothing,
    /// One or the other.
    Either,
}

/// A period in which a job's timing did not change.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) uid: String,
    pub(super) collection_uid: String,
    /// More than one if a change renewed the generation by mistake.
    pub(super) generations: Vec<u64>,
    pub(super) spec: Spec,
    pub(super) since: i64,
    pub(super) used: i64,
    pub(super) begins_at: i64,
    pub(super) ends_at: Option<i64>,
    /// When the job was paused: after its end only if that was the deletion of its collection.
    pub(super) paused_at: Option<i64>,
    /// The next change of a job that was paused: until then error actions and notices of its failures
    /// still run.
    pub(super) paused_until: Option<i64>,
}

/// A duration as it is kept: hours, minutes and seconds.
pub(super) fn span(text: &str) -> i64 {
    SECOND * text.split(':').fold(0, |sum, part| 60 * sum + part.parse::<i64>().unwrap())
}

impl Retry {
    /// The policy in the document of an action.
    pub(super) fn of(action: &Value) -> Self {
        let retry = &action["retryPolicy"];
        let interval = span(retry["retryInterval"].as_str().unwrap_or("00:00:30"));
        let count = retry["retryCount"].as_u64().map_or(0, |count| u32::try_from(count).unwrap());
        Self { count, interval }
    }

    pub(super) fn read(action: &str) -> Self {
        Self::of(&serde_json::from_str(action).unwrap())
    }
}

impl Waits {
    fn read(retry: &Value) -> Self {
        let factor = retry["factor"].as_f64().unwrap_or(2.0);
        let is_growing = retry["backoff"] == "exponential";
        let asked = &retry["retryAfter"];
        let asked_max = asked["max"].as_str().map_or(3_600 * SECOND, span);
        let is_asked = asked.is_object() && asked["honour"] != false;
        Self {
            #[expect(clippy::cast_possible_truncation, reason = "two decimals of a small number")]
            factor: if is_growing { (factor * 100.0).round() as i64 } else { 100 },
            longest: retry["maxInterval"].as_str().map_or(EVER, span),
            are_spread: retry["jitter"] == "full",
            elapsed_max: retry["maxElapsed"].as_str().map(span),
            asked_max: if is_asked { asked_max } else { 0 },
        }
    }

    /// The wait before the retry after the attempt with a number, if it is not spread and nobody asks for more.
    fn grown(&self, interval: i64, number: u32) -> i64 {
        // Whole milliseconds, as all durations.
        let grow = |wait: i64, _| wait / 1_000 * self.factor / 100 * 1_000;
        (0..number).fold(interval, grow).min(self.longest)
    }

    pub(super) fn ends_early(&self) -> bool {
        self.elapsed_max.is_some()
    }

    /// The same, from the least to the most.
    fn after(&self, interval: i64, number: u32, asked: Option<i64>) -> RangeInclusive<i64> {
        let wait = self.grown(interval, number);
        let least = if self.are_spread { SECOND.min(wait) } else { wait };
        let asked = asked.unwrap_or(0).min(self.asked_max);
        least.max(asked)..=wait.max(asked)
    }
}

impl Spec {
    pub(super) fn read(document: &str) -> Self {
        let document: Value = serde_json::from_str(document).unwrap();
        let at = |value: &Value| {
            value.as_str().map(|text| micros(DateTime::parse_from_rfc3339(text).unwrap().into()))
        };
        let recurrence = &document["recurrence"];
        let Retry { count: retries, interval } = Retry::of(&document["action"]);
        let error_action = &document["action"]["errorAction"];
        let policies = &document["minutehand"];
        let catch_up = &policies["catchUp"];
        let (made_up, made_up_within) = match catch_up["policy"].as_str() {
            Some("none") => (0, EVER),
            Some("all") => {
                (catch_up["max"].as_i64().unwrap(), span(catch_up["window"].as_str().unwrap()))
            }
            Some(_) | None => (1, EVER),
        };
        let expect = &document["action"]["expect"];
        let expected = |name: &str| expect[name].as_str().map(span);
        Self {
            pings: expected("early").zip(expected("grace")),
            made_up,
            made_up_within,
            lateness_max: policies["maxLateness"].as_str().map(span),
            jitter: policies["jitter"]["window"].as_str().map_or(0, span),
            excluded: excluded(policies, recurrence["timeZone"].as_str()),
            extra: listed(&policies["extraDates"])
                .map(|date| at(&json!(date)).unwrap())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            takes_turns: policies["overlap"]["policy"] == "skip",
            start: at(&document["startTime"]).unwrap(),
            by_clock: ByClock::read(recurrence),
            every: recurrence["interval"].as_i64().map(|minutes| 60 * SECOND * minutes),
            count: recurrence["count"].as_i64(),
            end: at(&recurrence["endTime"]),
            retries,
            interval,
            waits: Waits::read(&policies["retry"]),
            error_action: error_action.is_object().then(|| Retry::of(error_action)),
            pauses_after: document["minutehand"]["pauseOnFailure"]["after"].as_u64(),
            is_paused: document["minutehand"]["paused"].is_object(),
        }
    }

    /// What follows an attempt at the action that failed.
    pub(super) fn next(&self, it: &Executed) -> Next {
        if it.number >= self.retries {
            return Next::Nothing;
        }
        let wait = self.waits.after(self.interval, it.number, it.asked);
        let Some(max) = self.waits.elapsed_max else { return Next::Retry(wait) };
        // When a run was asked for is known to a few seconds only.
        let Some(nominal) = it.nominal else { return Next::Either };
        match [wait.start(), wait.end()].map(|wait| it.ended_clock + wait - nominal <= max) {
            [true, true] => Next::Retry(wait),
            [false, _] => Next::Nothing,
            [true, false] => Next::Either,
        }
    }

    /// The longest wait before a retry.
    pub(super) fn longest_wait(&self) -> i64 {
        let Waits { asked_max, .. } = self.waits;
        self.waits.grown(self.interval, self.retries.saturating_sub(1)).max(asked_max)
    }

    /// Whether another document differs in its action at most.
    pub(super) fn fires_as(&self, other: &Self) -> bool {
        self.has_rule_of(other)
            && (self.jitter, &self.excluded, &self.extra)
                == (other.jitter, &other.excluded, &other.extra)
            && self.pings == other.pings
    }

    /// Whether another document has the same recurrence, so that its count goes on.
    pub(super) fn has_rule_of(&self, other: &Self) -> bool {
        (self.start, self.every, &self.by_clock, self.count, self.end)
            == (other.start, other.every, &other.by_clock, other.count, other.end)
    }

    pub(super) fn is_excluded(&self, at: i64) -> bool {
        self.excluded.iter().any(|(from, until)| (*from..*until).contains(&at))
    }
}

pub(super) fn listed(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

/// The excluded days of policies.
fn excluded(policies: &Value, zone: Option<&str>) -> Vec<(i64, i64)> {
    let zone = zone.map_or(Zone::Fixed { hours_ahead: 0 }, Zone::read);
    let midnight = |date: NaiveDate| zone.shows(date, 0);
    let days = listed(&policies["exclude"]["dates"]).map(|text| {
        let (first, last) = text.split_once('/').unwrap_or((text, text));
        let last: NaiveDate = last.parse().unwrap();
        (midnight(first.parse().unwrap()), midnight(last.succ_opt().unwrap()))
    });
    days.collect()
}

impl Segment {
    /// The occurrences of the rule and the further ones, but for those that are excluded.
    pub(super) fn all(&self) -> Box<dyn Iterator<Item = i64> + '_> {
        let Spec { start, every, count, end, .. } = self.spec;
        let Some(every) = every else {
            return Box::new((self.used == 0).then(|| start.max(self.since)).into_iter());
        };
        let skipped = (self.since - start + every - 1).div_euclid(every).max(0);
        let is_in_time = move |at: &i64| end.is_none_or(|end| *at <= end);
        let begins = start.max(self.since);
        let by_rule: Box<dyn Iterator<Item = i64>> = match &self.spec.by_clock {
            Some(clock) => clock.since(begins),
            None => Box::new((skipped..).map(move |n| start + n * every)),
        };
        let by_rule = by_rule.take_while(is_in_time);
        let extra = self.spec.extra.iter().copied();
        let extra = extra.filter(move |at| *at >= begins && is_in_time(at));
        let (mut by_rule, mut extra) = (by_rule.peekable(), extra.peekable());
        let merged = std::iter::from_fn(move || {
            let at = by_rule.peek().into_iter().chain(extra.peek()).min().copied()?;
            by_rule.next_if_eq(&at);
            extra.next_if_eq(&at);
            Some(at)
        });
        let left = count.map_or(usize::MAX, |count| usize::try_from(count - self.used).unwrap());
        Box::new(merged.filter(|at| !self.spec.is_excluded(*at)).take(left))
    }

    pub(super) fn occurrences(&self, until: i64) -> impl Iterator<Item = (i64, Option<i64>)> + '_ {
        let mut all = self.all().peekable();
        std::iter::from_fn(move || all.next().map(|at| (at, all.peek().copied())))
            .take_while(move |(at, _)| *at < until)
    }

    /// The ids of an occurrence, with which those of its attempts begin.
    pub(super) fn occurrence_ids(&self, nominal: i64) -> Vec<String> {
        let id = |generation: &u64| {
            let occurrence = Occurrence::Scheduled { nominal_at: instant(nominal) };
            let id = format!("{}.{}", self.uid, Attempt::first(*generation, occurrence).id());
            id.rsplit_once('.').unwrap().0.to_owned()
        };
        self.generations.iter().map(id).collect()
    }

    /// The last one, if there is one.
    pub(super) fn last(&self) -> Option<i64> {
        let ends =
            self.spec.every.is_none() || self.spec.count.is_some() || self.spec.end.is_some();
        if !ends {
            return None;
        }
        self.occurrences(EVER).last().map(|(at, _)| at)
    }

    pub(super) fn ends_ever(&self) -> bool {
        self.spec.every.is_none() || self.spec.count.is_some() || self.spec.end.is_some()
    }

    /// The number of occurrences that fall due until then.
    pub(super) fn due_until(&self, at: i64) -> i64 {
        i64::try_from(self.occurrences(at).count()).unwrap()
    }
}
