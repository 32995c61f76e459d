//! A table and a queue that are far away, and take everything: each answer takes its time and costs
//! next to nothing, so that what a pass of the sweeper takes is its own.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::services::done;

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
}

impl Far {
    /// One that is so far away.
    pub(crate) fn start(away: Duration) -> Self {
        let due: Arc<Mutex<Option<Value>>> = Arc::default();
        let timer = due.clone();
        let address = http::serve(move |request| {
            std::thread::sleep(away);
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let answer = match request.action.as_str() {
                "Query" => page(&body, timer.lock().expect("nobody trips").as_ref()),
                "SendMessageBatch" => json!({"Successful": done(&body), "Failed": []}),
                _ => json!({}),
            };
            Answer::from(answer.to_string())
        });
        Self { address, due }
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
