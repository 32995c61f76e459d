"""SQS, SNS, Lambda and EventBridge, with ministack as AWS, read with the official client."""

import json
import re

import pytest
from aws import event, function, sns, sqs, text_of

EXECUTION = "x-ms-scheduler-execution-id"
OCCURRENCE = "x-ms-scheduler-expected-execution-time"
TEXT = 'Grüße <b> & "c" 🔑\n'


def test_a_message_arrives_in_a_queue_with_its_attributes(scheduler, aws):
    queue = aws.queue("orders")
    result = scheduler.succeeds(sqs(queue, TEXT, messageAttributes={"kind": "ärgerlich", "n": "1"}))
    message = aws.receive(queue)
    assert result == (
        f"Sqs Action - Message to queue '{queue}' succeeded: 'OK', as '{message['MessageId']}'"
    )
    assert message["Body"] == TEXT
    assert set(message["MessageAttributes"]) == {"kind", "n", EXECUTION, OCCURRENCE}
    assert (text_of(message, "kind"), text_of(message, "n")) == ("ärgerlich", "1")
    assert re.fullmatch(r"[0-9a-f]+\.\d+\.\d+\.m0", text_of(message, EXECUTION))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", text_of(message, OCCURRENCE))


def test_a_fifo_queue_gets_a_group_and_the_deduplication_id_of_the_execution(scheduler, aws):
    queue = aws.queue("orders.fifo")
    scheduler.succeeds(sqs(queue, "one"))
    message = aws.receive(queue)
    identity = text_of(message, EXECUTION)
    assert message["Attributes"]["MessageDeduplicationId"] == identity
    # The default group is that of the job.
    assert message["Attributes"]["MessageGroupId"] == identity.split(".")[0]
    scheduler.succeeds(sqs(queue, "two", messageGroupId="mine"))
    assert aws.receive(queue)["Attributes"]["MessageGroupId"] == "mine"


def test_a_topic_forwards_a_message_to_its_subscribers(scheduler, aws):
    queue = aws.queue("listens")
    topic = aws.topic("news", queue)
    result = scheduler.succeeds(sns(topic, TEXT, subject="News", messageAttributes={"kind": "a b&c"}))
    assert result.startswith(f"Sns Action - Message to topic '{topic}' succeeded: 'OK', as '")
    message = aws.receive(queue)
    assert message["Body"] == TEXT
    assert text_of(message, "kind") == "a b&c" and EXECUTION in message["MessageAttributes"]


def test_a_fifo_topic_gets_a_group_and_the_deduplication_id_of_the_execution(scheduler, aws):
    queue = aws.queue("listens.fifo")
    topic = aws.topic("news.fifo", queue)
    scheduler.succeeds(sns(topic, "x"))
    message = aws.receive(queue)
    identity = text_of(message, EXECUTION)
    assert message["Attributes"]["MessageDeduplicationId"] == identity
    assert message["Attributes"]["MessageGroupId"] == identity.split(".")[0]


def test_a_function_is_invoked_asynchronously(scheduler, aws):
    queue = aws.queue("invoked")
    arn = aws.function("report", queue)
    result = scheduler.succeeds(function(arn, payload='{"kind":"nightly","n":[1,"ä"]}'))
    assert result.startswith(f"Lambda Action - Invocation of '{arn}' succeeded: 'Accepted'")
    assert json.loads(aws.receive(queue)["Body"]) == {"kind": "nightly", "n": [1, "ä"]}
    scheduler.succeeds(function("report"))
    told = json.loads(aws.receive(queue)["Body"])
    assert set(told) == {"job", "executionId", "occurrence", "missed", "missedSince", "lastSuccess"}
    assert re.fullmatch(r"[0-9a-f]+\.\d+\.\d+\.m0", told["executionId"]) and told["missed"] == 0


def test_an_event_arrives_on_its_bus(scheduler, aws):
    queue = aws.queue("heard")
    aws.bus("reports", "minutehand.test", queue)
    detail = {"kind": "nightly", "of": "ä"}
    result = scheduler.succeeds(
        event("minutehand.test", json.dumps(detail), eventBusName="reports", resources=["report/1"])
    )
    assert result.startswith("EventBridge Action - Event to bus 'reports' succeeded: 'OK', as '")
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
def test_a_missing_resource_is_named(scheduler, action, expected):
    assert scheduler.fails(action).startswith(expected)


def test_without_access_to_aws_the_api_refuses_such_jobs(scheduler_alone):
    for action in (
        sqs("https://sqs.eu-west-1.amazonaws.com/123456789012/q", "x"),
        sns("arn:aws:sns:eu-west-1:123456789012:t", "x"),
        function("f"),
        event("s", "{}"),
    ):
        for wanted in (action, {**http_action(), "errorAction": action}):
            body = {"properties": {"action": wanted}}
            status, text = scheduler_alone.ask("PUT", "/jobs/no", body)
            assert status == 400 and "Start the server with --aws," in text, f"{wanted}: {text}"


def http_action():
    return {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}}
