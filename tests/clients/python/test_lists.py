"""Windows, filters and pages of lists."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.mgmt.scheduler import models

from actions import http
from scheduler import Refused

# The number of concurrent requests that fill a collection.
HANDS = 4


def fill(client, collection, n_jobs, state_of=lambda n: "Disabled", **action):
    names = [f"job-{n:03}" for n in range(n_jobs)]

    def put(n):
        job_action = models.JobAction(**http(**action))
        client.put_job(collection, names[n], action=job_action, state=state_of(n))

    with ThreadPoolExecutor(HANDS) as hands:
        list(hands.map(put, range(n_jobs)))
    return names


def names_of(collection, jobs):
    """The names of jobs, without that of their collection."""
    parts = [job.name.split("/") for job in jobs]
    assert all(part[0] == collection for part in parts)
    return [part[1] for part in parts]


def test_windows_and_filters(client, collection):
    names = fill(client, collection, 7, lambda n: "Disabled" if n % 2 else "Enabled")
    enabled, disabled = names[0::2], names[1::2]
    for window, expected in [
        ({}, names),
        ({"top": 3}, names[:3]),
        ({"skip": 5}, names[5:]),
        ({"top": 2, "skip": 3}, names[3:5]),
        ({"top": 100}, names),
        ({"skip": 7}, []),
        ({"filter": "state eq Disabled"}, disabled),
        ({"filter": "state eq 'enabled'"}, enabled),
        ({"filter": "state eq Faulted"}, []),
        ({"filter": "state eq Disabled", "top": 1, "skip": 1}, disabled[1:2]),
    ]:
        found = names_of(collection, client.list_jobs(collection, **window))
        assert found == expected, window


@pytest.mark.parametrize("filter", ["state ne Enabled", "name eq job", "state eq Odd"])
def test_an_invalid_filter_is_refused(client, collection, filter):
    with pytest.raises(Refused) as refused:
        client.list_jobs(collection, filter=filter)
    assert refused.value.status == 400
    assert "'$filter'" in refused.value.message


def test_links_lead_through_all_pages(client, big_collection):
    names = fill(client, big_collection, 503, lambda n: "Disabled" if n % 10 else "Enabled")
    pages = client.job_pages(big_collection)
    assert len(pages) > 1
    assert max(map(len, pages)) <= 500
    assert names_of(big_collection, sum(pages, [])) == names
    # The link to the next page repeats the filter.
    enabled = client.job_pages(big_collection, filter="state eq Enabled")
    assert names_of(big_collection, sum(enabled, [])) == names[0::10]


def test_the_size_of_jobs_limits_a_page(client, big_collection):
    body, headers = "b" * 8_000, {"X-Long": "h" * 4_000}
    names = fill(client, big_collection, 340, body=body, headers=headers)
    pages = client.job_pages(big_collection)
    # The jobs have about 4.2 MB, and a page has at most 4 MB.
    assert len(pages) > 1
    assert max(map(len, pages)) * 12_400 <= 4_000_000
    found = sum(pages, [])
    assert names_of(big_collection, found) == names
    assert all(job.properties.action.request.body == body for job in found)
