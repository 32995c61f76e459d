"""The life cycle of a job."""

import pytest
from azure.mgmt.scheduler import models

from actions import READ, http
from scheduler import Refused, Scheduler, read

COUNTERS = {"execution_count": 0, "failure_count": 0, "faulted_count": 0}


def action():
    return models.JobAction(**http())


@pytest.mark.clock
def test_a_job_survives_a_round_trip(client, collection):
    recurrence = models.JobRecurrence(frequency="Day", count=3)
    created = client.put_job(
        collection,
        "Job-1",
        start_time="2027-06-01T12:30:45.1234567Z",
        action=action(),
        recurrence=recurrence,
    )
    expected = {
        "id": client.id_of(collection, "Job-1"),
        "type": "microsoft.scheduler/jobcollections/jobs",
        "name": "Collection/Job-1",
        "properties": {
            # Dates of the clients have microseconds.
            "start_time": "2027-06-01T12:30:45.123456Z",
            "action": READ["Http"],
            "recurrence": {"frequency": "day", "interval": 1, "count": 3},
            "state": "enabled",
            "status": {**COUNTERS, "next_execution_time": "2027-06-01T12:30:45.123456Z"},
        },
    }
    assert read(created) == expected
    assert read(client.get_job(collection, "Job-1")) == expected
    assert read(client.get_job("COLLECTION", "JOB-1")) == expected
    assert [read(job) for job in client.list_jobs(collection)] == [expected]


@pytest.mark.clock
def test_only_an_enabled_job_has_a_status(client, collection):
    client.put_job(collection, "job", start_time="2027-06-01T00:00:00Z", action=action())
    disabled = read(client.patch_job(collection, "job", state="Disabled"))["properties"]
    assert disabled == {
        "start_time": "2027-06-01T00:00:00.000Z",
        "action": READ["Http"],
        "state": "disabled",
    }
    enabled = read(client.patch_job(collection, "job", state="Enabled"))["properties"]
    assert enabled == {
        **disabled,
        "state": "enabled",
        "status": {**COUNTERS, "next_execution_time": "2027-06-01T00:00:00.000Z"},
    }


def test_a_patch_keeps_missing_properties_and_a_put_removes_them(client, collection):
    recurrence = models.JobRecurrence(
        frequency="Week", interval=2, count=10000, end_time="2040-10-10T10:10:10Z"
    )
    start = "2027-07-13T00:00:00Z"
    client.put_job(
        collection, "job", start_time=start, action=action(), recurrence=recurrence
    )
    patched = client.patch_job(
        collection, "job", recurrence=models.JobRecurrence(frequency="Day", interval=1)
    )
    properties = read(patched)["properties"]
    assert properties["start_time"] == "2027-07-13T00:00:00.000Z"
    assert properties["recurrence"] == {
        "frequency": "day",
        "interval": 1,
        "count": 10000,
        "end_time": "2040-10-10T10:10:10.000Z",
    }
    client.put_job(collection, "job", action=action(), state="Disabled")
    properties = read(client.get_job(collection, "job"))["properties"]
    assert properties == {"action": READ["Http"], "state": "disabled"}


def test_a_job_can_be_run_unless_its_collection_is_disabled(client, collection):
    client.put_job(collection, "job", action=action(), state="Disabled")
    assert client.run_job(collection, "job") is None
    client.disable_collection(collection)
    with pytest.raises(Refused) as refused:
        client.run_job(collection, "job")
    assert (refused.value.status, refused.value.code) == (409, "JobCollectionDisabled")


def test_a_deleted_job_is_not_found(client, collection):
    client.put_job(collection, "job", action=action())
    assert client.delete_job(collection, "job") is None
    assert client.list_jobs(collection) == []
    for what in [client.get_job, client.delete_job, client.run_job]:
        with pytest.raises(Refused) as refused:
            what(collection, "job")
        assert (refused.value.status, refused.value.code) == (404, "NotFound")
        assert refused.value.message == "Job 'job' cannot be found."


def test_an_unknown_token_is_refused(client, collection):
    stranger = Scheduler(client.subscription, token="another")
    with pytest.raises(Refused) as refused:
        stranger.get_collection(collection)
    assert refused.value.status == 401
    assert refused.value.code == "InvalidAuthenticationToken"
