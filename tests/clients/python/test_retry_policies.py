"""Retry policies. Answers have intervals in the format that each client, and each call, reads."""

from datetime import timedelta

import pytest
from azure.mgmt.scheduler import models

from actions import http
from scheduler import read


def action(retry, error_retry):
    error_action = models.JobErrorAction(**http(), retry_policy=error_retry)
    return models.JobAction(**http(), retry_policy=retry, error_action=error_action)


def policies(job):
    action = job.properties.action
    return action.retry_policy, action.error_action.retry_policy


def answers(client, collection, action):
    """A job in every kind of answer."""
    return {
        "create": client.put_job(collection, "job", action=action, state="Disabled"),
        "get": client.get_job(collection, "job"),
        "patch": client.patch_job(collection, "job", state="Disabled"),
        "list": client.list_jobs(collection)[0],
    }


@pytest.mark.parametrize(
    "interval",
    [timedelta(minutes=1), timedelta(seconds=15), timedelta(hours=23, minutes=59, seconds=59)],
    ids=str,
)
def test_an_interval_is_the_same_in_every_answer(client, collection, interval):
    retry = models.RetryPolicy(retry_type="Fixed", retry_interval=interval, retry_count=2)
    for where, job in answers(client, collection, action(retry, retry)).items():
        for found in policies(job):
            assert found.retry_interval == interval, where
            assert found.retry_count == 2, where
            assert found.retry_type.lower() == "fixed", where


def test_a_patch_changes_an_interval_and_keeps_the_rest(client, collection):
    retry = models.RetryPolicy(
        retry_type="Fixed", retry_interval=timedelta(hours=1), retry_count=2
    )
    answers(client, collection, action(retry, retry))
    minute = models.RetryPolicy(retry_interval=timedelta(minutes=1))
    patched = client.patch_job(
        collection, "job", action=models.JobAction(retry_policy=minute)
    )
    for job in [patched, client.get_job(collection, "job"), client.list_jobs(collection)[0]]:
        main, error = policies(job)
        assert (main.retry_interval, main.retry_count) == (timedelta(minutes=1), 2)
        assert (error.retry_interval, error.retry_count) == (timedelta(hours=1), 2)


def test_no_retries(client, collection):
    none = models.RetryPolicy(retry_type="None")
    for where, job in answers(client, collection, action(none, none)).items():
        found = read(job)["properties"]["action"]
        assert found["retry_policy"] == {"retry_type": "none"}, where
        assert found["error_action"]["retry_policy"] == {"retry_type": "none"}, where


def test_answers_add_no_retry_policy(client, collection):
    for where, job in answers(client, collection, models.JobAction(**http())).items():
        assert job.properties.action.retry_policy is None, where
