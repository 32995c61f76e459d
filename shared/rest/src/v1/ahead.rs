//! `GET S/overview` and `GET S/upcoming`: how a subscription is doing, and what fires next.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::{
    Ahead, CollectionOverview, LateJob, Overview, PresentCounts, UpcomingOccurrence,
};
use minutehand_domain::alert::AlertTrouble;
use minutehand_domain::limits::{Concurrent, PerSecond};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::{ResourceGroup, WaitsFor};
use minutehand_recurrence::format_instant;
use serde_json::{Map, Value, json};

use super::alerts::trouble;
use super::parameters::Parameters;
use super::tagged;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;

/// The most occurrences in one answer.
const UPCOMING_MAX: usize = 500;
/// How many are answered if the request names no number.
const UPCOMING: usize = 20;
/// How far ahead an answer looks if the request names no end, and the farthest.
const AHEAD: TimeDelta = TimeDelta::hours(24);
const AHEAD_MAX: TimeDelta = TimeDelta::days(731);
/// The most collections in one overview, and how many there are if the request names no number.
const COLLECTIONS_MAX: usize = 1_000;
const COLLECTIONS: usize = 100;
/// The most jobs that an overview names because they are late.
const LATE_MAX: usize = 20;
/// The most targets that an overview names because they hang.
const HANGING_MAX: usize = 20;
/// The sweepers give a sign of life each minute. Without one for this long, nothing fires.
const NOT_SWEEPING_AFTER: TimeDelta = TimeDelta::minutes(5);

/// Tells how a subscription is doing.
pub(crate) async fn overview(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["collections"])?;
    let shown = parameters.number("collections", 0..=COLLECTIONS_MAX, COLLECTIONS)?;
    let now = call.rest.clock.now();
    let found = call.manage.overview(call.path.subscription()?).await?;
    let beat = |at: Option<DateTime<Utc>>| at.map(format_instant);
    let document = json!({
        "headline": headline(&found, now),
        "collections": {
            "all": found.collections.len(),
            "off": found.collections.iter().filter(|one| !one.state.is_on()).count(),
            "items": found.collections.iter().take(shown).map(collection).collect::<Vec<_>>(),
        },
        "jobs": {"all": jobs_of(&found)},
        "late": {
            "count": found.late_timers + found.behind,
            "waiting": found.behind,
            "snoozed": found.late_snoozed,
            "isLeast": found.late_is_least,
            "oldest": found.late_jobs.first().map(|late| format_instant(late.due_at)),
            "items": found.late_jobs.iter().take(LATE_MAX).map(late).collect::<Vec<_>>(),
        },
        "running": found.present.as_ref().map(|it| it.running),
        "waiting": found.present.as_ref().map(waiting),
        "sweep": {"at": beat(found.pulses.sweepers.beat_at)},
        "work": {"at": beat(found.pulses.workers.beat_at)},
        "deadLetters": found.dead_letters,
        "hanging": found.hanging.as_ref().map(|all| all.iter().take(HANGING_MAX).collect::<Vec<_>>()),
        "alerts": found.alerts.iter().map(alert).collect::<Vec<_>>(),
    });
    Ok(tagged(&document, &call.head.headers))
}

fn jobs_of(found: &Overview) -> u64 {
    found.collections.iter().map(|one| u64::from(one.jobs)).sum()
}

fn collection(found: &CollectionOverview) -> Value {
    json!({
        "resourceGroup": found.place.group.as_str(),
        "collection": found.name.as_str(),
        "state": found.state.name(),
        "since": found.since.map(format_instant),
        "jobs": found.jobs,
        "jobsMax": found.jobs_max,
        "maxPerSecond": found.limits.per_second.map(PerSecond::get),
        "maxConcurrent": found.limits.concurrent.map(Concurrent::get),
        "running": found.present.as_ref().map(|it| it.running),
        "waiting": found.present.as_ref().map(waiting),
        "snoozedUntil": found.snoozed_until.map(format_instant),
    })
}

/// How many attempts wait, since when, and for what.
fn waiting(found: &PresentCounts) -> Value {
    let by: Map<String, Value> =
        found.waiting.iter().map(|(what, n)| (what.name().to_owned(), (*n).into())).collect();
    json!({"count": found.waits(), "since": found.waiting_since.map(format_instant), "for": by})
}

/// A collection whose alerts do not arrive.
fn alert((place, collection, found): &(ResourceGroup, Name, AlertTrouble)) -> Value {
    json!({
        "resourceGroup": place.group.as_str(),
        "collection": collection.as_str(),
        "trouble": trouble(found),
    })
}

fn late(found: &LateJob) -> Value {
    let (place, collection) = &found.collection;
    json!({
        "at": format_instant(found.due_at),
        "resourceGroup": place.group.as_str(),
        "collection": collection.as_str(),
        "job": found.key,
        "waitsFor": found.waits_for.map(WaitsFor::name),
    })
}

/// What to say first, for programs; the first one that is so.
fn headline(found: &Overview, now: DateTime<Utc>) -> Value {
    match (found.late_timers, found.behind) {
        _ if jobs_of(found) == 0 => json!({"kind": "noJobs"}),
        _ if found.pulses.sweepers.is_silent(now, NOT_SWEEPING_AFTER) => {
            json!({"kind": "notSweeping"})
        }
        (0, 0) => match found.hanging.as_ref().map_or(0, BTreeSet::len) {
            0 => json!({"kind": "allWell"}),
            n => json!({"kind": "hanging", "n": n}),
        },
        (0, behind) => json!({"kind": "behind", "n": behind}),
        (late, _) => json!({"kind": "late", "n": late}),
    }
}

/// Lists the next occurrences of a subscription, the soonest first.
pub(crate) async fn upcoming(call: Call) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&call, &["from", "to", "limit", "collection"])?;
    let from = parameters.instant("from")?.unwrap_or_else(|| call.rest.clock.now());
    let default = from.checked_add_signed(AHEAD).unwrap_or(DateTime::<Utc>::MAX_UTC);
    let to = parameters.instant("to")?.unwrap_or(default);
    check_span([from, to], AHEAD_MAX)?;
    let limit = parameters.number("limit", 1..=UPCOMING_MAX, UPCOMING)?;
    let jobs = jobs(&call, &parameters)?;
    let found = call.manage.upcoming(&jobs, [from, to], limit).await?;
    let document = json!({
        "items": found.items.iter().map(item).collect::<Vec<_>>(),
        "until": format_instant(found.until),
        "complete": found.is_complete,
        "lookedAt": found.looked_at,
    });
    Ok(tagged(&document, &call.head.headers))
}

pub(super) fn item(found: &UpcomingOccurrence) -> Value {
    let (place, collection) = &found.collection;
    json!({
        "at": format_instant(found.at),
        "resourceGroup": place.group.as_str(),
        "collection": collection.as_str(),
        "job": found.job_key,
        "sentence": found.sentence,
    })
}

/// The jobs that a request is about.
pub(super) fn jobs(call: &Call, parameters: &Parameters<'_>) -> Result<Ahead, Failure> {
    let collection = parameters.text("collection").map(|path| {
        let (group, name) = path.split_once('/').ok_or_else(|| {
            Failure::invalid("'collection' must be a resource group, a slash and a collection.")
        })?;
        Ok::<_, Failure>((PathSegment::new(group)?, Name::new(name)?))
    });
    Ok(Ahead { subscription: call.path.subscription()?, collection: collection.transpose()? })
}

/// Refuses a time that ends before it begins, or is too long.
pub(super) fn check_span([from, to]: [DateTime<Utc>; 2], max: TimeDelta) -> Result<(), Failure> {
    if to <= from {
        return Err(Failure::invalid("'to' is not after 'from'; without 'from', that is now."));
    }
    if to - from > max {
        let days = max.num_days();
        let message = format!("'to' is more than {days} days after 'from'; ask for less.");
        return Err(Failure::invalid(message));
    }
    Ok(())
}
