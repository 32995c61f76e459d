//! What the functions are given to do.

use minutehand_domain::work_item::{Packet, decode, pack};
use serde_json::{Value, json};

const COLLECTION: &str =
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc";

/// A request of an HTTP API.
pub(crate) fn request(method: &str, path: &str, body: &Value) -> Value {
    json!({
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "api-version=2016-03-01",
        "headers": {"host": "jobs.example"},
        "body": body.to_string(),
        "requestContext": {"stage": "$default", "http": {"method": method}},
    })
}

pub(crate) fn health() -> Value {
    request("GET", "/healthz", &Value::Null)
}

pub(crate) fn put_collection() -> Value {
    let properties = json!({"sku": {"name": "P20Premium"}});
    request("PUT", COLLECTION, &json!({"properties": properties}))
}

/// A job that fires each minute, from then on.
pub(crate) fn put_job(n: usize, target: &str, start: &str) -> Value {
    put_recurring(&format!("j{n}"), target, start, "minute")
}

/// A job that fires so often, from then on.
pub(crate) fn put_recurring(name: &str, target: &str, start: &str, frequency: &str) -> Value {
    let body = json!({"properties": {
        "startTime": start,
        "action": {"type": "http", "request": {"method": "GET", "uri": target}},
        "recurrence": {"frequency": frequency},
    }});
    request("PUT", &format!("{COLLECTION}/jobs/{name}"), &body)
}

pub(crate) fn run_job(n: usize) -> Value {
    request("POST", &format!("{COLLECTION}/jobs/j{n}/run"), &Value::Null)
}

pub(crate) fn tick() -> Value {
    json!({"detail-type": "Scheduled Event", "source": "aws.events", "detail": {}})
}

/// The same attempts in packets, as they would be sent if all were due now.
pub(crate) fn packets(bodies: &[String]) -> Vec<String> {
    let now = minutehand_runtime::system_now();
    let work_items: Vec<_> =
        bodies.iter().flat_map(|body| decode(body).expect("it was sent by the function")).collect();
    let packets = pack(work_items.iter().map(|work_item| (work_item, now)), now);
    packets.iter().map(Packet::encode).collect()
}

/// Messages as Lambda hands them over.
pub(crate) fn batch(bodies: &[String]) -> Value {
    let records = bodies.iter().enumerate().map(|(n, body)| {
        json!({
            "messageId": n.to_string(),
            "receiptHandle": n.to_string(),
            "body": body,
            "attributes": {"ApproximateReceiveCount": "1"},
        })
    });
    json!({"Records": records.collect::<Vec<_>>()})
}
