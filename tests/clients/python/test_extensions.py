"""Extensions that the client does not know survive when it reads, changes and puts back.

The server's clock begins on Friday, 2027-01-01T00:00:00Z.
"""

import pytest
from azure.core.exceptions import SerializationError
from azure.mgmt.scheduler import models

from actions import http
from scheduler import Refused

pytestmark = pytest.mark.clock

BERLIN = "Europe/Berlin"
START = "2027-07-01T00:00:00Z"
NINE = {"hours": [9], "minutes": [0]}
# Nine o'clock in Berlin, in summer.
FIRST = "2027-07-01T07:00:00Z"


def stored(client, collection):
    """The recurrence and the next execution of the job, with what the client does not read."""
    job = client.send("GET", client.id_of(collection, "job"))["properties"]
    return job["recurrence"], job["status"]["nextExecutionTime"]


def test_a_job_that_is_read_changed_and_put_back_stays_in_its_time_zone(client, collection):
    recurrence = {"frequency": "week", "schedule": NINE, "timeZone": BERLIN}
    request = {"uri": "http://example.org", "method": "GET"}
    action = {"type": "Http", "request": request}
    properties = {"startTime": START, "action": action, "recurrence": recurrence}
    client.send("PUT", client.id_of(collection, "job"), {"properties": properties})
    before = stored(client, collection)
    assert before == ({**recurrence, "interval": 1}, FIRST)

    job = client.get_job(collection, "job")
    job.properties.action.request.body = "changed"
    client.put_job_back(collection, "job", job)

    assert client.get_job(collection, "job").properties.action.request.body == "changed"
    assert stored(client, collection) == before


def test_jobs_are_in_the_time_zone_of_their_collection(client, collection):
    extensions = {"timeZone": BERLIN}
    client.send("PATCH", client.id_of(collection), {"properties": {"minutehand": extensions}})

    found = client.get_collection(collection)
    found.tags = {"changed": "yes"}
    client.put_collection_back(collection, found)

    answer = client.send("GET", client.id_of(collection))
    assert answer["tags"] == {"changed": "yes"}
    assert answer["properties"]["minutehand"] == extensions
    schedule = models.JobRecurrenceSchedule(**NINE)
    recurrence = models.JobRecurrence(frequency="Day", schedule=schedule)
    action = models.JobAction(**http())
    client.put_job(collection, "job", start_time=START, action=action, recurrence=recurrence)
    recurrence, first = stored(client, collection)
    assert (recurrence["timeZone"], first) == (BERLIN, FIRST)

    # A change of the timing takes the zone again.
    job = client.get_job(collection, "job")
    job.properties.recurrence.schedule.hours = [10]
    client.put_job_back(collection, "job", job)
    recurrence, first = stored(client, collection)
    assert (recurrence["timeZone"], first) == (BERLIN, "2027-07-01T08:00:00Z")


def test_a_job_that_expects_pings_is_listed_with_the_type_that_it_has(client, collection):
    action = {"type": "Expect", "expect": {"grace": "PT20M"}}
    recurrence = {"frequency": "Day", "schedule": NINE}
    properties = {"action": action, "recurrence": recurrence}
    client.send("PUT", client.id_of(collection, "job"), {"properties": properties})
    client.put_job(collection, "other", action=models.JobAction(**http()))

    assert client.get_collection(collection).name == collection
    listed = {job.name.split("/")[1]: job.properties.action for job in client.list_jobs(collection)}
    got = client.get_job(collection, "job").properties.action
    assert str(got.type) == str(listed["job"].type) == "Expect"
    assert got.request is None and listed["other"].request is not None

    # The client does not know what belongs to the type, so it cannot put it back; it can change something else.
    # The one of 2.0.0 refuses that itself.
    with pytest.raises((Refused, SerializationError), match="'action.expect' is missing|'Expect' is not valid"):
        client.put_job_back(collection, "job", client.get_job(collection, "job"))
    client.patch_job(collection, "job", state="Disabled")
    after = client.send("GET", client.id_of(collection, "job"))["properties"]
    assert (after["state"], after["action"]["type"]) == ("disabled", "Expect")
    assert after["action"]["expect"]["grace"] == "00:20:00"
