//! Passes of the sweeper with the table and the queue as far away as they are on AWS.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{SecondsFormat, TimeDelta};
use serde_json::{Map, Value, json};

use crate::far::{Far, TIMERS};
use crate::lambda::Function;
use crate::load;
use crate::services::{Services, TABLE};
use crate::throttle::ONE_IN;

/// How far: what a request to DynamoDB or SQS takes.
const AWAY: Duration = Duration::from_millis(10);
/// When the timers are due: soon enough for a pass to see them.
const DUE_IN: TimeDelta = TimeDelta::seconds(75);
/// Since when a job runs that has run.
const RAN_FOR: TimeDelta = TimeDelta::days(40);
/// Passes of a kind, of which the best counts: the machine has other work.
const PASSES: usize = 5;

pub(crate) fn passes(functions: &Path, services: &Services) {
    println!(
        "passes, best of {PASSES}, {} ms from AWS           in ms  processor, in ms",
        AWAY.as_millis()
    );
    let far = Far::start(AWAY);
    let mut environment = services.environment();
    environment.retain(|(name, _)| !name.starts_with("AWS_ENDPOINT_URL"));
    environment.push(("AWS_ENDPOINT_URL", format!("http://{}", far.address)));
    let sweeper = Function::start_in(&functions.join("sweeper"), environment);
    sweeper.init();
    let api = Function::start(&functions.join("api"), services);
    api.init();
    api.invoke(&load::put_collection());
    measure(&sweeper, "nothing is due", 0, false);
    for (frequency, ran, one_in) in [
        ("hour", false, 0),
        ("minute", false, 0),
        ("hour", true, 0),
        ("minute", true, 0),
        ("minute", true, ONE_IN),
    ] {
        let name = format!("{frequency}-{ran}-{one_in}");
        far.set_due(Some(timer(&api, services, (frequency, &name), ran)));
        far.throttle.refuse(one_in);
        far.throttle.take_refused();
        let healed = if ran { ", healed" } else { "" };
        let refused = if one_in > 0 { ", throttled" } else { "" };
        let what = format!("each {frequency}{healed}{refused}: {TIMERS}");
        let (time, spent) = measure(&sweeper, &what, TIMERS, one_in > 0);
        let looked_up = far.take_looked_up();
        assert_eq!(looked_up > 0, ran, "{looked_up} timers were healed");
        let second = f64::from(TIMERS) / time.as_secs_f64();
        println!("  a second; in µs each {second:>24.0} {:>17}", (spent / TIMERS).as_micros());
        if one_in > 0 {
            println!("  throttled calls, of one in {one_in}: {}", far.throttle.take_refused());
        }
    }
}

/// Makes some passes; returns the best. Only one that is throttled may leave timers to the next.
fn measure(
    sweeper: &Function,
    what: &str,
    timers: u32,
    is_throttled: bool,
) -> (Duration, Duration) {
    // The first one makes the connections.
    sweeper.invoke(&load::tick());
    let (mut time, mut spent, mut left) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..PASSES {
        let (before, begun) = (sweeper.cpu(), Instant::now());
        let (pass, _) = sweeper.invoke(&load::tick());
        time = time.min(begun.elapsed());
        spent = spent.min(sweeper.cpu() - before);
        let number = |name: &str| pass[name].as_u64().unwrap_or_default();
        left += u64::from(timers) - number("timers") + number("timersThrottled");
        assert!(is_throttled || left == 0, "{pass}");
    }
    if is_throttled {
        println!("  left to the next pass by {PASSES} passes: {left}");
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{what:<31} {:>15.0} {:>17.1}", ms(time), ms(spent));
    (time, spent)
}

/// The timer of a job that fires so often, as the table has it. Of one that ran before, the sweeper looks for
/// what was sent the last time.
fn timer(api: &Function, services: &Services, (frequency, name): (&str, &str), ran: bool) -> Value {
    // What the API cannot hand over is left to the sweep.
    services.refuses.store(true, Ordering::Release);
    let due_at = minutehand_runtime::system_now() + DUE_IN;
    let start = if ran { due_at - RAN_FOR } else { due_at };
    let start = start.to_rfc3339_opts(SecondsFormat::Secs, true);
    let job = load::put_recurring(name, "http://127.0.0.1/", &start, frequency);
    let (answer, _) = api.invoke(&job);
    assert_eq!(answer["statusCode"], 201, "{answer}");
    services.refuses.store(false, Ordering::Release);
    let timer = services.system.block_on(stored(&services.dynamodb, name));
    if ran { aged(timer) } else { timer }
}

/// The timer as if its job had been made when it first ran. What is older than a job is not healed.
fn aged(mut timer: Value) -> Value {
    let texts = timer.as_object_mut().expect("it has attributes").values_mut();
    let line = texts.filter_map(|it| it.get_mut("S")).find(|it| it.to_string().contains(" since="));
    let line = line.expect("it has a line of its schedule");
    let (what, since) =
        line.as_str().unwrap_or_default().split_once(" since=").expect("it was found");
    let made_at: i64 = since.parse().expect("it ends with the time when the job was made");
    *line = format!("{what} since={}", made_at - RAN_FOR.num_seconds()).into();
    timer
}

async fn stored(client: &Client, job_key: &str) -> Value {
    let found = client
        .scan()
        .table_name(TABLE)
        .filter_expression("job_key = :key")
        .expression_attribute_values(":key", AttributeValue::S(job_key.to_owned()));
    let found = found.into_paginator().items().send().next().await;
    let timer = found.expect("the job has a timer").expect("the table answers");
    let attributes = timer.into_iter().map(|(name, value)| (name, in_json(value)));
    Value::Object(attributes.collect::<Map<_, _>>())
}

fn in_json(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(is) => json!({"BOOL": is}),
        AttributeValue::B(bytes) => json!({"B": STANDARD.encode(bytes)}),
        other => panic!("no timer has such an attribute: {other:?}"),
    }
}
