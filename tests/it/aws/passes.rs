//! A pass of the sweeper over a table that takes its time: what is under way at once, and what it
//! comes to when shards are slow, fail, or have more than there is time for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_domain::firing::limits::PASS;
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::Clock;
use minutehand_testkit::aws::{AwsAnswer, AwsCall, FakeAws, SlowAws};
use minutehand_testkit::{SetClock, fake_client};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::world::{all_of_it, instant};

const SHARDS: usize = 64;
/// The sweeper's own figures: pages under way at once, and requests.
const PAGES_AT_ONCE: usize = 8;
const REQUESTS_MAX: usize = 128;
/// Turns of the scheduler in which what a test waits for has to come.
const TURNS_MAX: usize = 100_000;

/// A schedule on which waiting takes no time, and work whose time stands and whose wait ends when the
/// test says so.
#[derive(Clone)]
struct Standing {
    schedule: SetClock,
    clock: SetClock,
    over: Arc<Semaphore>,
}

impl Standing {
    fn new() -> Self {
        let now = instant("2030-01-01T00:00:00Z");
        let (schedule, clock) = (SetClock::at(now), SetClock::at(now));
        Self { schedule, clock, over: Arc::new(Semaphore::new(0)) }
    }
}

#[async_trait]
impl Clock for Standing {
    fn now(&self) -> DateTime<Utc> {
        self.schedule.now()
    }

    fn work_now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.schedule.wait_until(at).await;
    }

    async fn wait(&self, _work: Duration) {
        let _ = self.over.acquire().await;
    }
}

/// A table, and a queue that takes everything.
struct Stage {
    clock: Standing,
    table: SlowAws,
    sqs: FakeAws,
    calls: FakeAws,
}

impl Stage {
    /// A table that answers so.
    fn of(answers: impl Fn(&AwsCall) -> AwsAnswer + Send + Sync + 'static) -> Self {
        Self::at(Standing::new(), answers)
    }

    fn at(
        clock: Standing,
        answers: impl Fn(&AwsCall) -> AwsAnswer + Send + Sync + 'static,
    ) -> Self {
        let calls =
            FakeAws::new(
                move |call| {
                    if is_pulse(call) { AwsAnswer::Done(json!({})) } else { answers(call) }
                },
            );
        let table = SlowAws::new(calls.clone());
        // The sign of life comes first. These tests are about what follows.
        table.answer_all(is_pulse);
        Self { clock, table, sqs: FakeAws::new(all_of_it), calls }
    }

    /// Begins a pass.
    fn tick(&self) -> JoinHandle<Value> {
        let clients = minutehand_sweeper::SweeperClients {
            dynamodb: fake_client!(aws_sdk_dynamodb, self.table).into(),
            sqs: fake_client!(aws_sdk_sqs, self.sqs),
            eventbridge: fake_client!(aws_sdk_eventbridge, FakeAws::in_turn([])),
        };
        let settings = minutehand_sweeper::SweeperSettings {
            table: "jobs".to_owned(),
            history: HistoryDays::default(),
            queue_url: "https://sqs.eu-west-1.amazonaws.com/1/q".to_owned(),
            event_bus: None,
            heartbeat: None,
        };
        let function =
            minutehand_sweeper::Function::new(&settings, clients, Arc::new(self.clock.clone()));
        tokio::spawn(async move { function.tick().await.unwrap() })
    }

    /// Waits until so many requests are under way.
    async fn until_under_way(&self, requests: usize) {
        self.until(|| self.table.under_way().len() == requests).await;
    }

    async fn until(&self, is_so: impl Fn() -> bool) {
        for _ in 0..TURNS_MAX {
            if is_so() {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("it does not come: {} requests under way", self.table.under_way().len());
    }

    /// How often each shard was read.
    fn reads(&self) -> BTreeMap<usize, usize> {
        let mut reads = BTreeMap::new();
        for call in self.calls.calls().iter().filter(|call| call.action == "Query") {
            *reads.entry(shard(call)).or_default() += 1;
        }
        reads
    }

    /// How many timers were moved on.
    fn moved(&self) -> usize {
        let calls = self.calls.calls();
        calls.iter().filter(|call| call.action == "UpdateItem" && !is_pulse(call)).count()
    }

    /// How many messages were sent.
    fn sent(&self) -> usize {
        let entries = |call: &AwsCall| call.body["Entries"].as_array().unwrap().len();
        self.sqs.calls().iter().map(entries).sum()
    }
}

/// Whether a request is for the pulses.
fn is_pulse(call: &AwsCall) -> bool {
    call.body["Key"]["pk"]["S"] == "W"
}

/// The shard that is read.
fn shard(call: &AwsCall) -> usize {
    call.body["ExpressionAttributeValues"][":shard"]["N"].as_str().unwrap().parse().unwrap()
}

/// A page with so many timers that are due, and perhaps not the last one of its shard.
fn page(call: &AwsCall, timers: usize, has_more: bool) -> AwsAnswer {
    let due_at = instant("2030-01-01T00:00:00Z");
    let item = |n: usize| {
        json!({
            "pk": {"S": format!("T#{}-{n}", shard(call))},
            "sk": {"S": "P"},
            "due_shard": {"N": shard(call).to_string()},
            "due_at": {"N": minutehand_domain::tick::ticks(due_at).to_string()},
        })
    };
    let items: Vec<Value> = (0..timers).map(item).collect();
    let last = items.last().filter(|_| has_more).cloned();
    let mut answer = json!({"Items": items});
    if let Some(last) = last {
        answer["LastEvaluatedKey"] = last;
    }
    AwsAnswer::Done(answer)
}

/// Every shard has so many timers.
fn each_has(timers: usize) -> impl Fn(&AwsCall) -> AwsAnswer {
    move |call| match call.action.as_str() {
        "Query" => page(call, timers, false),
        _ => AwsAnswer::Done(json!({})),
    }
}

#[tokio::test]
async fn shards_are_read_concurrently_up_to_the_limit() {
    let stage = Stage::of(each_has(0));
    let pass = stage.tick();
    for answered in 0..SHARDS {
        stage.until_under_way(PAGES_AT_ONCE.min(SHARDS - answered)).await;
        stage.table.answer_one();
    }
    assert_eq!(pass.await.unwrap()["shards"], SHARDS);
    assert_eq!(stage.table.most(), PAGES_AT_ONCE);
    assert_eq!(stage.reads(), (0..SHARDS).map(|shard| (shard, 1)).collect());
}

#[tokio::test]
async fn the_requests_of_all_pages_together_are_bounded() {
    let stage = Stage::of(each_has(100));
    let pass = stage.tick();
    stage.table.answer_all(|call| call.action == "Query" || is_pulse(call));
    stage.until_under_way(REQUESTS_MAX).await;
    let answer_until_it_ends = || {
        stage.table.answer_one();
        pass.is_finished()
    };
    stage.until(answer_until_it_ends).await;
    let pass = pass.await.unwrap();
    assert_eq!((&pass["timers"], &pass["messages"]), (&json!(6_400), &json!(6_400)));
    assert_eq!(stage.table.most(), REQUESTS_MAX);
}

/// A pass that has swept every shard but one, which it waits for.
async fn all_but_one_shard() -> (Stage, JoinHandle<Value>) {
    const SLOW: usize = 5;
    let stage = Stage::of(each_has(1));
    let pass = stage.tick();
    stage.table.answer_all(|call| call.action != "Query" || shard(call) != SLOW);
    stage.until(|| stage.moved() == SHARDS - 1).await;
    (stage, pass)
}

#[tokio::test]
async fn a_slow_shard_delays_no_other() {
    let (stage, pass) = all_but_one_shard().await;
    assert!(!pass.is_finished());
    stage.table.answer_all(|_| true);
    let pass = pass.await.unwrap();
    assert_eq!(pass["shards"], SHARDS);
    assert_eq!((stage.moved(), stage.sent()), (SHARDS, SHARDS));
}

#[tokio::test]
async fn a_failed_shard_is_reported_and_the_others_are_swept() {
    const UNREAD: usize = 5;
    const UNMOVED: usize = 9;
    let stage = Stage::of(|call| match call.action.as_str() {
        "Query" if shard(call) == UNREAD => AwsAnswer::Failed(500, "InternalServerError"),
        "Query" => page(call, 1, false),
        _ if call.body["Key"]["pk"]["S"] == format!("T#{UNMOVED}-0") => AwsAnswer::Silence,
        _ => AwsAnswer::Done(json!({})),
    });
    stage.table.answer_all(|_| true);
    let pass = stage.tick().await.unwrap();
    assert_eq!(pass["shards"], SHARDS - 2);
    assert_eq!(pass["shardsFailed"], 2);
    assert_eq!(pass["isCut"], false);
    assert_eq!(stage.sent(), SHARDS - 1);
    // Neither is tried again before the next tick.
    assert_eq!(stage.reads().into_values().sum::<usize>(), SHARDS);
}

#[tokio::test]
async fn a_message_that_the_queue_refuses_fails_the_page_of_its_timer_alone() {
    const REFUSED: usize = 9;
    let mut stage = Stage::of(each_has(1));
    stage.sqs = FakeAws::new(|call| {
        let entries = call.body["Entries"].as_array().unwrap();
        let is_refused = |entry: &Value| {
            entry["MessageBody"].as_str().unwrap().contains(&format!("\"c\":\"{REFUSED}-0\""))
        };
        let (refused, accepted): (Vec<_>, Vec<_>) = entries.iter().partition(|it| is_refused(it));
        let failed = |entry: &Value| json!({"Id": entry["Id"], "Code": "InvalidMessageContents", "SenderFault": true});
        let successful =
            |entry: &Value| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": ""});
        AwsAnswer::Done(json!({
            "Successful": accepted.into_iter().map(successful).collect::<Vec<_>>(),
            "Failed": refused.into_iter().map(failed).collect::<Vec<_>>(),
        }))
    });
    stage.table.answer_all(|_| true);
    let pass = stage.tick().await.unwrap();
    assert_eq!((&pass["shards"], &pass["shardsFailed"]), (&json!(SHARDS - 1), &json!(1)));
    assert_eq!(stage.moved(), SHARDS - 1);
}

#[tokio::test]
async fn a_pass_that_times_out_has_read_every_shard_and_ends_its_pages() {
    /// Pages that are read before the time is over.
    const PAGES: usize = 200;
    let clock = Standing::new();
    let (moves, read) = (clock.clock.clone(), AtomicUsize::new(0));
    // There is always more, and all of it is due at one instant.
    let stage = Stage::at(clock, move |call| {
        if call.action != "Query" {
            return AwsAnswer::Done(json!({}));
        }
        if read.fetch_add(1, Relaxed) + 1 == PAGES {
            moves.advance(PASS);
        }
        page(call, 2, true)
    });
    stage.table.answer_all(|_| true);
    let pass = stage.tick().await.unwrap();
    assert_eq!(pass["isCut"], true);
    assert_eq!((&pass["shards"], &pass["shardsFailed"]), (&json!(0), &json!(0)));
    let reads = stage.reads();
    let pages: usize = reads.values().sum();
    assert!((PAGES..PAGES + PAGES_AT_ONCE).contains(&pages), "{pages}");
    // What was read is dispatched, and no shard is a page behind another.
    assert_eq!((stage.moved(), stage.sent()), (2 * pages, 2 * pages));
    assert_eq!(pass["timers"], 2 * pages);
    let (least, most) = (reads.values().min().unwrap(), reads.values().max().unwrap());
    assert!(most - least <= 1, "{reads:?}");
}

#[tokio::test]
async fn a_pass_does_not_wait_forever_for_a_shard() {
    let (stage, pass) = all_but_one_shard().await;
    stage.clock.over.add_permits(1);
    let pass = pass.await.unwrap();
    assert_eq!((&pass["shards"], &pass["shardsFailed"]), (&json!(SHARDS - 1), &json!(0)));
    assert_eq!(pass["isCut"], true);
}
