"""Creates jobs over the API, and reads their history."""

import json
import time
import urllib.error
import urllib.request
from itertools import count

WAIT_SECONDS = 30
GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc"
_NUMBERS = count(1)


class Scheduler:
    """A running `minutehand serve` with one job collection."""

    def __init__(self, url, token, log):
        self.url, self.token, self.log = url, token, log
        self.must("PUT", "", {"properties": {"sku": {"name": "P20Premium"}}})

    def ask(self, method, path, body=None):
        """Sends a request, and returns the status and the body."""
        request = urllib.request.Request(
            f"{self.url}{GROUP}{path}?api-version=2016-03-01",
            method=method,
            headers={"Authorization": f"Bearer {self.token}"},
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def must(self, method, path, body=None):
        """Sends a request that has to succeed, and returns the body as JSON."""
        status, text = self.ask(method, path, body)
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text) if text else None

    def put(self, action, **properties):
        """Creates a job without retries, and returns its path."""
        path = f"/jobs/j{next(_NUMBERS)}"
        action = {"retryPolicy": {"retryType": "None"}, **action}
        self.must("PUT", path, {"properties": {"action": action, **properties}})
        return path

    def history(self, job, items=1):
        """Waits until a job's history has a number of items, and returns it, the newest first."""
        return until(
            lambda: self._items(job), lambda found: len(found) >= items, f"the history of {job}"
        )

    def _items(self, job):
        return [item["properties"] for item in self.must("GET", f"{job}/history")["value"]]

    def run(self, action):
        """Runs an action once. Returns whether it succeeded, and the message in the history."""
        return outcome(self.history(self.put(action))[0])

    def succeeds(self, action):
        succeeded, message = self.run(action)
        assert succeeded, message
        return message

    def fails(self, action):
        succeeded, message = self.run(action)
        assert not succeeded, message
        return message


def outcome(item):
    return item.get("status") != "failed", item["message"]


def until(ask, is_done, what):
    """Calls `ask` until its result satisfies `is_done`, within a time limit."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        answer = ask()
        if is_done(answer):
            return answer
        assert time.monotonic() < deadline, f"{what} stays {answer!r}"
        time.sleep(0.02)
