"""Fixtures. `run` starts the services, and passes their addresses in an environment variable."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import services  # noqa: E402
from aws import Aws  # noqa: E402
from bus import Bus  # noqa: E402
from scheduler import Scheduler  # noqa: E402
from server import Server  # noqa: E402

# A SIGTERM raises KeyboardInterrupt, so that fixtures end the processes that they started.
signal.signal(signal.SIGTERM, signal.default_int_handler)

BUS_KEYS = {"RootManageSharedAccessKey": "Planted-Key-7+/="}
NO_BROKER = "no broker is available"


@pytest.fixture(scope="session")
def setup():
    """The addresses of the services, and other values from `run`."""
    return json.loads(os.environ["MINUTEHAND_SERVICES"])


@pytest.fixture(scope="session")
def bus():
    with Bus({"orders", "some/topic"}, BUS_KEYS) as bus:
        yield bus


@pytest.fixture(scope="session")
def aws(setup):
    return Aws(setup["aws"])


@pytest.fixture(scope="session")
def broker(setup):
    if setup["broker"] is None:
        pytest.skip(NO_BROKER)
    log = Path(setup["logs"]) / "broker.log"
    with services.Broker(log, setup["certificate"], setup["key"]) as broker:
        yield broker


def serving(setup, name, arguments):
    log = Path(setup["logs"]) / f"{name}.server.log"
    arguments = [*arguments, "--log-level", "debug"]
    # The program trusts the tests' certificate authority in addition to those of the system.
    environment = {"SSL_CERT_FILE": setup["authority"], **setup["credentials"]}
    return Server(setup["binary"], log, arguments=arguments, environment=environment)


@pytest.fixture(scope="session")
def scheduler(setup, bus, request):
    """A server with the addresses of all services."""
    arguments = [
        *["--storage-endpoint", setup["storage"]],
        *["--service-bus-endpoint", bus.url],
        *["--aws-endpoint", setup["aws"]],
    ]
    if setup["broker"] is not None:
        port = request.getfixturevalue("broker").port
        arguments += ["--service-bus-amqp-endpoint", f"amqp://127.0.0.1:{port}"]
    with serving(setup, "all", arguments) as server:
        yield Scheduler(server.url, server.token, server.log)


@pytest.fixture(scope="session")
def scheduler_tls(setup, broker):
    """A server that reaches the broker only over TLS."""
    endpoint = f"amqps://localhost:{broker.tls_port}"
    with serving(setup, "tls", ["--service-bus-amqp-endpoint", endpoint]) as server:
        yield Scheduler(server.url, server.token, server.log)


@pytest.fixture(scope="session")
def scheduler_alone(setup):
    """A server without the address of any service."""
    with serving(setup, "alone", []) as server:
        yield Scheduler(server.url, server.token, server.log)
