//! The documents of jobs: when they run, and what follows a failure.

use std::collections::BTreeSet;

use chrono::DateTime;
use serde_json::{Value, json};

use super::EVER;
use crate::simulation::time::{SECOND, micros};

/// The timing and the retry policy of a job, read from its document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) start: i64,
    pub(super) every: Option<i64>,
    pub(super) count: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) retries: u32,
    pub(super) interval: i64,
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
}

/// A retry policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Retry {
    pub(super) count: u32,
    pub(super) interval: i64,
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
        Self {
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
            every: recurrence["interval"].as_i64().map(|minutes| 60 * SECOND * minutes),
            count: recurrence["count"].as_i64(),
            end: at(&recurrence["endTime"]),
            retries,
            interval,
            error_action: error_action.is_object().then(|| Retry::of(error_action)),
            pauses_after: document["minutehand"]["pauseOnFailure"]["after"].as_u64(),
            is_paused: document["minutehand"]["paused"].is_object(),
        }
    }

    /// Whether another document differs in its action at most.
    pub(super) fn fires_as(&self, other: &Self) -> bool {
        self.has_rule_of(other)
            && (self.jitter, &self.excluded, &self.extra)
                == (other.jitter, &other.excluded, &other.extra)
    }

    /// Whether another document has the same recurrence, so that its count goes on.
    pub(super) fn has_rule_of(&self, other: &Self) -> bool {
        (self.start, self.every, self.count, self.end)
            == (other.start, other.every, other.count, other.end)
    }

    pub(super) fn is_excluded(&self, at: i64) -> bool {
        self.excluded.iter().any(|(from, until)| (*from..*until).contains(&at))
    }
}

pub(super) fn listed(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

/// The excluded days of policies. Zones have names such as `Etc/GMT+3`, which is three hours behind.
pub(super) fn excluded(policies: &Value, zone: Option<&str>) -> Vec<(i64, i64)> {
    let behind = zone.map_or(0, |zone| {
        3_600 * SECOND * zone.strip_prefix("Etc/GMT").unwrap().parse::<i64>().unwrap()
    });
    let midnight = |text: &str| {
        let date: chrono::NaiveDate = text.parse().unwrap();
        micros(date.and_time(chrono::NaiveTime::MIN).and_utc()) + behind
    };
    let days = listed(&policies["exclude"]["dates"]).map(|text| {
        let (first, last) = text.split_once('/').unwrap_or((text, text));
        (midnight(first), midnight(last) + 24 * 3_600 * SECOND)
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
        let by_rule = (skipped..).map(move |n| start + n * every).take_while(is_in_time);
        let begins = start.max(self.since);
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
