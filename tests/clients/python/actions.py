"""Actions of every type, as they are sent and as answers contain them, without secrets."""

from datetime import datetime, timedelta, timezone

from azure.mgmt.scheduler import models


def http(uri="http://example.org/run", **fields):
    return {
        "type": "Http",
        "request": models.HttpRequest(uri=uri, method="GET", **fields),
    }


def https():
    request = models.HttpRequest(
        uri="https://example.org/run?a=%2d",
        method="post",
        body="some body",
        headers={"Content-Type": "text/plain", "X-Own": "own"},
    )
    return {"type": "Https", "request": request}


def storage_queue():
    message = models.StorageQueueMessage(
        storage_account="account", queue_name="queue", sas_token="secret", message="some message"
    )
    return {"type": "StorageQueue", "queue_message": message}


def service_bus_queue():
    message = models.ServiceBusQueueMessage(queue_name="queue", **_service_bus("AMQP"))
    return {"type": "ServiceBusQueue", "service_bus_queue_message": message}


def service_bus_topic():
    message = models.ServiceBusTopicMessage(topic_path="topic", **_service_bus("NetMessaging"))
    return {"type": "ServiceBusTopic", "service_bus_topic_message": message}


def _service_bus(transport):
    return {
        "namespace": "namespace",
        "transport_type": transport,
        "message": "some message",
        "authentication": models.ServiceBusAuthentication(
            sas_key="secret", sas_key_name="RootManageSharedAccessKey", type="SharedAccessKey"
        ),
        "brokered_message_properties": models.ServiceBusBrokeredMessageProperties(
            content_type="application/json",
            correlation_id="correlation",
            force_persistence=True,
            label="label",
            message_id="message",
            partition_key="key",
            reply_to="reply",
            reply_to_session_id="reply session",
            scheduled_enqueue_time_utc=datetime(2027, 5, 6, 7, 8, 9, tzinfo=timezone.utc),
            session_id="key",
            time_to_live=timedelta(minutes=90),
            to="to",
            via_partition_key="via",
        ),
        "custom_message_properties": {"name": "value"},
    }


SENT = {
    "Http": http,
    "Https": https,
    "StorageQueue": storage_queue,
    "ServiceBusQueue": service_bus_queue,
    "ServiceBusTopic": service_bus_topic,
}

_SERVICE_BUS_READ = {
    "namespace": "namespace",
    "message": "some message",
    "authentication": {
        "sas_key_name": "RootManageSharedAccessKey",
        "type": "sharedaccesskey",
    },
    "brokered_message_properties": {
        "content_type": "application/json",
        "correlation_id": "correlation",
        "force_persistence": True,
        "label": "label",
        "message_id": "message",
        "partition_key": "key",
        "reply_to": "reply",
        "reply_to_session_id": "reply session",
        "scheduled_enqueue_time_utc": "2027-05-06T07:08:09.000Z",
        "session_id": "key",
        "time_to_live": "PT1H30M",
        "to": "to",
        "via_partition_key": "via",
    },
    "custom_message_properties": {"name": "value"},
}

READ = {
    "Http": {"type": "http", "request": {"uri": "http://example.org/run", "method": "GET"}},
    "Https": {
        "type": "https",
        "request": {
            "uri": "https://example.org/run?a=%2d",
            "method": "post",
            "body": "some body",
            "headers": {"Content-Type": "text/plain", "X-Own": "own"},
        },
    },
    "StorageQueue": {
        "type": "storagequeue",
        "queue_message": {
            "storage_account": "account",
            "queue_name": "queue",
            "message": "some message",
        },
    },
    "ServiceBusQueue": {
        "type": "servicebusqueue",
        "service_bus_queue_message": {
            "queue_name": "queue",
            "transport_type": "amqp",
            **_SERVICE_BUS_READ,
        },
    },
    "ServiceBusTopic": {
        "type": "servicebustopic",
        "service_bus_topic_message": {
            "topic_path": "topic",
            "transport_type": "netmessaging",
            **_SERVICE_BUS_READ,
        },
    },
}
