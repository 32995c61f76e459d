"""One interface for both generations of the official client, so that both run the same tests.

All differences between the generations are in this file: the parameter for a job, the names of long
operations, the exceptions, and the paging.
"""

import enum
import os
from importlib.metadata import version

import requests
from azure.mgmt.scheduler import models

VERSION = version("azure-mgmt-scheduler")
IS_2 = VERSION.startswith("2.")
URL = os.environ["MINUTEHAND_URL"]
TOKEN = os.environ["MINUTEHAND_TOKEN"]
CERTIFICATE = os.environ.get("MINUTEHAND_CERT")
GROUP = "Group 1"

# Properties that are enums in 2.0.0, which changes their case, and texts in 7.0.0. The tests here
# compare them in lower case; the tests of the API check the case in answers.
ENUMS = {"day", "frequency", "retry_type", "state", "transport_type", "type", "week_days"}


class Refused(Exception):
    """An answer that is not a success."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message


class Scheduler:
    """A client of one subscription."""

    def __init__(self, subscription, token=TOKEN):
        self.subscription = subscription
        if IS_2:
            from connect_2_0_0 import connect

            self.client = connect(URL, token, subscription)
        else:
            from connect_7_0_0 import connect

            self.client = connect(URL, token, subscription, CERTIFICATE)

    def id_of(self, *names):
        path = f"/subscriptions/{self.subscription}/resourceGroups/{GROUP}"
        kinds = ["/providers/Microsoft.Scheduler/jobCollections/", "/jobs/"]
        return path + "".join(kind + name for kind, name in zip(kinds, names))

    def send(self, method, path, body=None):
        """Sends a request past the client, for what its models lack. Returns the answer's JSON."""
        answer = requests.request(
            method,
            URL + path,
            params={"api-version": "2016-03-01"},
            headers={"Authorization": f"Bearer {TOKEN}"},
            json=body,
            verify=CERTIFICATE or True,
            timeout=30,
        )
        answer.raise_for_status()
        return answer.json()

    # Collections.

    def put_collection(self, name, /, **fields):
        definition = models.JobCollectionDefinition(**fields)
        return self._call(self.client.job_collections.create_or_update, GROUP, name, definition)

    def put_collection_back(self, name, definition):
        """Puts a collection that was read."""
        return self._call(self.client.job_collections.create_or_update, GROUP, name, definition)

    def patch_collection(self, name, /, **fields):
        definition = models.JobCollectionDefinition(**fields)
        return self._call(self.client.job_collections.patch, GROUP, name, definition)

    def get_collection(self, name):
        return self._call(self.client.job_collections.get, GROUP, name)

    def delete_collection(self, name):
        return self._finish("delete", name)

    def enable_collection(self, name):
        return self._finish("enable", name)

    def disable_collection(self, name):
        return self._finish("disable", name)

    def list_collections_of_group(self, group=GROUP):
        return self._call(list, self.client.job_collections.list_by_resource_group(group))

    def list_collections_of_subscription(self):
        return self._call(list, self.client.job_collections.list_by_subscription())

    # Jobs.

    def put_job(self, collection, name, **fields):
        jobs = self.client.jobs
        job = job_parameter(models.JobProperties(**fields))
        return self._call(jobs.create_or_update, GROUP, collection, name, job)

    def put_job_back(self, collection, name, job):
        """Puts a job that was read."""
        job = job.properties if IS_2 else job
        return self._call(self.client.jobs.create_or_update, GROUP, collection, name, job)

    def patch_job(self, collection, name, **fields):
        job = job_parameter(models.JobProperties(**fields))
        return self._call(self.client.jobs.patch, GROUP, collection, name, job)

    def get_job(self, collection, name):
        return self._call(self.client.jobs.get, GROUP, collection, name)

    def delete_job(self, collection, name):
        return self._call(self.client.jobs.delete, GROUP, collection, name)

    def run_job(self, collection, name):
        return self._call(self.client.jobs.run, GROUP, collection, name)

    def list_jobs(self, collection, **window):
        return self._call(list, self.client.jobs.list(GROUP, collection, **window))

    def list_history(self, collection, name, **window):
        history = self.client.jobs.list_job_history(GROUP, collection, name, **window)
        return self._call(list, history)

    def job_pages(self, collection, **window):
        """The jobs of a collection, with one list for each page."""
        jobs = self.client.jobs.list(GROUP, collection, **window)
        if not IS_2:
            return [list(page) for page in jobs.by_page()]
        pages = []
        while not pages or jobs.next_link:
            pages.append(list(jobs.advance_page()))
        return pages

    def _finish(self, what, name):
        """Runs an operation that is a long operation in the specification."""
        method = what if IS_2 else f"begin_{what}"
        poller = self._call(getattr(self.client.job_collections, method), GROUP, name)
        return self._call(poller.result)

    @staticmethod
    def _call(method, *arguments):
        if IS_2:
            from msrestazure.azure_exceptions import CloudError

            try:
                return method(*arguments)
            except CloudError as error:
                raise Refused(
                    error.status_code, error.error.error, error.error.message
                ) from error
        from azure.core.exceptions import HttpResponseError

        try:
            return method(*arguments)
        except HttpResponseError as error:
            raise Refused(error.status_code, error.error.code, error.error.message) from error


def job_parameter(properties):
    return properties if IS_2 else models.JobDefinition(properties=properties)


def read(model):
    """The properties that a client read from an answer, with the client's names."""
    return _plain(None, model.as_dict())


def _plain(key, value):
    if isinstance(value, dict):
        return {name: _plain(name, value) for name, value in value.items()}
    if isinstance(value, list):
        return [_plain(key, item) for item in value]
    if isinstance(value, enum.Enum):
        value = value.value
    return value.lower() if key in ENUMS and isinstance(value, str) else value
