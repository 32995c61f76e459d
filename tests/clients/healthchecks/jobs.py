"""Jobs that expect pings, on the server of the suite."""

import json
import os
import urllib.request
from datetime import datetime, timedelta, timezone

URL = os.environ["MINUTEHAND_URL"]
GROUP = "subscriptions/s/resourceGroups/g"
CLASSIC = f"/{GROUP}/providers/Microsoft.Scheduler/jobCollections/jc"
OWN = f"/minutehand/v1/{GROUP}/jobCollections/jc"


def call(method, path, body=None):
    request = urllib.request.Request(f"{URL}{path}", method=method)
    request.add_header("Authorization", f"Bearer {os.environ['MINUTEHAND_TOKEN']}")
    request.add_header("Content-Type", "application/json")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


class Job:
    """A job with ten occurrences that are owed at the same time, and more to come."""

    def __init__(self, name):
        self.path = f"{OWN}/jobs/{name}"
        version = "?api-version=2016-03-01"
        start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=2)
        call("PUT", f"{CLASSIC}{version}", {})
        properties = {
            "startTime": start.isoformat(),
            "recurrence": {"frequency": "minute", "interval": 5},
            "action": {"type": "Expect", "expect": {"grace": "PT50M"}},
        }
        call("PUT", f"{CLASSIC}/jobs/{name}{version}", {"properties": properties})
        self.url = call("POST", f"{self.path}/pingUrl")["url"]
        self.root, _, self.uuid = self.url.rpartition("/")

    def pings(self):
        """The last pings, the oldest first: their kinds and texts."""
        return [(it["kind"], it["text"]) for it in reversed(self.details())]

    def details(self):
        return call("POST", f"{self.path}/pingUrl")["pings"]
