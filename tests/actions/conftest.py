"""What the tests stand on. `run` starts the parts, and says in the environment where they are."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import parts as real_parts  # noqa: E402
from aws import Aws  # noqa: E402
from bus import Bus  # noqa: E402
from scheduler import Scheduler  # noqa: E402
from server import Server  # noqa: E402

BUS_KEYS = {"RootManageSharedAccessKey": "Planted-Key-7+/="}
NO_BROKER = "there is no broker"


@pytest.fixture(scope="session")
def told():
    """What `run` says of the parts."""
    return json.loads(os.environ["MINUTEHAND_PARTS"])


@pytest.fixture(scope="session")
def bus():
    with Bus({"orders", "some/topic"}, BUS_KEYS) as bus:
        yield bus


@pytest.fixture(scope="session")
def aws(told):
    return Aws(told["aws"])


@pytest.fixture(scope="session")
def broker(told):
    if told["broker"] is None:
        pytest.skip(NO_BROKER)
    log = Path(told["logs"]) / "broker.log"
    with real_parts.Broker(log, told["certificate"], told["key"]) as broker:
        yield broker


def serving(told, name, arguments):
    log = Path(told["logs"]) / f"{name}.server.log"
    arguments = [*arguments, "--log-level", "debug"]
    # Whose certificates the program trusts, beside its own system's: the tests' authority.
    environment = {"SSL_CERT_FILE": told["authority"], **told["credentials"]}
    return Server(told["binary"], log, arguments=arguments, environment=environment)


@pytest.fixture(scope="session")
def scheduler(told, bus, request):
    """A server that knows every part."""
    arguments = [
        *["--storage-endpoint", told["storage"]],
        *["--service-bus-endpoint", bus.url],
        *["--aws-endpoint", told["aws"]],
    ]
    if told["broker"] is not None:
        port = request.getfixturevalue("broker").port
        arguments += ["--service-bus-amqp-endpoint", f"amqp://127.0.0.1:{port}"]
    with serving(told, "all", arguments) as server:
        yield Scheduler(server.url, server.token, server.log)


@pytest.fixture(scope="session")
def scheduler_tls(told, broker):
    """A server that reaches the broker over TLS alone."""
    place = f"amqps://localhost:{broker.tls_port}"
    with serving(told, "tls", ["--service-bus-amqp-endpoint", place]) as server:
        yield Scheduler(server.url, server.token, server.log)
