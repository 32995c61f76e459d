"""Service Bus over its HTTPS API, with a fake that was written from Microsoft's documents."""

import re

import pytest

KEY_NAME, KEY = "RootManageSharedAccessKey", "Planted-Key-7+/="
SERIALIZED = b"@\x06string\x083http://schemas.microsoft.com/2003/10/Serialization/\x99"

BROKERED = {
    "contentType": "application/json",
    "correlationId": "correlation",
    "forcePersistence": True,
    "label": "Grüße",
    "messageId": "own identity",
    "partitionKey": "key",
    "replyTo": "reply",
    "replyToSessionId": "reply session",
    "scheduledEnqueueTimeUtc": "2030-05-06T07:08:09Z",
    "sessionId": "key",
    "timeToLive": "00:01:30.5",
    "to": "some\"one\"",
    "viaPartitionKey": "via",
}
# The format of the documents: durations in seconds, instants in the format of HTTP, ASCII.
BROKER_PROPERTIES = (
    '{"CorrelationId":"correlation","ForcePersistence":true,"Label":"Gr\\u00fc\\u00dfe",'
    '"MessageId":"own identity","PartitionKey":"key","ReplyTo":"reply",'
    '"ReplyToSessionId":"reply session","ScheduledEnqueueTimeUtc":"Mon, 06 May 2030 07:08:09 GMT",'
    '"SessionId":"key","TimeToLive":90.5,"To":"some\\"one\\"","ViaPartitionKey":"via"}'
)


def action(kind, entity, message, key=KEY, key_name=KEY_NAME, **more):
    property_name = {"Queue": "queueName", "Topic": "topicPath"}[kind]
    return {
        "type": f"ServiceBus{kind}",
        f"serviceBus{kind}Message": {
            property_name: entity,
            "namespace": "contoso",
            "message": message,
            "authentication": {"sasKeyName": key_name, "sasKey": key},
            **more,
        },
    }


def newest(bus):
    return bus.messages[-1]


def headers(message, name):
    return [value for known, value in message["headers"] if known.lower() == name.lower()]


@pytest.mark.parametrize("transport", [None, "NotSpecified", "netMessaging"])
def test_the_default_transport_is_https(scheduler, bus, transport):
    more = {"transportType": transport} if transport else {}
    result = scheduler.succeeds(action("Queue", "orders", '{"key":"value"}', **more))
    assert result == (
        "ServiceBusQueue Action - Succeeded: message to 'orders' in namespace 'contoso' was taken "
        "with 'Created'"
    )
    message = newest(bus)
    assert message["path"] == "/orders/messages"
    # A serialized .NET string, as Azure sent it.
    assert message["body"] == SERIALIZED + b'\x0f{"key":"value"}'
    [identity] = headers(message, "BrokerProperties")
    assert re.fullmatch(r'\{"MessageId":"[0-9a-f]+\.\d+\.\d+\.m0"\}', identity)


def test_all_properties_arrive_byte_for_byte(scheduler, bus):
    custom = {"Priority": "High", "customer": "12345,\"ABC\" ä"}
    result = scheduler.succeeds(
        action(
            *("Topic", "some/topic", "Grüße"),
            messageFormat="raw",
            brokeredMessageProperties=BROKERED,
            customMessageProperties=custom,
        )
    )
    assert result.startswith("ServiceBusTopic Action - Succeeded: message to 'some/topic' in ")
    message = newest(bus)
    assert message["path"] == "/some/topic/messages"
    assert message["body"] == "Grüße".encode()
    assert headers(message, "BrokerProperties") == [BROKER_PROPERTIES]
    assert headers(message, "Content-Type") == ["application/json"]
    assert headers(message, "priority") == ['"High"']
    assert headers(message, "customer") == ['"12345,\\"ABC\\" \\u00e4"']


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"key": "Planted-Wrong-8"}, "Unauthorized InvalidSignature: The token has an invalid"),
        ({"key_name": "somebody else"}, "Unauthorized InvalidSignature: no such key"),
    ],
)
def test_a_wrong_key_fails_without_being_revealed(scheduler, bus, more, expected):
    before = len(bus.messages)
    result = scheduler.fails(action("Queue", "orders", "x", **more))
    assert result.startswith(
        "ServiceBusQueue Action - Failed: message to 'orders' in namespace 'contoso' failed: "
        + expected
    )
    assert len(bus.messages) == before
    for text in (result, scheduler.log.read_text()):
        assert "Planted" not in text and "sig=" not in text


def test_a_missing_queue_is_named(scheduler):
    result = scheduler.fails(action("Queue", "absent", "x"))
    assert "failed: NotFound Entity 'absent' was not found." in result


def test_the_api_refuses_properties_that_are_not_valid_headers(scheduler):
    for name in ("a b", "Authorization", "BrokerProperties", "ä"):
        wanted = action("Queue", "orders", "x", customMessageProperties={name: "1"})
        status, text = scheduler.ask("PUT", "/jobs/no", {"properties": {"action": wanted}})
        assert status == 400 and "use another name, or transportType AMQP" in text, name
