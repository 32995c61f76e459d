"""Round trips of every frequency and every kind of schedule, and their next executions.

The server's clock begins on Friday, 2027-01-01T00:00:00Z.
"""

import pytest
from azure.mgmt.scheduler import models

from actions import http
from scheduler import Refused, read

pytestmark = pytest.mark.clock

# The first of July 2027 is a Thursday.
START = "2027-07-01T08:15:30Z"
OCCURRENCE = models.JobRecurrenceScheduleMonthlyOccurrence


def recur(client, collection, recurrence, start=START):
    """The recurrence and the next execution, which are the same in every answer."""
    action = models.JobAction(**http())
    answers = [
        client.put_job(collection, "job", start_time=start, action=action, recurrence=recurrence),
        client.get_job(collection, "job"),
        client.patch_job(collection, "job", action=action),
        *client.list_jobs(collection),
    ]
    found = [read(answer)["properties"] for answer in answers]
    assert all(other == found[0] for other in found)
    return found[0]["recurrence"], found[0]["status"].get("next_execution_time")


@pytest.mark.parametrize("frequency", ["Minute", "Hour", "Day", "Week", "Month"])
def test_every_frequency(client, collection, frequency):
    sent = models.JobRecurrence(frequency=frequency, interval=3)
    found = recur(client, collection, sent)
    expected = {"frequency": frequency.lower(), "interval": 3}
    assert found == (expected, "2027-07-01T08:15:30.000Z")


SCHEDULES = {
    "minutes of an hour": (
        "Hour",
        {"minutes": [10, 50]},
        {"minutes": [10, 50]},
        "2027-07-01T08:50:00.000Z",
    ),
    "hours and minutes of a day": (
        "Day",
        {"hours": [5, 20], "minutes": [0, 30]},
        {"hours": [5, 20], "minutes": [0, 30]},
        "2027-07-01T20:00:00.000Z",
    ),
    "days of a week": (
        "Week",
        {"week_days": ["Saturday", "Monday"], "hours": [17], "minutes": [0]},
        {"week_days": ["saturday", "monday"], "hours": [17], "minutes": [0]},
        "2027-07-03T17:00:00.000Z",
    ),
    "days of a month": (
        "Month",
        {"month_days": [-1, 15], "hours": [6], "minutes": [45]},
        {"month_days": [-1, 15], "hours": [6], "minutes": [45]},
        "2027-07-15T06:45:00.000Z",
    ),
    "occurrences of weekdays in a month": (
        "Month",
        {
            "monthly_occurrences": [
                OCCURRENCE(day="Friday", occurrence=-1),
                OCCURRENCE(day="Monday", occurrence=2),
            ],
            "hours": [6],
            "minutes": [45],
        },
        {
            "monthly_occurrences": [
                {"day": "friday", "occurrence": -1},
                {"day": "monday", "occurrence": 2},
            ],
            "hours": [6],
            "minutes": [45],
        },
        "2027-07-12T06:45:00.000Z",
    ),
}


@pytest.mark.parametrize("kind", SCHEDULES)
def test_every_schedule(client, collection, kind):
    frequency, sent, expected, next_execution = SCHEDULES[kind]
    schedule = models.JobRecurrenceSchedule(**sent)
    sent = models.JobRecurrence(frequency=frequency, interval=1, schedule=schedule)
    found, next_found = recur(client, collection, sent)
    assert found == {"frequency": frequency.lower(), "interval": 1, "schedule": expected}
    assert next_found == next_execution


def test_count_and_end_survive_a_round_trip_and_the_interval_has_a_default(client, collection):
    sent = models.JobRecurrence(frequency="Hour", count=7, end_time="2030-01-01T00:00:00Z")
    found, _ = recur(client, collection, sent)
    assert found == {
        "frequency": "hour",
        "interval": 1,
        "count": 7,
        "end_time": "2030-01-01T00:00:00.000Z",
    }


def test_a_start_in_the_past_determines_the_phase(client, collection):
    sent = models.JobRecurrence(frequency="Week", interval=1)
    _, next_found = recur(client, collection, sent, start="2026-07-13T00:00:00Z")
    assert next_found == "2027-01-04T00:00:00.000Z"


def test_days_of_a_month_with_frequency_week_are_refused_in_the_words_of_azure(client, collection):
    schedule = models.JobRecurrenceSchedule(month_days=[1])
    recurrence = models.JobRecurrence(frequency="Week", schedule=schedule)
    with pytest.raises(Refused) as refused:
        recur(client, collection, recurrence)
    assert (refused.value.status, refused.value.code) == (400, "BadRequest")
    assert refused.value.message == "Cannot set days of month with recurrence unit 'Week'."
