"""What azure-servicemanagement-legacy 0.20.8 does with the classic API, by token and by certificate."""

import os
import time
import uuid

import pytest
import requests
from azure.common import AzureHttpError, AzureMissingResourceHttpError
from azure.servicemanagement import SchedulerManagementService

import connect

HOST = os.environ["MINUTEHAND_URL"].removeprefix("https://")
TOKEN = os.environ["MINUTEHAND_TOKEN"]
CERTIFICATE = os.environ["MINUTEHAND_CERT"]
# The certificate of the client, with its key.
OWN = os.environ["MINUTEHAND_CLIENT_PEM"]
STRANGER = os.environ["MINUTEHAND_STRANGER_PEM"]
RUN_SECONDS = 30

HTTP = {"request": {"uri": "http://127.0.0.1:9/", "method": "GET"}, "type": "http"}
QUEUE = {
    "queueMessage": {
        "storageAccount": "account",
        "queueName": "queue",
        "sasToken": "?sig=secret",
        "message": "hello",
    },
    "type": "storageQueue",
}
RECURRENCE = {"frequency": "hour", "interval": 2, "count": 3}


@pytest.fixture(autouse=True)
def no_other_authorities(monkeypatch):
    """These would take precedence over the certificate of a session."""
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(params=["token", "certificate", "certificate in a file"])
def client(request, monkeypatch):
    """A client of a subscription of its own."""
    subscription = str(uuid.uuid4())
    if request.param == "token":
        return connect.with_token(HOST, TOKEN, subscription, CERTIFICATE)
    if request.param == "certificate":
        return connect.with_certificate(HOST, OWN, subscription, CERTIFICATE)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", CERTIFICATE)
    return SchedulerManagementService(subscription, cert_file=OWN, host=HOST)


@pytest.fixture
def collection(client):
    """The names of a cloud service and a collection."""
    wait(client, client.create_cloud_service("service", "a label", "a description", "West US"))
    wait(client, client.create_job_collection("service", "jobs"))
    return "service", "jobs"


def wait(client, answer):
    """Waits for the end of an operation, as scripts do."""
    done = client.wait_for_operation_status(answer.request_id)
    assert (done.status, done.http_status_code, done.error) == ("Succeeded", "200", None)


def test_a_cloud_service_is_created_listed_and_deleted(client, collection):
    (listed,) = client.list_cloud_services()
    read = client.get_cloud_service("service")
    for service in (listed, read):
        names = (service.name, service.label, service.description, service.geo_region)
        assert names == ("service", "a label", "a description", "West US")
        (resource,) = service.resources
        assert (resource.name, resource.state) == ("jobs", "Started")
        assert resource.intrinsic_settings.plan == "Standard"
    wait(client, client.delete_cloud_service("service"))
    assert list(client.list_cloud_services()) == []
    with pytest.raises(AzureMissingResourceHttpError, match="name service was not found"):
        client.get_cloud_service("service")


def test_a_collection_is_created_changed_and_deleted(client, collection):
    # The client looks for an element that Azure never sent, and so finds no name free.
    assert not client.check_job_collection_name("service", "jobs").result
    first = client.get_job_collection("service", "jobs")
    assert (first.name, first.type, first.state) == ("jobs", "jobcollections", "Started")
    # It has no other way to change a plan.
    wait(client, client.create_job_collection("service", "jobs", plan="Free"))
    second = client.get_job_collection("service", "jobs")
    assert len({first.e_tag, second.e_tag, ""}) == 3
    assert (first.intrinsic_settings.plan, second.intrinsic_settings.plan) == ("Standard", "Free")
    wait(client, client.delete_job_collection("service", "jobs"))
    with pytest.raises(AzureMissingResourceHttpError, match="job collection jobs of"):
        client.get_job_collection("service", "jobs")


@pytest.mark.parametrize("action", [HTTP, QUEUE], ids=["http", "queue"])
def test_a_job_is_created_replaced_listed_and_deleted(client, collection, action):
    start = "2100-01-01T00:00:00Z"
    job = {"startTime": start, "action": action, "recurrence": RECURRENCE, "state": "enabled"}
    wait(client, client.create_job(*collection, "job_1", job))
    read = client.get_job(*collection, "job_1")
    assert (read["id"], read["startTime"], read["state"]) == ("job_1", start, "enabled")
    assert read["action"]["type"] == action["type"]
    assert read["recurrence"] == RECURRENCE
    assert read["status"]["nextExecutionTime"] == start
    assert "sasToken" not in str(read)
    # The type of the next XML body is that of JSON, because the client keeps it.
    wait(client, client.create_job_collection(*collection))

    client.create_job(*collection, "job_1", {**job, "state": "disabled"})
    client.create_job(*collection, "job_2", job)
    states = {job["id"]: job["state"] for job in client.get_all_jobs(*collection)}
    assert states == {"job_1": "disabled", "job_2": "enabled"}
    wait(client, client.delete_job(*collection, "job_1"))
    with pytest.raises(AzureMissingResourceHttpError, match="Job 'job_1' cannot be found"):
        client.get_job(*collection, "job_1")
    assert [job["id"] for job in client.get_all_jobs(*collection)] == ["job_2"]


def test_a_job_runs(client, collection):
    # Nothing listens on the port.
    client.create_job(*collection, "job", {"action": {**HTTP, "retryPolicy": {"retryType": "none"}}})
    deadline = time.monotonic() + RUN_SECONDS
    while (job := client.get_job(*collection, "job"))["state"] == "enabled":
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
    counters = [job["status"][f"{name}Count"] for name in ("execution", "failure", "faulted")]
    assert (job["state"], counters) == ("faulted", [1, 1, 1])


def test_a_failed_job_goes_on_when_it_is_enabled_again(client, collection):
    retry = {"retryType": "fixed", "retryInterval": "01:00:00", "retryCount": 1}
    job = {"action": {**HTTP, "retryPolicy": retry}, "state": "enabled"}
    client.create_job(*collection, "job", job)
    client.create_job(*collection, "job", job)
    await_executions(client, collection, 1)
    # The client has no methods for these.
    service = f"{client.subscription_id}/cloudservices/service"
    path = f"{service}/resources/scheduler/~/jobCollections/jobs/jobs/job"
    for state in ("disabled", "enabled"):
        answer = send("PATCH", path, {"state": state})
        assert answer.status_code == 200, answer.text
        assert answer.json()["state"] == state
    # Its retry waits for an hour.
    group = f"subscriptions/{client.subscription_id}/resourceGroups/service"
    jobs = f"{group}/providers/Microsoft.Scheduler/jobCollections/jobs/jobs"
    assert send("POST", f"{jobs}/job/run?api-version=2016-03-01").status_code == 200
    assert await_executions(client, collection, 2)["state"] == "enabled"


def send(method, path, body=None):
    headers = {"Authorization": f"Bearer {TOKEN}", "x-ms-version": "2014-10-01"}
    url = f"https://{HOST}/{path}"
    return requests.request(method, url, json=body, headers=headers, verify=CERTIFICATE)


def await_executions(client, collection, count):
    """The job when it has been executed so often."""
    deadline = time.monotonic() + RUN_SECONDS
    while (job := client.get_job(*collection, "job"))["status"]["executionCount"] < count:
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
    return job


def test_what_is_wrong_is_refused(client, collection):
    with pytest.raises(AzureHttpError, match="cannot move to 'East US'"):
        client.create_cloud_service("service", "a label", "", "East US")
    with pytest.raises(AzureHttpError, match="'action'"):
        client.create_job(*collection, "job", {})
    # The client does not escape XML.
    with pytest.raises(AzureHttpError, match="InvalidXmlRequest"):
        client.create_cloud_service("other", "a & b", "", "West US")


@pytest.mark.parametrize("own", [STRANGER, None], ids=["unknown certificate", "no certificate"])
def test_strangers_are_refused(own):
    stranger = connect.with_certificate(HOST, own, str(uuid.uuid4()), CERTIFICATE)
    with pytest.raises(AzureHttpError, match="AuthenticationFailed") as refused:
        stranger.list_cloud_services()
    assert refused.value.status_code == 403
