//! What the archiver spends on each execution, and how many requests and bytes it takes.

use std::path::Path;
use std::sync::atomic::Ordering;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::figures::{row, timed};
use crate::lambda::Function;
use crate::services::{Services, TABLE};

/// Executions of a batch: about what fits into the 6 MB that Lambda hands over.
const BATCH: usize = 3_000;
/// Batches.
const BATCHES: usize = 5;

/// Archives executions like those that are in the table.
pub(crate) fn archive(functions: &Path, services: &Services) {
    let ended = services.system.block_on(ended(services));
    assert!(!ended.is_empty(), "jobs ran before");
    let archiver = Function::start_in(&functions.join("archiver"), services.archiver_environment());
    archiver.init();
    let mut copies = ended.iter().cycle().enumerate().map(|(n, item)| record(n, item));
    let mut batches: Vec<Value> = (0..=BATCHES)
        .map(|_| json!({"Records": copies.by_ref().take(BATCH).collect::<Vec<_>>()}))
        .collect();
    let kb = batches[0].to_string().len() / 1_000;
    // What is the same for all of a process is paid in the first.
    let first = batches.pop().expect("there is one more");
    assert_eq!(archiver.invoke(&first).0, json!({"batchItemFailures": []}));
    let requests = services.stored_objects.swap(0, Ordering::Relaxed);
    assert!(requests > 0, "it writes to the bucket");
    services.stored_bytes.store(0, Ordering::Relaxed);
    let spent = timed(&archiver, || {
        for batch in &batches {
            assert_eq!(archiver.invoke(batch).0, json!({"batchItemFailures": []}));
        }
    });
    let executions = BATCH * BATCHES;
    row(&format!("archiver: an execution, of {BATCH}"), spent, executions);
    let objects = services.stored_objects.load(Ordering::Relaxed);
    let bytes = services.stored_bytes.load(Ordering::Relaxed);
    println!(
        "archiver: {objects} requests for {executions} executions in {BATCHES} batches of {kb} KB, \
         {} bytes each",
        bytes / executions
    );
}

/// The attempts of the table that have ended.
async fn ended(services: &Services) -> Vec<Map<String, Value>> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        let scan = services.dynamodb.scan().table_name(TABLE).set_exclusive_start_key(start);
        let page = scan.send().await.expect("the table answers");
        let items = page.items.unwrap_or_default().into_iter();
        found.extend(items.filter(|item| item.contains_key("ended_at")).map(|item| {
            item.iter().map(|(name, value)| (name.clone(), written(value))).collect::<Map<_, _>>()
        }));
        start = page.last_evaluated_key;
        if start.is_none() {
            return found;
        }
    }
}

/// A record of the stream, of a job of its own.
fn record(n: usize, item: &Map<String, Value>) -> Value {
    let mut image = item.clone();
    let pk = json!({"S": format!("H#{n:032x}")});
    image.insert("pk".to_owned(), pk.clone());
    let mut before = image.clone();
    before.retain(|name, _| ["pk", "sk", "claim_id", "expires_at"].contains(&name.as_str()));
    json!({
        "eventID": format!("{n:032x}"),
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-west-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_763_700_000,
            "Keys": {"pk": pk, "sk": item["sk"]},
            "NewImage": image,
            "OldImage": before,
            "SequenceNumber": format!("{n:025}"),
            "SizeBytes": 900,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/jobs/stream/2026-11-21",
    })
}

fn written(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::B(bytes) => json!({"B": STANDARD.encode(bytes.as_ref())}),
        other => panic!("an attempt has no {other:?}"),
    }
}
