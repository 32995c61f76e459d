"""What is particular to azure-mgmt-scheduler 2.0.0."""

from datetime import timedelta

from azure.mgmt.scheduler import models

from actions import http


def test_a_day_is_thirty_to_this_client_except_in_lists(client, collection):
    """Its `patch.py` sends a day as 30, and reads 30 as one; lists it reads as they are.

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


def test_it_calls_itself_what_we_know_it_by(client):
    assert "azure-mgmt-scheduler/2.0.0" in client.client.config.user_agent
