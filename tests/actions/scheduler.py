"""Jobs over the API, as the tests create them, and what their history says."""

import json
import time
import urllib.error
import urllib.request
from itertools import count

PATIENCE_SECONDS = 30
GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/jc"
_NUMBERS = count(1)


class Scheduler:
    """A running `minutehand serve`, with a collection."""

    def __init__(self, url, token, log):
        self.url, self.token, self.log = url, token, log
        self.must("PUT", "", {"properties": {"sku": {"name": "P20Premium"}}})

    def ask(self, method, path, body=None):
        """What is answered: the status, and the text."""
        request = urllib.request.Request(
            f"{self.url}{GROUP}{path}?api-version=2016-03-01",
            method=method,
            headers={"Authorization": f"Bearer {self.token}"},
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def must(self, method, path, body=None):
        status, text = self.ask(method, path, body)
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text) if text else None

    def put(self, action, **properties):
        """Creates a job of this action, which fails at once if it fails; answers its path."""
        path = f"/jobs/j{next(_NUMBERS)}"
        action = {"retryPolicy": {"retryType": "None"}, **action}
        self.must("PUT", path, {"properties": {"action": action, **properties}})
        return path

    def history(self, job, items=1):
        """The newest items of a job's history, once there are so many; the newest first."""
        return until(
            lambda: self._items(job), lambda found: len(found) >= items, f"the history of {job}"
        )

    def _items(self, job):
        return [item["properties"] for item in self.must("GET", f"{job}/history")["value"]]

    def run(self, action):
        """Runs an action once: whether it succeeded, and the message of its history."""
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


def until(ask, is_so, what):
    """Asks until an answer is as it has to become, for as long as patience lasts."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = ask()
        if is_so(answer):
            return answer
        assert time.monotonic() < deadline, f"{what} stays {answer!r}"
        time.sleep(0.02)
