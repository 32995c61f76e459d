"""Storage queues, with Azurite."""

import re
import xml.etree.ElementTree as XML
from datetime import timedelta

import pytest
from storage import ACCOUNT, HOUR, Storage, action, texts

SUCCEEDED = "StorageQueue Action - Message to storage account 'devstoreaccount1', queue '{}' succeeded: Created"
TEXT = "Grüße <b> & \"c\" ]]> 🔑\r\n\tend "


@pytest.fixture(scope="session")
def storage(setup):
    return Storage(setup["storage"])


def test_a_raw_message_arrives_unchanged(scheduler, storage):
    queue = storage.queue("raw-orders")
    sas = storage.sas("raw-orders")
    message = scheduler.succeeds(action("raw-orders", sas, TEXT, messageFormat="raw"))
    assert message == SUCCEEDED.format("raw-orders")
    assert texts(queue) == [TEXT]


def test_the_envelope_describes_the_execution_and_contains_the_text(scheduler, storage):
    queue = storage.queue("orders")
    # The portal shows tokens with a question mark, which is accepted.
    job = scheduler.put(action("orders", f"?{storage.sas('orders')}", TEXT))
    item = scheduler.history(job)[0]
    assert item["message"] == SUCCEEDED.format("orders")
    [text] = texts(queue)
    first, _, rest = text.partition("\r\n")
    assert first == '<?xml version="1.0" encoding="utf-16"?>'
    envelope = XML.fromstring(rest)
    assert envelope.tag == "StorageQueueMessage"
    found = {element.tag: element.text for element in envelope}
    assert list(found) == [
        "ExecutionTag",
        "ClientRequestId",
        "ExpectedExecutionTime",
        "SchedulerJobId",
        "SchedulerJobCollectionId",
        "Region",
        "Message",
    ]
    assert found["Message"] == TEXT
    assert found["SchedulerJobId"] == job.removeprefix("/jobs/")
    assert found["Region"] == "local"
    assert f"{found['ExpectedExecutionTime']}Z" == item["expectedExecutionTime"]
    assert re.fullmatch("[0-9a-f]{32}", found["ExecutionTag"])
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found["ClientRequestId"])


def test_an_empty_text_is_a_message(scheduler, storage):
    queue = storage.queue("empty")
    scheduler.succeeds(action("empty", storage.sas("empty"), ""))
    [text] = texts(queue)
    assert "<Message></Message>" in text


def test_a_wrong_token_fails_without_being_revealed(scheduler, storage):
    storage.queue("closed")
    good = storage.sas("closed")
    signature = re.search("sig=([^&]+)", good)[1]
    wrong = good.replace(signature, "UGxhbnRlZC1TaWduYXR1cmUtMDAwMDAwMDAwMDAwMDA%3D")
    message = scheduler.fails(action("closed", wrong, "x"))
    assert message.startswith(
        "StorageQueue Action - Message to queue 'closed' of storage account 'devstoreaccount1' "
        "failed: Forbidden AuthenticationFailed Server failed to authenticate the request."
    )
    expired = scheduler.fails(action("closed", storage.sas("closed", timedelta(0) - HOUR), "x"))
    assert "failed: Forbidden AuthenticationFailed" in expired
    log = scheduler.log.read_text()
    for text in (message, expired, log):
        assert signature not in text and "UGxhbnRlZC1TaWduYXR1cmUt" not in text


def test_a_missing_queue_has_the_message_that_clients_parse(scheduler, storage):
    message = scheduler.fails(action("absent", storage.account_sas(), "x"))
    assert message == (
        "StorageQueue Action - The queue 'absent' does not exist in the storage account "
        f"'{ACCOUNT}': NotFound QueueNotFound"
    )


def test_a_text_that_is_too_large_fails(scheduler, storage):
    queue = storage.queue("large")
    # The text is escaped twice, which makes it about seven times as long.
    message = scheduler.fails(action("large", storage.sas("large"), "&" * 15_000))
    assert "failed: RequestEntityTooLarge RequestBodyTooLarge" in message
    assert texts(queue) == []


def test_the_api_refuses_characters_that_are_invalid_in_xml(scheduler):
    refused = scheduler.ask(
        "PUT", "/jobs/control", {"properties": {"action": action("q-1", "s", "a\u0001b")}}
    )
    assert refused[0] == 400 and "U+0001" in refused[1]
