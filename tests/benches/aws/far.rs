//! A table and a queue that are far away, and take everything, or all but some calls: each answer takes its
//! time and costs next to nothing, so that what a pass of the sweeper takes is its own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::timing::FIRST_GENERATION;
use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::services::done;
use crate::throttle::Throttle;

/// Timers of a shard: a page.
const PAGE: u32 = 100;
/// The shards of the index.
const SHARDS: u32 = 64;
/// The timers that are due, when some are.
pub(crate) const TIMERS: u32 = PAGE * SHARDS;

pub(crate) struct Far {
    pub(crate) address: SocketAddr,
    /// What is due, as often as there are timers.
    due: Arc<Mutex<Option<Value>>>,
    /// The calls that it refuses.
    pub(crate) throttle: Arc<Throttle>,
    /// How often attempts were looked up: each timer is healed by one query.
    looked_up: Arc<AtomicU32>,
}

impl Far {
    /// One that is so far away.
    pub(crate) fn start(away: Duration) -> Self {
        let due: Arc<Mutex<Option<Value>>> = Arc::default();
        let throttle: Arc<Throttle> = Arc::default();
        let looked_up: Arc<AtomicU32> = Arc::default();
        let (timer, refused, queries) = (due.clone(), throttle.clone(), looked_up.clone());
        let address = http::serve(move |request| {
            std::thread::sleep(away);
            if let Some(refused) = refused.answer(&request.action) {
                return refused;
            }
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let answer = match request.action.as_str() {
                "Query" if body["ExpressionAttributeValues"][":shard"].is_null() => {
                    queries.fetch_add(1, Ordering::Relaxed);
                    attempts(&body)
                }
                "Query" => page(&body, timer.lock().expect("nobody trips").as_ref()),
                "SendMessageBatch" => json!({"Successful": done(&body), "Failed": []}),
                _ => json!({}),
            };
            Answer::from(answer.to_string())
        });
        Self { address, due, throttle, looked_up }
    }

    /// How often attempts were looked up since the last time.
    pub(crate) fn take_looked_up(&self) -> u32 {
        self.looked_up.swap(0, Ordering::Relaxed)
    }

    /// From now on copies of this timer are due in all shards, or none is.
    pub(crate) fn set_due(&self, timer: Option<Value>) {
        *self.due.lock().expect("nobody trips") = timer;
    }
}

fn page(query: &Value, timer: Option<&Value>) -> Value {
    let shard = &query["ExpressionAttributeValues"][":shard"];
    let mut copies = Vec::new();
    if let Some(timer) = timer {
        for n in 0..PAGE {
            let mut copy = timer.clone();
            copy["pk"] = json!({"S": format!("T#{}-{n}", shard["N"])});
            copy["due_shard"] = shard.clone();
            copies.push(copy);
        }
    }
    json!({"Items": copies})
}

/// The attempts of a job in the time that is asked for: each minute one, so that none is missing.
fn attempts(query: &Value) -> Value {
    let values = &query["ExpressionAttributeValues"];
    let bound = |name: &str| {
        let nominal = values[name]["S"].as_str()?.trim_end_matches('~');
        let any = attempt_key(&Attempt::first(FIRST_GENERATION, occurrence(DateTime::UNIX_EPOCH)));
        let (_, rest) = any.split_once('.')?;
        Some(read_attempt(&format!("{nominal}.{rest}"), None)?.occurrence.nominal_at())
    };
    let until = bound(":until");
    let minutes = std::iter::successors(bound(":from"), |at| Some(*at + TimeDelta::minutes(1)));
    let attempts = minutes.take_while(|at| Some(*at) <= until).map(|at| {
        let attempt = Attempt::first(FIRST_GENERATION, occurrence(at));
        json!({"sk": {"S": attempt_key(&attempt)}})
    });
    json!({"Items": attempts.collect::<Vec<_>>()})
}

fn occurrence(nominal_at: DateTime<Utc>) -> Occurrence {
    Occurrence::Scheduled { nominal_at }
}
