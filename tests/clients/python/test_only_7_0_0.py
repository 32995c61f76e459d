"""Behaviour that only azure-mgmt-scheduler 7.0.0 has: it uses only https, and ISO 8601."""

from datetime import timedelta

import pytest
from azure.core.exceptions import ServiceRequestError
from azure.mgmt.scheduler import models

from actions import http
from connect_7_0_0 import connect
from scheduler import GROUP, TOKEN, URL


def test_an_untrusted_certificate_is_refused(client):
    stranger = connect(URL, TOKEN, client.subscription, certificate=True)
    operation = stranger.job_collections.get
    with pytest.raises(ServiceRequestError, match="CERTIFICATE_VERIFY_FAILED"):
        operation(GROUP, "collection", retry_total=0)


def test_the_client_does_not_send_its_token_over_http(client):
    plain = connect(URL.replace("https:", "http:"), TOKEN, client.subscription, certificate=True)
    with pytest.raises(ServiceRequestError, match="non-TLS"):
        plain.job_collections.get(GROUP, "collection", retry_total=0)


def test_intervals_of_days_are_the_same_in_every_answer(client, collection):
    sent = timedelta(days=30, minutes=1)
    retry = models.RetryPolicy(retry_type="Fixed", retry_interval=sent, retry_count=2)
    action = models.JobAction(**http(), retry_policy=retry)
    created = client.put_job(collection, "job", action=action)
    fetched = client.get_job(collection, "job")
    patched = client.patch_job(collection, "job", state="Disabled")
    (listed,) = client.list_jobs(collection)
    for job in [created, fetched, patched, listed]:
        assert job.properties.action.retry_policy.retry_interval == sent
