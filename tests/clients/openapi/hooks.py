"""Hooks of schemathesis: they use names of existing resources, and count the answers.

Random names match no resource. Therefore half of the requests name existing collections and jobs,
and half of the patches have properties of a resource.
"""

import atexit
import json
import os
from collections import Counter
from collections.abc import Mapping

import schemathesis
from hypothesis import strategies as st

import stored

COUNTS = os.environ["MINUTEHAND_COUNTS"]
answers = Counter()

CONDITIONS = ["if-match", "if-none-match"]
OCCURRENCE = "2027-06-01T00:00:00Z"
# Of an attempt that no job has made.
ATTEMPT = "02519429304061978048:00000000000000000001"
STORED = st.fixed_dictionaries(
    {
        "subscriptionId": st.just(stored.SUBSCRIPTION),
        "resourceGroupName": st.just(stored.GROUP),
        "jobCollectionName": st.sampled_from(stored.COLLECTIONS),
        "jobName": st.sampled_from(stored.JOBS),
        "occurrence": st.just(OCCURRENCE),
        "historyName": st.just(ATTEMPT),
    }
)


@schemathesis.hook
def flatmap_path_parameters(context, path_parameters):
    """Half of the names are those of existing resources."""
    if not isinstance(path_parameters, dict):
        return st.just(path_parameters)
    existing = STORED.map(
        lambda found: {name: found.get(name, value) for name, value in path_parameters.items()}
    )
    return st.one_of(st.just(path_parameters), existing)


STATES = st.sampled_from(["enabled", "DISABLED", "completed", "odd"])
INSTANTS = st.sampled_from(["2027-06-01T00:00:00Z", "2020-02-30", "2030-01-01T00:00:00+05:30"])
INTERVALS = st.sampled_from(["PT1M", "00:00:15", "P1Y", "1.00:00:00", "PT1S", "one minute"])
RETRIES = st.fixed_dictionaries(
    {},
    optional={
        "retryType": st.sampled_from(["fixed", "None"]),
        "retryInterval": INTERVALS,
        "retryCount": st.integers(-1, 21),
    },
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "uri": st.sampled_from([stored.URI, "http://[::1]:9/ä?b#c", "ftp://example.org", ""]),
        "method": st.sampled_from(["post", "HEAD", "TRACE"]),
        "body": st.none() | st.text(max_size=50),
        "headers": st.none() | st.dictionaries(st.text(max_size=9), st.text(max_size=9)),
        "authentication": st.none()
        | st.fixed_dictionaries({"type": st.just("Basic")}, optional={"password": st.text()}),
    },
)
SCHEDULES = st.fixed_dictionaries(
    {},
    optional={
        "minutes": st.lists(st.integers(-1, 60), max_size=3),
        "hours": st.lists(st.integers(-1, 24), max_size=3),
        "weekDays": st.lists(st.sampled_from(["monday", "Sunday", "someday"]), max_size=2),
        "monthDays": st.lists(st.integers(-32, 32), max_size=2),
    },
)
RECURRENCES = st.fixed_dictionaries(
    {},
    optional={
        "frequency": st.sampled_from(["minute", "Hour", "daily", "week", "month", "year", "era"]),
        "interval": st.integers(0, 1001),
        "count": st.none() | st.integers(0, 2**31),
        "endTime": st.none() | INSTANTS,
        "schedule": st.none() | SCHEDULES,
        "timeZone": st.sampled_from(["Europe/Paris", "Tokyo Standard Time", "Nowhere"]),
    },
)
ACTIONS = st.fixed_dictionaries(
    {}, optional={"request": REQUESTS, "retryPolicy": st.none() | RETRIES, "errorAction": st.none()}
)
JOB_PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "state": STATES,
        "startTime": st.none() | INSTANTS,
        "recurrence": st.none() | RECURRENCES,
        "action": ACTIONS,
    },
).map(lambda properties: {"properties": properties})
COLLECTION_PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.none() | st.dictionaries(st.text(max_size=9), st.none() | st.text(max_size=9)),
        "location": st.sampled_from([stored.LOCATION, "Mars"]),
        "properties": st.fixed_dictionaries(
            {},
            optional={
                "state": STATES,
                "sku": st.fixed_dictionaries({"name": st.sampled_from(["Free", "p20premium"])}),
                "quota": st.none()
                | st.fixed_dictionaries({}, optional={"maxJobCount": st.integers(-1, 1001)}),
            },
        ),
    },
)


NAMES = {
    "subscriptionId": stored.SUBSCRIPTION,
    "resourceGroupName": stored.GROUP,
    "jobCollectionName": stored.COLLECTIONS[0],
    "jobName": stored.JOBS[0],
}
EVERY_LETTER = {"body": {"all": True}, "media_type": "application/json"}
# Random requests of these operations are seldom good ones.
GOOD_REQUESTS = {
    "/jobs/{jobName}/why": {"path_parameters": NAMES, "query": {"at": OCCURRENCE}},
    # A job that has not ended, before others disable its collection.
    "/jobs/{jobName}/run": {
        "path_parameters": {**NAMES, "jobName": "occurrences"},
        "query": {"api-version": "2016-03-01"},
    },
    "/alert/test": {"path_parameters": {**NAMES, "jobCollectionName": stored.WITH_ALERTS}},
    "/deadletters/delete": EVERY_LETTER,
    "/deadletters/redrive": EVERY_LETTER,
}


@schemathesis.hook
def before_add_examples(context, examples):
    """One request of each operation in GOOD_REQUESTS is good, whatever the seed is."""
    for end, request in GOOD_REQUESTS.items():
        if context.operation.path.endswith(end):
            examples.append(context.operation.Case(**request))


@schemathesis.hook
def flatmap_query(context, query):
    """Most occurrences that are asked about are instants, because a random text is none."""
    if not isinstance(query, Mapping) or not isinstance(query.get("at"), str):
        return st.just(query)
    instants = INSTANTS.map(lambda instant: {**query, "at": instant})
    return st.one_of(st.just(query), instants, instants)


@schemathesis.hook
def flatmap_headers(context, headers):
    """Most requests have no condition, because a random ETag is that of no resource."""
    if not isinstance(headers, Mapping):
        return st.just(headers)
    free = {name: headers[name] for name in headers if name.lower() not in CONDITIONS}
    return st.sampled_from([free, free, free, headers])


@schemathesis.hook
def flatmap_body(context, body):
    """Half of the patches have properties of the resource."""
    if context.operation.method != "patch":
        return st.just(body)
    patches = JOB_PATCHES if "{jobName}" in context.operation.path else COLLECTION_PATCHES
    return st.one_of(st.just(body), patches)


@schemathesis.hook
def after_call(context, case, response):
    answers[f"{case.operation.method.upper()} {case.operation.path}", response.status_code] += 1
    if response.status_code < 300 and case.operation.method == "delete":
        stored.store()
    # Written regularly, since no hook runs at the end.
    if sum(answers.values()) % 50 == 0:
        write()


def write():
    counts = [[operation, status, count] for (operation, status), count in answers.items()]
    with open(COUNTS, "w") as file:
        json.dump(counts, file)


atexit.register(write)
