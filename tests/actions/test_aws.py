"""SQS, SNS, Lambda and EventBridge, on ministack, read by AWS's own client."""

import json
import re

import pytest
from aws import event, function, sns, sqs, text_of

EXECUTION = "x-ms-scheduler-execution-id"
TEXT = 'Grüße <b> & "c" 🔑\n'


def test_a_message_arrives_in_a_queue_with_its_attributes(scheduler, aws):
    queue = aws.queue("orders")
    told = scheduler.succeeds(sqs(queue, TEXT, messageAttributes={"kind": "ärgerlich", "n": "1"}))
    message = aws.receive(queue)
    assert told == (
        f"Sqs Action - Message to queue '{queue}' succeeded: 'OK', as '{message['MessageId']}'"
    )
    assert message["Body"] == TEXT
    assert set(message["MessageAttributes"]) == {"kind", "n", EXECUTION}
    assert (text_of(message, "kind"), text_of(message, "n")) == ("ärgerlich", "1")
    assert re.fullmatch(r"[0-9a-f]+\.\d+\.\d+\.m0", text_of(message, EXECUTION))


def test_a_queue_in_order_gets_the_group_and_the_identity_of_the_execution(scheduler, aws):
    queue = aws.queue("orders.fifo")
    scheduler.succeeds(sqs(queue, "one"))
    message = aws.receive(queue)
    identity = text_of(message, EXECUTION)
    assert message["Attributes"]["MessageDeduplicationId"] == identity
    # The job's own.
    assert message["Attributes"]["MessageGroupId"] == identity.split(".")[0]
    scheduler.succeeds(sqs(queue, "two", messageGroupId="mine"))
    assert aws.receive(queue)["Attributes"]["MessageGroupId"] == "mine"


def test_a_topic_gives_a_message_to_who_listens(scheduler, aws):
    queue = aws.queue("listens")
    topic = aws.topic("news", queue)
    told = scheduler.succeeds(sns(topic, TEXT, subject="News", messageAttributes={"kind": "a b&c"}))
    assert told.startswith(f"Sns Action - Message to topic '{topic}' succeeded: 'OK', as '")
    message = aws.receive(queue)
    assert message["Body"] == TEXT
    assert text_of(message, "kind") == "a b&c" and EXECUTION in message["MessageAttributes"]


def test_a_topic_in_order_gets_the_group_and_the_identity_of_the_execution(scheduler, aws):
    queue = aws.queue("listens.fifo")
    topic = aws.topic("news.fifo", queue)
    scheduler.succeeds(sns(topic, "x"))
    message = aws.receive(queue)
    identity = text_of(message, EXECUTION)
    assert message["Attributes"]["MessageDeduplicationId"] == identity
    assert message["Attributes"]["MessageGroupId"] == identity.split(".")[0]


def test_a_function_is_invoked_and_not_waited_for(scheduler, aws):
    queue = aws.queue("invoked")
    arn = aws.function("report", queue)
    told = scheduler.succeeds(function(arn, payload='{"kind":"nightly","n":[1,"ä"]}'))
    assert told.startswith(f"Lambda Action - Invocation of '{arn}' succeeded: 'Accepted'")
    assert json.loads(aws.receive(queue)["Body"]) == {"kind": "nightly", "n": [1, "ä"]}
    scheduler.succeeds(function("report"))
    assert json.loads(aws.receive(queue)["Body"]) == {}


def test_an_event_arrives_on_its_bus(scheduler, aws):
    queue = aws.queue("heard")
    aws.bus("reports", "minutehand.test", queue)
    detail = {"kind": "nightly", "of": "ä"}
    told = scheduler.succeeds(
        event("minutehand.test", json.dumps(detail), eventBusName="reports", resources=["report/1"])
    )
    assert told.startswith("EventBridge Action - Event to bus 'reports' succeeded: 'OK', as '")
    heard = json.loads(aws.receive(queue)["Body"])
    assert (heard["detail"], heard["detail-type"], heard["source"]) == (
        *(detail, "Report"),
        "minutehand.test",
    )
    own, execution = heard["resources"]
    assert own == "report/1"
    assert re.fullmatch(r"minutehand:execution:[0-9a-f]+\.\d+\.\d+\.m0", execution)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (
            sqs("http://127.0.0.1/000000000000/absent", "x"),
            "Sqs Action - Message to queue 'http://127.0.0.1/000000000000/absent' failed: "
            "QueueDoesNotExist ",
        ),
        (
            sns("arn:aws:sns:us-east-1:000000000000:absent", "x"),
            "Sns Action - Message to topic 'arn:aws:sns:us-east-1:000000000000:absent' failed: "
            "NotFound",
        ),
        (
            function("absent"),
            "Lambda Action - Invocation of 'absent' failed: ResourceNotFoundException ",
        ),
    ],
)
def test_what_is_not_there_is_told(scheduler, action, expected):
    assert scheduler.fails(action).startswith(expected)


def test_where_there_is_no_aws_such_jobs_are_refused_at_creation(scheduler_tls):
    for action in (
        sqs("https://sqs.eu-west-1.amazonaws.com/123456789012/q", "x"),
        sns("arn:aws:sns:eu-west-1:123456789012:t", "x"),
        function("f"),
        event("s", "{}"),
    ):
        ways = [action, {**http_action(), "errorAction": action}]
        for wanted in ways:
            status, text = scheduler_tls.ask(
                "PUT", "/jobs/no", {"properties": {"action": wanted}}
            )
            assert status == 400 and "Start the server with --aws-endpoint" in text, wanted


def http_action():
    return {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}}
