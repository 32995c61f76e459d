//! The calls of the store: each request, with the function that makes it on AWS.
//!
//! [`everything`] plays all that can happen to a job, so that no call is missing; a new call
//! plays it there, too.

use std::collections::BTreeSet;
use std::sync::Mutex;

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use chrono::TimeDelta;
use minutehand_app::{Report, Reported};
use minutehand_domain::collection::CollectionState::{Disabled, Enabled};
use minutehand_ports::PurposeKey as _;
use minutehand_store_dynamodb::StoredKey;
use minutehand_testkit::aws::AwsCall;
use serde_json::{Value, json};

use super::ground::Ground;
use super::target::Behaviour::{Accept, Fail, Kill, Succeed, TimeOut};
use super::world::World;

/// Which function is at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Function {
    #[default]
    Api,
    Sweeper,
    Executor,
}

/// A call, as a policy judges it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) function: Function,
    /// As policies name it: what a transaction does is named by its single writes.
    pub(crate) action: String,
    pub(crate) index: Option<String>,
    /// The prefixes of the partitions that it touches, such as `T#`; none in an index.
    pub(crate) partitions: BTreeSet<String>,
    /// The prefixes in the whole transaction, if the call is part of one.
    pub(crate) transaction: Option<BTreeSet<String>>,
}

/// Notes calls.
#[derive(Debug, Default)]
pub(super) struct Watch {
    at_it: Mutex<Function>,
    calls: Mutex<BTreeSet<Call>>,
}

impl Watch {
    /// From now on it is this one.
    pub(super) fn turn(&self, function: Function) {
        *self.at_it.lock().unwrap() = function;
    }

    fn note(&self, operation: &str, request: &Value) {
        let function = *self.at_it.lock().unwrap();
        let call = |action: &str, partitions| Call {
            function,
            action: format!("dynamodb:{action}"),
            index: request["IndexName"].as_str().map(str::to_owned),
            partitions,
            transaction: None,
        };
        let calls = match operation {
            "TransactWriteItems" => {
                let writes = request["TransactItems"].as_array().unwrap();
                let writes: Vec<(&String, &Value)> =
                    writes.iter().flat_map(|write| write.as_object().unwrap()).collect();
                let all: BTreeSet<String> =
                    writes.iter().map(|(_, write)| format_instant(write)).collect();
                let single = |(kind, write): &(&String, &Value)| Call {
                    transaction: Some(all.clone()),
                    ..call(&format!("{kind}Item"), BTreeSet::from([format_instant(write)]))
                };
                writes.iter().map(single).collect()
            }
            "BatchGetItem" => {
                let tables = request["RequestItems"].as_object().unwrap().values();
                let keys = tables.flat_map(|table| table["Keys"].as_array().unwrap());
                vec![call(operation, keys.map(|key| partition(&key["pk"])).collect())]
            }
            "Query" => vec![call(operation, asked(request))],
            _ => vec![call(operation, BTreeSet::from([format_instant(request)]))],
        };
        self.calls.lock().unwrap().extend(calls);
    }
}

/// The partition of a write, or of the read of one item.
fn format_instant(request: &Value) -> String {
    let item = if request["Key"].is_object() { &request["Key"] } else { &request["Item"] };
    partition(&item["pk"])
}

/// The partition of a query, if it is one of the table.
fn asked(request: &Value) -> BTreeSet<String> {
    let condition = request["KeyConditionExpression"].as_str().unwrap();
    let Some((_, value)) = condition.split_once("pk = ") else {
        return BTreeSet::new();
    };
    let name = value.split_whitespace().next().unwrap();
    BTreeSet::from([partition(&request["ExpressionAttributeValues"][name])])
}

fn partition(value: &Value) -> String {
    let text = value["S"].as_str().unwrap();
    // The pulses are a partition of their own.
    text.split_once('#').map_or_else(|| text.to_owned(), |(before, _)| format!("{before}#"))
}

#[derive(Debug)]
pub(super) struct Watched(pub(super) std::sync::Arc<Watch>);

impl Intercept for Watched {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let AwsCall { action, body } = AwsCall::of(context.request());
        self.0.note(&action, &body);
        Ok(())
    }
}

/// Every call of the store that the functions make.
pub(crate) async fn everything() -> BTreeSet<Call> {
    let (mut world, watch) = World::watched("2027-03-01T09:00").await;
    let (place, collection) = (super::world::place(), super::world::named("jc"));
    world.manage.get_collection(&place, &collection).await.unwrap();
    world.manage.patch_collection(&place, &collection, json!({})).await.unwrap();
    let request = json!({"method": "POST", "uri": "http://notice/"});
    let on_failure = json!({"type": "Http", "request": request});
    world.patch_collection(json!({"minutehand": {"onFailure": on_failure}})).await;

    // What fires, fails, fails for good, waits for long, is killed, is told to, is changed, and is over.
    let hourly = json!({"recurrence": {"frequency": "hour"}});
    let retry = json!({"retryType": "Fixed", "retryInterval": "PT1H", "retryCount": 2});
    let patient = json!({"recurrence": {"frequency": "hour"}, "action": {"retryPolicy": retry}});
    world.targets.next("http://fails/", &[Fail]);
    world.targets.next("http://killed/", &[Kill]);
    world.targets.next("http://broken/", &[Fail]);
    let never = json!({"retryPolicy": {"retryType": "None"}});
    world.put("broken", json!({"startTime": "2027-03-01T09:40", "action": never})).await;
    world.put("fires", hourly.clone()).await;
    world.put("fails", patient).await;
    world.put("killed", json!({"startTime": "2027-03-01T09:30"})).await;
    world.put("off", json!({"state": "Disabled"})).await;
    // What is left out while a worker is dead.
    world.targets.next("http://single/", &[Kill]);
    let thrice = json!({"frequency": "minute", "count": 3});
    let single = json!({"startTime": "2027-03-01T09:45", "recurrence": thrice,
        "minutehand": {"overlap": {"policy": "skip"}}});
    world.put("single", single).await;
    world.call_run("off").await;
    world.run_until("2027-03-01T12:30").await;
    assert_eq!(world.calls("http://notice/"), ["01 09:40"]);
    assert_eq!(world.left_out("single").await.len(), 1);
    // A redrive that succeeds takes the failure out of its list.
    let failure = super::world::instant("2027-03-01T09:40");
    let broken = super::world::named("broken");
    world.manage.redrive_occurrence((&place, &collection, &broken), failure).await.unwrap();
    world.run_until("2027-03-01T12:35").await;
    world.patch("fires", json!({"action": {"request": {"method": "POST"}}})).await;
    world.put("fires", hourly.clone()).await;
    world.put("late", json!({"startTime": "2027-03-01T12:40"})).await;
    world.disable("late").await;
    world.switch(Disabled).await;
    world.run_until("2027-03-01T13:30").await;
    world.switch(Enabled).await;
    // A job that pauses.
    world.targets.always("http://pauses/", Fail);
    let pauses = json!({"startTime": "2027-03-01T13:40", "recurrence": {"frequency": "hour"},
        "action": never, "minutehand": {"pauseOnFailure": {"after": 1}}});
    world.put("pauses", pauses).await;
    // A lost message, which the sweeper misses.
    world.run_until("2027-03-01T14:59:30").await;
    world.lose_all();
    world.run_until("2027-03-01T16:05").await;
    // An outage, after which the sweeper names the collection in its log.
    world.sweeper_running = false;
    world.run_until("2027-03-01T19:30").await;
    world.sweeper_running = true;
    world.run_until("2027-03-01T19:40").await;
    for job in ["fires", "killed"] {
        world.view(job).await;
        world.executions(job).await;
        world.left_out(job).await;
    }
    open_attempts(&mut world, &watch).await;
    pings(&mut world).await;
    hanging_origin(&mut world).await;
    // Sixty days after its end, a job goes by itself.
    world.delete("fails").await;
    world.disable("fires").await;
    world.run_for(TimeDelta::days(61)).await;
    assert!(!world.is_there("killed").await);
    world.lists().await;
    world.browse().await;
    world.delete_collection().await;
    world.run_for(TimeDelta::hours(1)).await;
    let calls = watch.calls.lock().unwrap();
    calls.clone()
}

/// An origin that hangs, gets a call now and then, and answers.
async fn hanging_origin(world: &mut World) {
    world.targets.always("http://hangs/", TimeOut);
    let never = json!({"retryPolicy": {"retryType": "None"}});
    let minutely = json!({"startTime": "2027-03-02T01:00", "action": never,
        "recurrence": {"frequency": "minute", "count": 8}});
    world.put("hangs", minutely).await;
    world.run_until("2027-03-02T01:06:30").await;
    world.targets.always("http://hangs/", Succeed);
    world.run_until("2027-03-02T01:30").await;
    assert_eq!(world.calls("http://hangs/").len(), 8);
}

/// Pings that begin, pay and end occurrences, one that nothing owes, and one that does not come. The URL is
/// replaced, and goes with its job or its collection.
async fn pings(world: &mut World) {
    let expects = || {
        json!({"startTime": "2027-03-01T22:00", "recurrence": {"frequency": "hour"},
        "action": {"type": "expect", "expect": {}}})
    };
    for job in ["expects", "gone"] {
        world.expect(job, expects()).await;
    }
    let gone = world.ping_path("gone").await;
    world
        .manage
        .rotate_ping((
            &super::world::place(),
            &super::world::named("jc"),
            &super::world::named("expects"),
        ))
        .await
        .unwrap();
    let url = world.ping_path("expects").await;
    assert_eq!(world.ping(&url, "").await, 200, "nothing owes it");
    world.run_until("2027-03-01T21:59").await;
    assert_eq!(world.ping(&url, "").await, 200);
    world.delete("gone").await;
    assert_eq!(world.ping(&gone, "").await, 404);
    world.run_until("2027-03-01T22:58").await;
    assert_eq!(world.ping(&format!("{url}/start"), "").await, 200);
    world.run_until("2027-03-01T23:01").await;
    assert_eq!(world.ping(&format!("{url}/fail"), "").await, 200);
    world.run_until("2027-03-02T00:15").await;
    let history = [
        "01 22:00 #1.0",
        "01 23:00 #2.0 failed",
        "01 23:00 notice #2.0",
        "02 00:00 #3.0 failed",
        "02 00:00 notice #3.0",
    ];
    assert_eq!(world.history("expects").await, history);
    world.disable("expects").await;
}

/// One attempt that is reported and one that nobody ends, of a job without overlaps in a collection with limits: so
/// turns and seats are held.
async fn open_attempts(world: &mut World, watch: &Watch) {
    world.patch_collection(json!({"minutehand": {"maxConcurrent": 5}})).await;
    world.targets.always("http://open/", Accept);
    let open = json!({"startTime": "2027-03-01T20:00", "recurrence": {"frequency": "hour"},
        "minutehand": {"completion": {"within": "PT10M"}, "overlap": {"policy": "skip"}}});
    world.put("open", open).await;
    world.run_until("2027-03-01T20:05").await;
    let opened = world.targets.calls();
    let url = opened.iter().rev().find_map(|call| call.context.completion_url.clone()).unwrap();
    let key = url.rsplit('/').next().unwrap();
    for report in [Report::Alive, Report::Success] {
        let reported = world.manage.report(key, report, "").await.unwrap();
        assert_eq!(reported, Reported::Kept);
    }
    assert_eq!(world.manage.report(key, Report::Failure, "").await.unwrap(), Reported::Over);
    world.run_until("2027-03-01T21:15").await;
    world.disable("open").await;
    // Whoever needs the key of reports first makes it.
    let Ground::Table(table) = &world.ground else { panic!("a table") };
    for (function, purpose) in [(Function::Api, "one"), (Function::Executor, "two")] {
        watch.turn(function);
        let (sealer, ids) = (world.sealer.clone(), world.ids.clone());
        StoredKey::new(table.store.clone(), sealer, ids, purpose).key().await.unwrap();
    }
    watch.turn(Function::Api);
}
