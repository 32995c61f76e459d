//! The numbers of the firing protocol that AWS is told, too.

use domain::firing::limits::{
    ACTION, AHEAD, FUNCTION, HORIZON, LEASE, PASS, PASS_MAX, RECEIVES_MAX, VISIBILITY,
};

use super::Template;

/// The longest that a message may be delayed: a limit of SQS.
const DELAY_MAX_SECONDS: i64 = 900;
/// The longest that API Gateway waits for a function.
const GATEWAY_MAX_MILLISECONDS: i64 = 30_000;
/// The time between two ticks: `rate(1 minute)`.
const TICK_SECONDS: i64 = 60;

#[test]
fn what_holds_for_a_message_is_what_the_code_thinks() {
    let template = Template::read();
    assert_eq!(template.number("Queue", "/VisibilityTimeout"), VISIBILITY.num_seconds());
    assert_eq!(template.number("Queue", "/RedrivePolicy/maxReceiveCount"), i64::from(RECEIVES_MAX));
    assert_eq!(template.number("ExecutorFunction", "/Timeout"), FUNCTION.num_seconds());
    // An action ends before its function, a function before its claim, a claim before its message
    // is delivered again.
    let executor = template.number("ExecutorFunction", "/Timeout");
    assert!(ACTION.num_seconds() < executor && executor < LEASE.num_seconds());
    assert!(LEASE.num_seconds() < template.number("Queue", "/VisibilityTimeout"));
    assert!(HORIZON.num_seconds() <= DELAY_MAX_SECONDS);
    // All deliveries are over before a message is too old for the queue, and it is kept for longer
    // among the dead letters, where its age goes on.
    let kept = template.number("Queue", "/MessageRetentionPeriod");
    assert!(DELAY_MAX_SECONDS + VISIBILITY.num_seconds() * i64::from(RECEIVES_MAX) < kept);
    assert!(kept < template.number("DeadLetters", "/MessageRetentionPeriod"));
    let delivers = template.properties("Deliveries");
    assert_eq!(delivers["FunctionResponseTypes"][0], "ReportBatchItemFailures");
    assert_eq!(template.number("Deliveries", "/MaximumBatchingWindowInSeconds"), 0);
}

#[test]
fn passes_end_before_their_function_and_that_before_the_next_tick() {
    let template = Template::read();
    let sweeper = template.number("SweeperFunction", "/Timeout");
    assert!(PASS < PASS_MAX && PASS_MAX.num_seconds() < sweeper && sweeper < TICK_SECONDS);
    assert_eq!(template.properties("Tick")["ScheduleExpression"], "rate(1 minute)");
    // A tick may be missing, and what comes into view is handed over in time.
    assert!(TICK_SECONDS < AHEAD.num_seconds());
    // The next tick is the retry.
    for (resource, retries) in [
        ("SweeperFunction", "/EventInvokeConfig/MaximumRetryAttempts"),
        ("Tick", "/Targets/0/RetryPolicy/MaximumRetryAttempts"),
    ] {
        assert_eq!(template.number(resource, retries), 0);
    }
}

#[test]
fn a_request_is_answered_before_the_gateway_gives_up() {
    let template = Template::read();
    let gateway = template.number("Integration", "/TimeoutInMillis");
    assert!(gateway <= GATEWAY_MAX_MILLISECONDS);
    assert!(template.number("ApiFunction", "/Timeout") * 1_000 < gateway);
}
