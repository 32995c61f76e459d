"""History of a job that has never fired: lists that are empty, whatever is asked of them."""

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
def test_a_job_that_never_fired_has_none(client, collection, window):
    action = models.JobAction(**http())
    client.put_job(collection, "job", action=action, state="Disabled")
    assert client.list_history(collection, "job", **window) == []


def test_another_filter_is_refused(client, collection):
    action = models.JobAction(**http())
    client.put_job(collection, "job", action=action, state="Disabled")
    with pytest.raises(Refused) as refused:
        client.list_history(collection, "job", filter="state eq Enabled")
    assert refused.value.status == 400


def test_a_job_that_is_not_there_has_none_to_ask_for(client, collection):
    with pytest.raises(Refused) as refused:
        client.list_history(collection, "job")
    assert (refused.value.status, refused.value.code) == (404, "NotFound")
