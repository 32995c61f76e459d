"""A client for the parts of the API that the checks use."""

import json
import urllib.error
import urllib.request

CALL_SECONDS = 30
VERSION = "api-version=2016-03-01"


class Api:
    """Sends requests with a token, with a signature, or with neither; `context` says which servers to trust."""

    def __init__(self, url, token=None, sign=None, context=None):
        self.url, self.token, self.sign, self.context = url, token, sign, context

    def call(self, method, path, body=None):
        """Returns the status and the document of the response."""
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        if self.sign is not None:
            for name, value in self.sign(method, request.full_url).items():
                request.add_header(name, value)
        data = None if body is None else json.dumps(body).encode()
        try:
            opened = urllib.request.urlopen(request, data, CALL_SECONDS, context=self.context)
            with opened as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")

    def ping(self, method, path):
        """Sends a ping, which needs no token, and returns the status."""
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        try:
            with urllib.request.urlopen(request, None, CALL_SECONDS, context=self.context) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def page(self, path):
        """Returns the type and the text of a page for a browser."""
        with urllib.request.urlopen(f"{self.url}{path}", None, CALL_SECONDS, context=self.context) as answer:
            return answer.headers["content-type"], answer.read().decode()

    def collection(self, name):
        return Collection(self, name)


def below_ping(url):
    """The path of a URL that takes pings or reports: its host is that of AWS, which the emulator's is not."""
    return url[url.index("/ping/") :]


class Collection:
    """A collection and its jobs."""

    def __init__(self, api, name):
        group = "/subscriptions/e2e/resourceGroups/e2e/providers/Microsoft.Scheduler"
        self.api, self.name, self.path = api, name, f"{group}/jobCollections/{name}"

    def create(self):
        return self._ok("PUT", "", {"properties": {"sku": {"name": "Standard"}}})

    def put(self, job, **properties):
        return self._ok("PUT", f"/jobs/{job}", {"properties": properties})

    def refused(self, job, **properties):
        """Puts a job that has to be refused, and returns the message."""
        path = f"{self.path}/jobs/{job}?{VERSION}"
        status, document = self.api.call("PUT", path, {"properties": properties})
        if status != 400:
            raise AssertionError(f"PUT {job} was answered {status}: {document}")
        return document["error"]["message"]

    def get(self, job):
        return self._ok("GET", f"/jobs/{job}")["properties"]

    def run(self, job):
        return self._ok("POST", f"/jobs/{job}/run")

    def ping_url(self, job):
        """The path at which a job takes pings."""
        path = f"/minutehand/v1/subscriptions/e2e/resourceGroups/e2e/jobCollections/{self.name}/jobs/{job}/pingUrl"
        status, document = self.api.call("POST", path)
        if status != 200:
            raise AssertionError(f"POST {path} was answered {status}: {document}")
        return below_ping(document["url"])

    def history(self, job):
        """The properties of a job's history items, newest first."""
        items = self._ok("GET", f"/jobs/{job}/history")["value"]
        return [item["properties"] for item in items]

    def _ok(self, method, path, body=None):
        status, document = self.api.call(method, f"{self.path}{path}?{VERSION}", body)
        if status >= 300:
            raise AssertionError(f"{method} {path} was answered {status}: {document}")
        return document
