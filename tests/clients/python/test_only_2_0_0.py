"""Behaviour that only azure-mgmt-scheduler 2.0.0 has."""

from datetime import timedelta

from azure.mgmt.scheduler import models

from actions import http


def test_the_client_treats_a_day_as_thirty_except_in_lists(client, collection):
    """The client's `patch.py` sends one day as 30 days, and reads 30 days as one, but not in lists.

    The example in that file's own comment is "2 days => 60.00:00:00".
    """
    sent = timedelta(days=1, minutes=1)
    retry = models.RetryPolicy(retry_type="Fixed", retry_interval=sent, retry_count=2)
    action = models.JobAction(**http(), retry_policy=retry)
    created = client.put_job(collection, "job", action=action)
    fetched = client.get_job(collection, "job")
    (listed,) = client.list_jobs(collection)

    def interval(job):
        return job.properties.action.retry_policy.retry_interval

    assert interval(created) == interval(fetched) == sent
    assert interval(listed) == timedelta(days=30, minutes=1)


def test_the_user_agent_is_the_one_that_the_api_recognises(client):
    assert "azure-mgmt-scheduler/2.0.0" in client.client.config.user_agent
