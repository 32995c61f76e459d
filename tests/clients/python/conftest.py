"""What the tests share. Each has a subscription of its own, and so a world of its own."""

import uuid

import pytest
from azure.mgmt.scheduler import models

import scheduler


def pytest_report_header():
    return f"azure-mgmt-scheduler {scheduler.VERSION} against {scheduler.URL}"


def pytest_configure(config):
    clock = "clock: knows what a clock says that starts at 2027-01-01, as the server's does here"
    config.addinivalue_line("markers", clock)


# What only one of the clients does.
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
