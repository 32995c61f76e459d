"""Every type of action, as the main action, and as the error action of another type."""

import http.server
import json
import ssl
from itertools import pairwise
from threading import Thread

import pytest
import test_bus
from aws import event, function, sns, sqs
from scheduler import outcome, until
from services import Broker
from storage import Storage, texts
from storage import action as storage_action
from test_amqp import message, reading

TYPES = [
    "Http",
    "Https",
    "StorageQueue",
    "ServiceBusQueue",
    "ServiceBusTopic",
    "ServiceBusQueue over AMQP",
    "ServiceBusTopic over AMQP",
    "Sqs",
    "Sns",
    "Lambda",
    "EventBridge",
]
NOWHERE = {"uri": "http://127.0.0.1:9/", "method": "GET"}


class Web:
    """A server that remembers the bodies of requests."""

    def __init__(self, setup, is_tls):
        self.bodies = bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if is_tls:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(setup["certificate"], setup["key"])
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}/"
        Thread(target=self.server.serve_forever, daemon=True).start()


class Targets:
    """For each type: an action that succeeds, an action that fails, and the text that arrived."""

    def __init__(self, setup, bus, aws, broker):
        self.web = {name: Web(setup, name == "Https") for name in ("Http", "Https")}
        self.bus, self.aws = bus, aws
        self.storage = Storage(setup["storage"])
        self.queue = self.storage.queue("every-type")
        names = ("Sqs", "Sns", "Lambda", "EventBridge")
        self.queues = {name: aws.queue(f"every-{name}") for name in names}
        self.topic = aws.topic("every-topic", self.queues["Sns"])
        self.function = aws.function("every-function", self.queues["Lambda"])
        aws.bus("every-bus", "every.type", self.queues["EventBridge"])
        if broker is not None:
            self.reader = reading(broker)
            self.listening = {
                "ServiceBusQueue over AMQP": self.reader.create_receiver("every.queue", credit=9),
                "ServiceBusTopic over AMQP": self.reader.create_receiver("/topic/every", credit=9),
            }

    def good(self, kind, text):
        sas = self.storage.sas("every-type")
        body = json.dumps({"text": text})
        match kind:
            case "Http" | "Https":
                request = {"uri": self.web[kind].url, "method": "POST", "body": text}
                return {"type": kind, "request": request}
            case "StorageQueue":
                return storage_action("every-type", sas, text, messageFormat="raw")
            case "ServiceBusQueue":
                return self.on_bus("Queue", "orders", text)
            case "ServiceBusTopic":
                return self.on_bus("Topic", "some/topic", text)
            case "ServiceBusQueue over AMQP":
                return message("Queue", "every.queue", text, messageFormat="raw")
            case "ServiceBusTopic over AMQP":
                return message("Topic", "/topic/every", text, messageFormat="raw")
            case "Sqs":
                return sqs(self.queues[kind], text)
            case "Sns":
                return sns(self.topic, text)
            case "Lambda":
                return function("every-function", payload=body)
            case "EventBridge":
                return event("every.type", body, eventBusName="every-bus")

    def on_bus(self, kind, entity, text, key=Broker.KEY):
        return test_bus.action(kind, entity, text, key=key, messageFormat="raw")

    def bad(self, kind):
        match kind:
            case "Http":
                return {"type": kind, "request": NOWHERE}
            case "Https":
                # The server has no certificate, and does not exist.
                return {"type": kind, "request": {**NOWHERE, "uri": "https://127.0.0.1:9/"}}
            case "StorageQueue":
                return storage_action("every-type", "sv=1&sig=x", "x")
            case "ServiceBusQueue":
                return self.on_bus("Queue", "orders", "x", key="wrong")
            case "ServiceBusTopic":
                return self.on_bus("Topic", "some/topic", "x", key="wrong")
            case "ServiceBusQueue over AMQP":
                return message("Queue", "every.queue", "x", key="wrong")
            case "ServiceBusTopic over AMQP":
                return message("Topic", "/exchange/absent", "x")
            case "Sqs":
                return sqs("http://127.0.0.1/000000000000/absent", "x")
            case "Sns":
                return sns("arn:aws:sns:us-east-1:000000000000:absent", "x")
            case "Lambda":
                return function("absent")
            case "EventBridge":
                no_bus = "arn:aws:events:us-east-1:000000000000:rule/none"
                return event("every.type", "{}", eventBusName=no_bus)

    def arrived(self, kind):
        """The next text that arrived at the target of a type."""
        match kind:
            case "Http" | "Https":
                bodies = self.web[kind].bodies
                return until(lambda: bodies[-1:], bool, f"the bodies over {kind}")[0]
            case "StorageQueue":
                return texts(self.queue)[0]
            case "ServiceBusQueue" | "ServiceBusTopic":
                return self.bus.messages[-1]["body"].decode()
            case "ServiceBusQueue over AMQP" | "ServiceBusTopic over AMQP":
                # The body has to be read before the message is released.
                found = self.listening[kind].receive(timeout=30)
                return bytes(found.body).decode()
            case "Lambda":
                return json.loads(self.aws.receive(self.queues[kind])["Body"])["text"]
            case "EventBridge":
                return json.loads(self.aws.receive(self.queues[kind])["Body"])["detail"]["text"]
            case _:
                return self.aws.receive(self.queues[kind])["Body"]


@pytest.fixture(scope="module")
def targets(setup, bus, aws, request):
    broker = request.getfixturevalue("broker") if setup["broker"] else None
    return Targets(setup, bus, aws, broker)


def skip_without_broker(kind, setup):
    if kind.endswith("AMQP") and not setup["broker"]:
        pytest.skip("no broker is available")


def prefix(kind):
    """The first word of the messages of a type."""
    return "Http" if kind == "Https" else kind.split()[0]


@pytest.mark.parametrize("kind", TYPES)
def test_as_main_action(scheduler, targets, setup, kind):
    skip_without_broker(kind, setup)
    text = f"main {kind}"
    scheduler.succeeds(targets.good(kind, text))
    assert targets.arrived(kind) == text


# Each type follows the failure of another one.
@pytest.mark.parametrize(("failing", "kind"), [*pairwise([TYPES[-1], *TYPES])])
def test_as_error_action(scheduler, targets, setup, kind, failing):
    skip_without_broker(kind, setup)
    skip_without_broker(failing, setup)
    text = f"error {kind}"
    job = scheduler.put({**targets.bad(failing), "errorAction": targets.good(kind, text)})
    error, main = scheduler.history(job, 2)
    assert (main["actionName"], error["actionName"]) == ("MainAction", "ErrorAction")
    assert outcome(main)[0] is False and outcome(error)[0] is True, (main, error)
    assert main["message"].startswith(f"{prefix(failing)} Action - ")
    assert error["message"].startswith(f"{prefix(kind)} Action - ")
    assert targets.arrived(kind) == text
    counters = scheduler.must("GET", job)["properties"]["status"]
    names = ("executionCount", "failureCount", "faultedCount")
    assert [counters[name] for name in names] == [1, 1, 1]
