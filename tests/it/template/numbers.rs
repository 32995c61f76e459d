//! The time limits of the firing protocol that also stand in the template.

use minutehand_domain::firing::limits::{
    ACTION, AHEAD, FUNCTION, HORIZON, LEASE, PASS, PASS_MAX, RECEIVES_MAX, VISIBILITY,
};

use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::work_item::PACKET_ATTEMPTS_MAX;
use minutehand_sweeper::Tick;
use serde_json::{Value, json};

use super::Template;

/// The longest delay of a message in SQS.
const DELAY_MAX_SECONDS: i64 = 900;
/// The longest time that API Gateway waits for a function.
const GATEWAY_MAX_MILLISECONDS: i64 = 30_000;
/// The time between two sweeps: `rate(1 minute)`.
const TICK_SECONDS: i64 = 60;

#[test]
fn the_limits_of_queue_and_executor_match_the_code_and_their_order_holds() {
    let template = Template::read();
    assert_eq!(template.number("Queue", "/VisibilityTimeout"), VISIBILITY.num_seconds());
    assert_eq!(template.number("Queue", "/RedrivePolicy/maxReceiveCount"), i64::from(RECEIVES_MAX));
    assert_eq!(template.number("ExecutorFunction", "/Timeout"), FUNCTION.num_seconds());
    // An action times out before its function, the function before the claim expires, and the claim
    // expires before the message is delivered again.
    let executor = template.number("ExecutorFunction", "/Timeout");
    assert!(ACTION.num_seconds() < executor && executor < LEASE.num_seconds());
    assert!(LEASE.num_seconds() < template.number("Queue", "/VisibilityTimeout"));
    assert!(HORIZON.num_seconds() <= DELAY_MAX_SECONDS);
    // A message is delivered for the last time before the queue deletes it. The dead-letter queue
    // keeps it for longer, as its age continues there.
    for history in HistoryDays::ALL {
        let [queue, dead_letters] = template.kept_with(history);
        assert!(DELAY_MAX_SECONDS + VISIBILITY.num_seconds() * i64::from(RECEIVES_MAX) < queue);
        assert!(queue < dead_letters);
    }
    let delivers = template.properties("Deliveries");
    assert_eq!(delivers["FunctionResponseTypes"][0], "ReportBatchItemFailures");
    assert_eq!(template.number("Deliveries", "/MaximumBatchingWindowInSeconds"), 0);
    // The attempts of a batch start together, on a fraction of a processor.
    let messages = usize::try_from(template.number("Deliveries", "/BatchSize")).unwrap();
    assert_eq!(messages * PACKET_ATTEMPTS_MAX, 100);
}

#[test]
fn no_message_is_kept_for_as_long_as_the_record_of_what_it_asks_for() {
    const DAY: i64 = 86_400;
    let template = Template::read();
    for history in HistoryDays::ALL {
        // The queue on one machine deletes what is older than this.
        let longest = history.messages_kept_for().num_seconds();
        assert_eq!(longest, (i64::from(history.days()) - 1) * DAY);
        let expected = [4, 14].map(|days| longest.min(days * DAY));
        assert_eq!(template.kept_with(history), expected, "{history}");
    }
    let choices = &template.parameter("HistoryDays")["AllowedValues"];
    assert_eq!(*choices, json!(HistoryDays::ALL.map(HistoryDays::days)));
    let default = &template.parameter("HistoryDays")["Default"];
    assert_eq!(*default, json!(HistoryDays::default().days()));
}

impl Template {
    /// The seconds for which the queue and the dead letters keep a message.
    fn kept_with(&self, history: HistoryDays) -> [i64; 2] {
        ["Queue", "DeadLetters"].map(|queue| {
            let wanted = &self.properties(queue)["MessageRetentionPeriod"]["Fn::FindInMap"];
            assert_eq!(*wanted, json!(["KeptWithHistory", {"Ref": "HistoryDays"}, queue]));
            self.mapping("KeptWithHistory")[history.to_string()][queue].as_i64().unwrap()
        })
    }
}

#[test]
fn a_sweep_ends_before_its_function_times_out_and_before_the_next_sweep() {
    let template = Template::read();
    let sweeper = template.number("SweeperFunction", "/Timeout");
    assert!(PASS < PASS_MAX && PASS_MAX.num_seconds() < sweeper && sweeper < TICK_SECONDS);
    assert_eq!(template.properties("Tick")["ScheduleExpression"], "rate(1 minute)");
    // If one sweep is missing, the next one still dispatches in time.
    assert!(2 * TICK_SECONDS < AHEAD.num_seconds());
    // A failed sweep is not retried; the next one takes its place.
    for (resource, retries) in [
        ("SweeperFunction", "/EventInvokeConfig/MaximumRetryAttempts"),
        ("Tick", "/Targets/0/RetryPolicy/MaximumRetryAttempts"),
    ] {
        assert_eq!(template.number(resource, retries), 0);
    }
}

#[test]
fn each_sweeper_of_several_is_told_its_part_and_the_time_of_the_tick() {
    let template = Template::read();
    let targets = template.properties("Tick")["Targets"].as_array().unwrap();
    assert_eq!(template.parameter("Sweepers")["MaxValue"], targets.len());
    let (_, another) = targets.split_first().unwrap();
    let conditions = another.iter().map(|target| target["Fn::If"][0].as_str().unwrap());
    assert!(conditions.eq((2..=targets.len()).map(|n| format!("HasSweeper{n}"))));
    let another = another.iter().map(|target| &target["Fn::If"][1]);
    for (n, target) in [&targets[0]].into_iter().chain(another).enumerate() {
        let told = &target["InputTransformer"];
        assert_eq!(told["InputPathsMap"], json!({"at": "$.time"}));
        let event = told["InputTemplate"]["Fn::Sub"].as_str().unwrap();
        let event = event.replace("${Sweepers}", "5").replace("<at>", "\"2026-11-28T22:00:00Z\"");
        let tick = Tick::read(&event.parse().unwrap()).unwrap();
        assert_ne!(tick, Tick::default());
        assert_eq!(event.parse::<Value>().unwrap()["part"], n);
        assert_eq!(target["Arn"], targets[0]["Arn"]);
        assert_eq!(target["RetryPolicy"], targets[0]["RetryPolicy"]);
    }
}

#[test]
fn the_api_function_times_out_before_the_gateway() {
    let template = Template::read();
    let gateway = template.number("Integration", "/TimeoutInMillis");
    assert!(gateway <= GATEWAY_MAX_MILLISECONDS);
    assert!(template.number("ApiFunction", "/Timeout") * 1_000 < gateway);
}
