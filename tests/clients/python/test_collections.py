"""The life cycle of a collection."""

import pytest
from azure.mgmt.scheduler import models

from scheduler import Refused, read


def quota(jobs, frequency, interval):
    recurrence = models.JobMaxRecurrence(frequency=frequency, interval=interval)
    return models.JobCollectionQuota(max_job_count=jobs, max_recurrence=recurrence)


def test_a_collection_survives_a_round_trip(client):
    created = client.put_collection(
        "First",
        name="First",
        location="westus",
        tags={"department": "marketing"},
        properties=models.JobCollectionProperties(
            sku=models.Sku(name="Standard"), state="Suspended", quota=quota(20, "Week", 1)
        ),
    )
    expected = {
        "id": client.id_of("First"),
        "type": "microsoft.scheduler/jobcollections",
        "name": "First",
        "location": "West US",
        "tags": {"department": "marketing"},
        "properties": {
            "sku": {"name": "Standard"},
            "state": "suspended",
            "quota": {
                "max_job_count": 20,
                "max_recurrence": {"frequency": "week", "interval": 1},
            },
        },
    }
    assert read(created) == expected
    assert read(client.get_collection("First")) == expected
    # Names match in any case; answers have the first spelling.
    assert read(client.get_collection("fIRST")) == expected


def test_the_defaults_are_enabled_and_standard(client):
    created = client.put_collection("first", location="West US")
    expected = {"sku": {"name": "Standard"}, "state": "enabled"}
    assert read(created)["properties"] == expected


def test_a_put_replaces_and_a_patch_merges(client):
    before = models.JobCollectionProperties(sku=models.Sku(name="Standard"), quota=quota(20, "Week", 1))
    client.put_collection("first", location="westus", tags={"a": "1"}, properties=before)

    patched = read(client.patch_collection("first", tags={"b": "2"}))
    assert patched["tags"] == {"a": "1", "b": "2"}
    assert patched["properties"]["quota"]["max_job_count"] == 20

    after = models.JobCollectionProperties(sku=models.Sku(name="P10Premium"))
    replaced = read(client.put_collection("first", location="West US", properties=after))
    assert "tags" not in replaced
    assert replaced["properties"] == {"sku": {"name": "P10Premium"}, "state": "enabled"}
    assert read(client.get_collection("first")) == replaced


def test_a_collection_is_disabled_and_enabled(client, collection):
    def state():
        return read(client.get_collection(collection))["properties"]["state"]

    assert client.disable_collection(collection) is None
    assert state() == "disabled"
    assert client.enable_collection(collection) is None
    assert state() == "enabled"


def test_deleting_a_collection_deletes_its_jobs(client, collection):
    action = models.JobAction(
        type="Http", request=models.HttpRequest(uri="http://example.org", method="GET")
    )
    client.put_job(collection, "job", action=action)
    assert client.delete_collection(collection) is None

    missing = (
        "The Resource 'Microsoft.Scheduler/jobCollections/Collection' under resource group "
        "'Group 1' was not found."
    )
    create = " Create the job collection first, with a PUT of its path and the body {}."
    no_job = "Job 'job' cannot be found."
    for what, code, message in [
        (lambda: client.get_collection(collection), "ResourceNotFound", missing),
        (lambda: client.delete_collection(collection), "ResourceNotFound", missing),
        (lambda: client.get_job(collection, "job"), "NotFound", no_job),
        (lambda: client.list_jobs(collection), "ResourceNotFound", missing + create),
    ]:
        with pytest.raises(Refused) as refused:
            what()
        assert (refused.value.status, refused.value.code) == (404, code)
        assert refused.value.message.lower() == message.lower()
    assert client.list_collections_of_group() == []

    # A new collection with the same name is empty.
    client.put_collection(collection, location="westus")
    assert client.list_jobs(collection) == []


def test_lists_are_ordered_by_name_and_limited_to_their_scope(client):
    for name in ["b", "C", "a"]:
        client.put_collection(name, location="westus")
    names = [found.name for found in client.list_collections_of_group()]
    assert names == ["a", "b", "C"]
    assert [found.name for found in client.list_collections_of_subscription()] == names
    assert client.list_collections_of_group("another") == []


def test_a_second_free_collection_is_a_conflict(client):
    free = models.JobCollectionProperties(sku=models.Sku(name="Free"))
    client.put_collection("first", location="westus", properties=free)
    with pytest.raises(Refused) as refused:
        client.put_collection("second", location="westus", properties=free)
    assert refused.value.status == 409


def test_more_jobs_than_the_quota_are_a_conflict(client):
    properties = models.JobCollectionProperties(quota=quota(1, "Hour", 1))
    client.put_collection("first", location="westus", properties=properties)
    action = models.JobAction(
        type="Http", request=models.HttpRequest(uri="http://example.org", method="GET")
    )
    client.put_job("first", "one", action=action)
    with pytest.raises(Refused) as refused:
        client.put_job("first", "two", action=action)
    assert refused.value.status == 409
