//! The jobs of the demo.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};

/// The collections, with the attempts that may run in each at a time.
pub(super) const COLLECTIONS: &[(&str, Option<u8>)] =
    &[("shop", None), ("billing", None), ("reports", Some(2)), ("health", None)];

/// A job of the demo.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) collection: &'static str,
    pub(super) name: &'static str,
    /// The path that it calls; `None` for a port on which nothing listens.
    path: Option<&'static str>,
    every: Every,
    more: &'static [More],
}

/// How often a job fires, on the clock of the demo.
#[derive(Debug, Clone, Copy)]
enum Every {
    Minutes(u16),
    /// Each day at this hour, in Berlin.
    Day(u8),
    /// Each Monday at this hour, in UTC.
    Monday(u8),
    /// The last day of each month at this hour, in New York.
    LastDay(u8),
}

/// What a job has beside its action and its recurrence.
#[derive(Debug, Clone, Copy)]
enum More {
    /// Three retries, a quarter of a minute apart.
    Retries,
    /// Retries whose waits grow.
    BackOff,
    /// A pause after five failures in a row.
    Pauses,
    /// Occurrences are left out while an attempt runs.
    NoOverlap,
    /// Occurrences that would start later than this are left out.
    Punctual,
    /// The attempt has two seconds.
    Impatient,
}

const fn job(
    collection: &'static str,
    name: &'static str,
    path: &'static str,
    every: Every,
    more: &'static [More],
) -> Wanted {
    Wanted { collection, name, path: Some(path), every, more }
}

use Every::{Day, LastDay, Minutes, Monday};
use More::{BackOff, Impatient, NoOverlap, Pauses, Punctual, Retries};

/// All of them.
pub(super) const JOBS: &[Wanted] = &[
    job("shop", "sync-orders", "/ok", Minutes(1), &[]),
    job("shop", "send-receipts", "/ok", Minutes(1), &[Retries]),
    job("shop", "update-prices", "/ok", Minutes(2), &[]),
    job("shop", "expire-carts", "/ok", Minutes(3), &[]),
    job("shop", "rebuild-search", "/ok", Minutes(5), &[NoOverlap]),
    job("shop", "refresh-rates", "/ok", Minutes(10), &[]),
    job("shop", "import-stock", "/ok", Minutes(15), &[]),
    job("shop", "clean-sessions", "/ok", Minutes(30), &[]),
    job("shop", "newsletter", "/ok", Day(8), &[]),
    job("shop", "week-in-review", "/ok", Monday(7), &[]),
    job("billing", "audit-log", "/ok", Minutes(1), &[]),
    job("billing", "fetch-payments", "/flaky", Minutes(1), &[Retries]),
    job("billing", "notify-bank", "/flaky", Minutes(2), &[Retries]),
    job("billing", "dunning", "/flaky", Minutes(5), &[BackOff]),
    job("billing", "charge-cards", "/fail", Minutes(2), &[]),
    job("billing", "print-invoices", "/fail", Minutes(1), &[Pauses]),
    job("billing", "post-ledger", "/missing", Minutes(3), &[]),
    Wanted { collection: "billing", name: "old-printer", path: None, every: Minutes(5), more: &[] },
    job("billing", "close-month", "/ok", LastDay(18), &[Retries]),
    job("reports", "sales", "/slow", Minutes(1), &[]),
    job("reports", "stock", "/slow", Minutes(1), &[]),
    job("reports", "visitors", "/slow", Minutes(1), &[NoOverlap]),
    job("reports", "margins", "/slow", Minutes(2), &[NoOverlap]),
    job("reports", "forecast", "/slow", Minutes(2), &[Punctual]),
    job("reports", "board", "/slow", Minutes(5), &[Punctual]),
    job("health", "ping-web", "/ok", Minutes(1), &[]),
    job("health", "ping-api", "/ok", Minutes(1), &[]),
    job("health", "ping-database", "/ok", Minutes(1), &[]),
    job("health", "ping-mirror", "/slow", Minutes(1), &[Impatient]),
    job("health", "ping-backup", "/flaky", Minutes(1), &[]),
];

/// The document of a collection.
pub(super) fn collection(concurrent_max: Option<u8>) -> Value {
    match concurrent_max {
        Some(max) => json!({"properties": {"minutehand": {"maxConcurrent": max}}}),
        None => json!({"properties": {}}),
    }
}

/// The document of a job.
pub(super) fn document(wanted: &Wanted, target: SocketAddr) -> Value {
    // Nothing listens on port 1, which programs leave alone.
    let uri = match wanted.path {
        Some(path) => format!("http://{target}{path}"),
        None => "http://127.0.0.1:1/".to_owned(),
    };
    let mut policy = json!({"retryType": "none"});
    let mut own = Map::new();
    for more in wanted.more {
        let (name, value) = match more {
            More::Retries | More::BackOff => {
                policy = json!({"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 3});
                match more {
                    More::BackOff => ("retry", json!({"backoff": "exponential", "factor": 2})),
                    _ => continue,
                }
            }
            More::Pauses => ("pauseOnFailure", json!({"after": 5})),
            More::NoOverlap => ("overlap", json!({"policy": "skip"})),
            More::Punctual => ("maxLateness", json!("PT3M")),
            More::Impatient => ("timeout", json!("PT2S")),
        };
        own.insert(name.to_owned(), value);
    }
    let request = json!({"uri": uri, "method": "POST", "body": "{}"});
    json!({"properties": {
        "action": {"type": "Http", "request": request, "retryPolicy": policy},
        "recurrence": recurrence(wanted.every),
        "minutehand": own,
    }})
}

fn recurrence(every: Every) -> Value {
    match every {
        Every::Minutes(minutes) => json!({"frequency": "minute", "interval": minutes}),
        Every::Day(hour) => json!({
            "frequency": "day", "timeZone": "Europe/Berlin", "schedule": {"hours": [hour], "minutes": [0]},
        }),
        Every::Monday(hour) => json!({
            "frequency": "week",
            "schedule": {"weekDays": ["monday"], "hours": [hour], "minutes": [0]},
        }),
        Every::LastDay(hour) => json!({
            "frequency": "month", "timeZone": "America/New_York",
            "schedule": {"monthDays": [-1], "hours": [hour], "minutes": [0]},
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_thirty_jobs_in_collections_that_exist_and_no_name_twice() {
        let names: BTreeSet<_> = JOBS.iter().map(|job| (job.collection, job.name)).collect();
        assert_eq!((JOBS.len(), names.len()), (30, 30));
        let known: BTreeSet<&str> = COLLECTIONS.iter().map(|(name, _)| *name).collect();
        assert_eq!(JOBS.iter().map(|job| job.collection).collect::<BTreeSet<_>>(), known);
    }
}
