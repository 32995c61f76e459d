"""The collections that exist while schemathesis runs. Each has one job of each kind."""

import json
import os
import urllib.error
import urllib.request

URL = os.environ["MINUTEHAND_URL"]
TOKEN = os.environ["MINUTEHAND_TOKEN"]
SUBSCRIPTION = "stored"
GROUP = "stored"
COLLECTIONS = [f"stored-{n}" for n in range(6)]
LOCATION = "West US"
URI = "http://example.org/"

HTTP = {"type": "Http", "request": {"uri": URI, "method": "GET"}}
SERVICE_BUS = {
    "namespace": "namespace",
    "message": "message",
    "authentication": {"type": "SharedAccessKey", "sasKeyName": "name", "sasKey": "key"},
    "brokeredMessageProperties": {"timeToLive": "PT1H"},
}
QUEUE = {"queueName": "queue", "sasToken": "token", "message": "message"}
BASIC = {"type": "Basic", "username": "user", "password": "password"}
PROPERTIES = {
    "http": {"action": HTTP},
    "basic": {"action": {**HTTP, "request": {**HTTP["request"], "authentication": BASIC}}},
    "storage-queue": {
        "action": {
            "type": "StorageQueue",
            "queueMessage": {"storageAccount": "account", **QUEUE},
            "errorAction": HTTP,
        },
        "recurrence": {"frequency": "week", "schedule": {"weekDays": ["monday"]}},
    },
    "service-bus-queue": {
        "action": {
            "type": "ServiceBusQueue",
            "serviceBusQueueMessage": {"queueName": "queue", **SERVICE_BUS},
            "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 2},
        },
        "recurrence": {"frequency": "hour", "timeZone": "Europe/Paris"},
    },
    "service-bus-topic": {
        "action": {
            "type": "ServiceBusTopic",
            "serviceBusTopicMessage": {"topicPath": "topic", **SERVICE_BUS},
        },
        "startTime": "2027-06-01T00:00:00Z",
        "state": "disabled",
    },
    "aws": {
        "action": {
            "type": "Sqs",
            "sqsMessage": {
                "queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
                "message": "message",
                "messageAttributes": {"kind": "nightly"},
            },
            "errorAction": {
                "type": "EventBridge",
                "eventBridgeEvent": {"source": "s", "detailType": "t", "detail": "{}"},
            },
        },
    },
    "pings": {
        "action": {"type": "Expect", "expect": {"early": "PT1H", "grace": "PT1H"}},
        "recurrence": {"frequency": "day"},
    },
    "occurrences": {
        "action": HTTP,
        "recurrence": {
            "frequency": "month",
            "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": -1}]},
        },
    },
}
JOBS = list(PROPERTIES)


# A collection that no other request changes. Nothing listens where its alerts go, which the answer says.
WITH_ALERTS = "with-alerts"
ALERTS = {"type": "Http", "request": {"uri": "http://127.0.0.1:1/", "method": "POST"}}


def store():
    """Creates the collections and jobs, or restores those that were changed or deleted."""
    collections = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}"
        "/providers/Microsoft.Scheduler/jobCollections"
    )
    put(
        f"{collections}/{WITH_ALERTS}",
        {"location": LOCATION, "properties": {"minutehand": {"onFailure": ALERTS}}},
    )
    for collection in COLLECTIONS:
        path = f"{collections}/{collection}"
        put(path, {"location": LOCATION, "properties": {"sku": {"name": "P20Premium"}}})
        for job, properties in PROPERTIES.items():
            put_anew(f"{path}/jobs/{job}", {"properties": properties})


def put_anew(path, body):
    """Puts a job. One that has finished cannot change, so it is deleted first."""
    try:
        put(path, body)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        send("DELETE", path)
        put(path, body)


def put(path, body):
    send("PUT", path, json.dumps(body).encode())


def send(method, path, body=None):
    request = urllib.request.Request(
        f"{URL}{path}?api-version=2016-03-01",
        body,
        {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        method=method,
    )
    urllib.request.urlopen(request, timeout=30).close()
