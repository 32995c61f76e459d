"""Round trips of every type of action, each with an error action of every type."""

import pytest
from azure.mgmt.scheduler import models

from actions import READ, SENT
from scheduler import read


@pytest.mark.parametrize("error_type", SENT)
@pytest.mark.parametrize("action_type", SENT)
def test_an_action_and_its_error_action_survive_a_round_trip(client, collection, action_type, error_type):
    error_action = models.JobErrorAction(**SENT[error_type]())
    action = models.JobAction(**SENT[action_type](), error_action=error_action)
    expected = {**READ[action_type], "error_action": READ[error_type]}

    created = client.put_job(collection, "job", action=action)
    fetched = client.get_job(collection, "job")
    patched = client.patch_job(collection, "job", state="Disabled")
    # 2.0.0 reads ISO 8601 in lists, so the list is a test of timeToLive as well.
    (listed,) = client.list_jobs(collection)

    for job in [created, fetched, patched, listed]:
        assert read(job)["properties"]["action"] == expected


def test_a_put_with_another_action_removes_the_first_one(client, collection):
    first = models.JobAction(**SENT["ServiceBusQueue"]())
    client.put_job(collection, "job", action=first, state="Disabled")
    second = models.JobAction(**SENT["Http"]())
    client.put_job(collection, "job", action=second, state="Disabled")
    properties = read(client.get_job(collection, "job"))["properties"]
    assert properties == {"action": READ["Http"], "state": "disabled"}
