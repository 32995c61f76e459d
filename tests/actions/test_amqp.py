"""Service Bus over AMQP 1.0, with RabbitMQ as the broker, read by an independent client."""

import pytest
from services import Broker
from proton import Terminus, symbol, timestamp
from proton.reactor import ReceiverOption
from proton.utils import BlockingConnection
from scheduler import outcome
from test_bus import SERIALIZED, action

BROKERED = {
    "contentType": "application/json",
    "correlationId": "correlation",
    "label": "Grüße",
    "messageId": "own identity",
    "partitionKey": "key",
    "replyTo": "reply",
    "replyToSessionId": "reply session",
    "scheduledEnqueueTimeUtc": "2030-05-06T07:08:09Z",
    "sessionId": "key",
    "timeToLive": "00:10:00",
    "to": "someone",
    "viaPartitionKey": "via",
}


def message(kind, entity, text, **more):
    wanted = {"transportType": "AMQP", "key": Broker.KEY, "key_name": Broker.KEY_NAME, **more}
    return action(kind, entity, text, **wanted)


def reading(broker):
    """A connection of the independent client."""
    return BlockingConnection(
        f"amqp://127.0.0.1:{broker.port}",
        user=Broker.KEY_NAME,
        password=Broker.KEY,
        allowed_mechs="PLAIN",
        # The connection is local and without TLS.
        allow_insecure_mechs=True,
        timeout=30,
    )


@pytest.fixture
def reader(broker):
    connection = reading(broker)
    yield connection
    connection.close()


def receive(reader, address):
    # The link is not detached here, since the broker would not confirm that.
    receiver = reader.create_receiver(address)
    found = receiver.receive(timeout=30)
    receiver.accept()
    return found


@pytest.mark.parametrize("server", ["scheduler", "scheduler_tls"])
def test_a_message_arrives_with_all_properties(server, reader, request):
    scheduler = request.getfixturevalue(server)
    own = {"priority": "high", "größe": "12"}
    result = scheduler.succeeds(
        message(
            *("Queue", f"{server}.whole", "Grüße"),
            messageFormat="raw",
            brokeredMessageProperties=BROKERED,
            customMessageProperties=own,
        )
    )
    assert result == (
        f"ServiceBusQueue Action - Succeeded: message to '{server}.whole' in namespace 'contoso' "
        "was taken with 'Accepted'"
    )
    found = receive(reader, f"{server}.whole")
    assert bytes(found.body) == "Grüße".encode() and found.inferred
    assert found.properties == own
    assert found.annotations == {
        symbol("x-opt-partition-key"): "key",
        symbol("x-opt-via-partition-key"): "via",
        symbol("x-opt-scheduled-enqueue-time"): timestamp(1_904_281_689_000),
    }
    received = [found.id, found.correlation_id, found.subject, found.content_type, found.address]
    assert received == ["own identity", "correlation", "Grüße", "application/json", "someone"]
    assert (found.reply_to, found.group_id) == ("reply", "key")
    assert found.reply_to_group_id == "reply session"
    assert found.ttl == 600.0 and found.durable


def test_the_envelope_is_a_serialized_string_and_the_message_id_is_the_execution(scheduler, reader):
    scheduler.succeeds(message("Queue", "plain", "hello"))
    found = receive(reader, "plain")
    assert bytes(found.body) == SERIALIZED + b"\x05hello"
    assert found.id.endswith(".m0") and found.properties is None and found.ttl == 0


def test_a_topic_forwards_a_message_to_its_subscribers(scheduler, reader):
    receiver = reader.create_receiver("/topic/news")
    result = scheduler.succeeds(message("Topic", "/topic/news", "news", messageFormat="raw"))
    assert result.startswith("ServiceBusTopic Action - Succeeded: message to '/topic/news' in ")
    found = receiver.receive(timeout=30)
    assert bytes(found.body) == b"news"


class Durable(ReceiverOption):
    """Declares a queue that survives a restart of the broker, as those of Service Bus do."""

    def apply(self, receiver):
        receiver.source.durability = Terminus.DELIVERIES


def test_connections_are_reused_and_opened_again_after_a_restart(scheduler, broker, reader):
    reader.create_receiver("/queue/lasting", credit=0, options=Durable())
    lasting = message("Queue", "/amq/queue/lasting", "x")
    job = scheduler.put(lasting, startTime="2050-01-01T00:00:00Z")

    def run(number):
        scheduler.must("POST", f"{job}/run")
        return outcome(scheduler.history(job, number)[0])

    assert run(1)[0]
    before = broker.peers()
    assert run(2)[0] and run(3)[0]
    assert broker.peers() == before, "all messages use one connection"
    reader.close()
    broker.stop()
    succeeded, result = run(4)
    assert not succeeded and "failed: ConnectFailure Unable to connect" in result
    broker.start()
    assert run(5) == (True, success_message("/amq/queue/lasting"))
    again = reading(broker)
    receiver = again.create_receiver("/amq/queue/lasting", credit=10)
    # The broker still has the messages that it accepted before the restart.
    identities = [receiver.receive(timeout=30).id for _ in range(4)]
    assert len(set(identities)) == 4
    again.close()


def test_a_restart_of_the_broker_between_two_executions_causes_no_failure(scheduler, broker):
    job = scheduler.put(message("Queue", "between", "x"), startTime="2050-01-01T00:00:00Z")
    for number in (1, 2):
        scheduler.must("POST", f"{job}/run")
        assert outcome(scheduler.history(job, number)[0]) == (True, success_message("between"))
        broker.stop()
        broker.start()


def success_message(queue):
    return (
        f"ServiceBusQueue Action - Succeeded: message to '{queue}' in namespace 'contoso' was taken "
        "with 'Accepted'"
    )


def test_a_wrong_key_fails_without_being_revealed(scheduler, broker):
    result = scheduler.fails(message("Queue", "closed", "x", key="Planted-Wrong-9"))
    assert result == (
        "ServiceBusQueue Action - Failed: message to 'closed' in namespace 'contoso' failed: "
        "Unauthorized The broker does not accept the name and the key of the job."
    )
    assert "Planted" not in scheduler.log.read_text()


def test_a_missing_exchange_is_named(scheduler, broker):
    result = scheduler.fails(message("Topic", "/exchange/absent", "x"))
    assert "failed: NotFound NOT_FOUND - no exchange 'absent'" in result
