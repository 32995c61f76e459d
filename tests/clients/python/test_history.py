"""The history of a job that has never run: every list is empty."""

import pytest
from azure.mgmt.scheduler import models

from actions import http
from scheduler import Refused


@pytest.mark.parametrize(
    "window",
    [
        {},
        {"top": 5},
        {"top": 5, "skip": 5},
        {"filter": "status eq Completed"},
        {"filter": "status eq 'failed'"},
    ],
    ids=str,
)
def test_a_job_that_never_ran_has_no_history(client, collection, window):
    action = models.JobAction(**http())
    client.put_job(collection, "job", action=action, state="Disabled")
    assert client.list_history(collection, "job", **window) == []


def test_an_invalid_filter_is_refused(client, collection):
    action = models.JobAction(**http())
    client.put_job(collection, "job", action=action, state="Disabled")
    with pytest.raises(Refused) as refused:
        client.list_history(collection, "job", filter="state eq Enabled")
    assert refused.value.status == 400


def test_the_history_of_a_missing_job_is_not_found(client, collection):
    with pytest.raises(Refused) as refused:
        client.list_history(collection, "job")
    assert (refused.value.status, refused.value.code) == (404, "NotFound")
