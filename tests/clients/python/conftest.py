"""Fixtures. Each test has a subscription of its own, so that tests do not affect each other."""

import uuid

import pytest
from azure.mgmt.scheduler import models

import scheduler


def pytest_report_header():
    return f"azure-mgmt-scheduler {scheduler.VERSION} against {scheduler.URL}"


def pytest_configure(config):
    clock = "clock: depends on the server's clock, which starts at 2027-01-01"
    config.addinivalue_line("markers", clock)


# Each client has one file with tests of its own.
collect_ignore = ["test_only_7_0_0.py" if scheduler.IS_2 else "test_only_2_0_0.py"]


@pytest.fixture
def client():
    return scheduler.Scheduler(str(uuid.uuid4()))


@pytest.fixture
def collection(client):
    """The name of a Standard collection."""
    client.put_collection("Collection", location="westus")
    return "Collection"


@pytest.fixture
def big_collection(client):
    """The name of a collection with room for a thousand jobs."""
    properties = models.JobCollectionProperties(sku=models.Sku(name="P20Premium"))
    client.put_collection("Big", location="westus", properties=properties)
    return "Big"
