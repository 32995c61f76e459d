"""The checks on the deployed stack: the real schedule, queue and functions.

All jobs are created first and checked afterwards, so that their waiting times overlap.
"""

import contextlib
import json
import time
from datetime import datetime, timedelta, timezone

from api import VERSION, Api, below_ping
from receivers import forward, name_of, queue, receive

# Longer than the two runs of a minutely job, plus the time until the next sweep.
WAIT_SECONDS = 240
# The difference that is tolerated between the clocks of two processes.
CLOCK_SECONDS = 0.005
COLLECTIONS = "/subscriptions/e2e/providers/Microsoft.Scheduler/jobCollections?" + VERSION
SECRET = "correct horse battery staple"


def play(stack, target, receivers, token):
    """Runs the checks, and yields one line per result."""
    api = Api(stack.url, token)
    yield from authentication(stack, api)
    scene = Scene(stack, target, receivers, api)
    events = scene.listen_to_the_bus()
    scene.create_without_dispatch()
    scene.create_with_dispatch()
    scene.create_for_aws()
    scene.create_for_pings()
    yield from scene.refusals()
    yield from scene.ping()
    yield from scene.watch()
    yield from scene.watch_aws()
    yield from scene.read_back()
    yield from scene.watch_pings()
    yield from scene.events(events)
    yield from scene.dead_letter()


def authentication(stack, api):
    is_open_to_all(stack)
    equal(Api(stack.url).call("GET", COLLECTIONS)[0], 401, "without a token")
    equal(Api(stack.url, "another").call("GET", COLLECTIONS)[0], 401, "with another token")
    equal(api.call("GET", COLLECTIONS)[0], 200, "with the token")
    yield "the API needs a token, except for /healthz and /openapi.json"


def gateways(stack, parameters):
    """Deploys the stack again, so that API Gateway authenticates the callers."""
    named = {"JwtIssuer": "https://issuer.example", "JwtAudience": "one,another"}
    stack.deploy(**parameters, Auth="jwt", **named)
    is_open_to_all(stack)
    equal(Api(stack.url).call("GET", COLLECTIONS)[0], 401, "without a JWT")
    yield "with Auth=jwt the gateway needs a JWT, except for /healthz and /openapi.json"

    stack.deploy(**parameters, Auth="iam")
    is_open_to_all(stack)
    equal(Api(stack.url).call("GET", COLLECTIONS)[0], 403, "without a signature")
    signed = Api(stack.url, sign=stack.emulator.sign)
    equal(signed.call("GET", COLLECTIONS)[0], 200, "with a signature")
    yield "with Auth=iam the gateway needs a signature"


def is_open_to_all(stack):
    for path in ["/healthz", "/openapi.json"]:
        equal(Api(stack.url).call("GET", path)[0], 200, path)
    content_type, page = Api(stack.url).page("/console/index.html")
    equal(content_type, "text/html; charset=utf-8", "the console")
    equal("<title>Minutehand</title>" in page, True, "the title of the console")


class Scene:
    def __init__(self, stack, target, receivers, api):
        self.stack, self.target, self.receivers = stack, target, receivers
        self.jobs = api.collection("jobs")
        self.jobs.create()

    def action(self, path, **request):
        return {"type": "Http", "request": {"method": "GET", "uri": self.target.url + path, **request}}

    def create_without_dispatch(self):
        """Creates jobs while the api function may not send messages: the sweeper has to find them."""
        self.once_at = in_seconds(75)
        self.minutely_at = in_seconds(70)
        with self.no_sending_by_the_api():
            self.jobs.put("once", startTime=text(self.once_at), action=self.action("/once"))
            self.jobs.put(
                "minutely",
                startTime=text(self.minutely_at),
                recurrence={"frequency": "minute"},
                action=self.action("/minutely"),
            )

    @contextlib.contextmanager
    def no_sending_by_the_api(self):
        actions = ["sqs:SendMessage", "sqs:SendMessageBatch"]
        deny = {"Effect": "Deny", "Action": actions, "Resource": "*"}
        self.stack.put_policy("ApiRole", "deny", [deny])
        try:
            yield
        finally:
            self.stack.delete_policy("ApiRole", "deny")

    def create_with_dispatch(self):
        basic = {"type": "Basic", "username": "reports", "password": SECRET}
        posted = {"method": "POST", "body": "some body", "authentication": basic}
        self.jobs.put("now", action=self.action("/now", **posted))
        failing = self.action("/fail")
        failing["retryPolicy"] = {"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": 2}
        failing["errorAction"] = self.action("/error")
        self.jobs.put("failing", action=failing)
        self.jobs.put(
            "disabled",
            state="Disabled",
            recurrence={"frequency": "minute"},
            action=self.action("/disabled"),
        )
        self.jobs.put("on-request", state="Disabled", action=self.action("/on-request"))
        self.jobs.run("on-request")

    def create_for_aws(self):
        for name, action in self.receivers.actions(self.target).items():
            self.jobs.put(name, action=action)
        denied = self.receivers.send(self.receivers.unlisted, "denied")
        denied["retryPolicy"] = {"retryType": "None"}
        denied["errorAction"] = self.receivers.send(self.receivers.queue, "error action")
        self.jobs.put("denied", action=denied)

    def create_for_pings(self):
        """A job whose target reports the end later, and two that expect pings, of which one comes."""
        self.jobs.put("long", action=self.action("/long"), minutehand={"completion": {"within": "PT10M"}})
        # Its grace is over before the other checks are.
        self.due_at = in_seconds(30)
        for job in ["pinged", "missed"]:
            expects = {"type": "Expect", "expect": {"early": "PT1M", "grace": "PT1M"}}
            self.jobs.put(job, startTime=text(self.due_at), action=expects)

    def ping(self):
        api = Api(self.stack.url)
        url = self.jobs.ping_url("pinged")
        for method in ["HEAD", "GET"]:
            equal(api.ping(method, f"{url}/log"), 200, f"{method} of the URL for pings")
        equal(api.ping("POST", f"{url}/start"), 200, "a start")
        equal(api.ping("GET", url), 200, "a ping")
        equal(api.ping("GET", "/ping/0123abcd-4567-4890-8bcd-ef0123456789"), 404, "a wrong key")
        [call] = self.calls("/long", 1)
        report = below_ping(call.headers["x-minutehand-completion"])
        equal(api.ping("GET", report), 404, "a look at the URL of a report")
        equal(api.ping("POST", f"{report}/alive"), 200, "a report of progress")
        equal(self.jobs.history("long"), [], "the history before the report")
        equal(api.ping("POST", report), 200, "a report")
        yield "pings and reports need no token, and come by GET, HEAD and POST"

    def watch_pings(self):
        for job, outcome in [("long", None), ("pinged", None), ("missed", "failed")]:
            self.outcomes(job, [("MainAction", outcome, 0)])
        [missed] = self.jobs.history("missed")
        equal(missed["minutehand"]["cause"]["kind"], "noPing", "the cause without a ping")
        ended = datetime.fromisoformat(missed["endTime"])
        late = (ended - self.due_at).total_seconds() - 60
        assert -CLOCK_SECONDS <= late <= 70, f"a missing ping failed {late:.1f} s after its grace"
        yield f"an attempt ends with its report, an occurrence with its ping; without one it fails, {late:.1f} s late"

    def refusals(self):
        """Jobs that would send to the scheduler itself."""
        outputs, receivers = self.stack.outputs, self.receivers
        bus = {"eventBusName": outputs["EventBusName"], "source": "minutehand", "detailType": "Job Faulted"}
        for name, action in [
            ("queue", receivers.send(outputs["QueueUrl"], "{}")),
            ("dead letters", receivers.send(outputs["DeadLettersUrl"], "{}")),
            ("bus", {"type": "EventBridge", "eventBridgeEvent": {**bus, "detail": "{}"}}),
            *(
                (name, {"type": "Lambda", "lambdaInvocation": {"functionName": outputs[name]}})
                for name in ["ApiFunctionName", "SweeperFunctionName", "ExecutorFunctionName"]
            ),
        ]:
            message = self.jobs.refused("own", action=action)
            assert "belongs to the scheduler itself" in message, f"{name}: {message}"
        yield "no job sends to the queues, the bus and the functions of the scheduler"

    def watch_aws(self):
        self.calls("/invoked", 1)
        received = []

        def sent():
            received.extend(self.receivers.received())
            return sorted(received)

        eventually(sent, ["bus", "error action", "queue", "topic"], "the messages that jobs sent in AWS")
        yield "jobs and error actions send to a queue, a topic, a function and a bus"

        for job in self.receivers.actions(self.target):
            self.outcomes(job, [("MainAction", None, 0)])
        self.outcomes("denied", [("ErrorAction", None, 0), ("MainAction", "failed", 0)])
        message = self.jobs.history("denied")[-1]["message"]
        assert "AccessDenied" in message, message
        equal(list(receive(self.stack.emulator, self.receivers.unlisted)), [], "the messages in the queue that is not listed")
        yield f"a resource that is not listed is denied: {message}"

    def outcomes(self, job, expected):
        """Waits until a job's history is as expected. Only failed items have a status."""

        def history():
            items = self.jobs.history(job)
            return [(item["actionName"], item.get("status"), item["retryCount"]) for item in items]

        eventually(history, expected, f"the history of '{job}'")

    def watch(self):
        [now] = self.calls("/now", 1)
        equal((now.method, now.body), ("POST", b"some body"), "the request of 'now'")
        equal(now.headers.get("authorization", "")[:6], "Basic ", "its credentials")
        assert now.headers.get("x-ms-scheduler-execution-id"), f"no execution id: {now.headers}"
        yield "a job without a start fires at once, with its body and credentials"

        self.calls("/on-request", 1)
        yield "a disabled job runs on request"

        tries = self.calls("/fail", 3)
        gaps = [later.at - earlier.at for earlier, later in zip(tries, tries[1:])]
        assert all(gap >= 15 - CLOCK_SECONDS for gap in gaps), f"retried after {gaps} s"
        [error] = self.calls("/error", 1)
        assert error.at >= tries[-1].at, "the error action came before the last attempt"
        yield f"a failing job is retried ({', '.join(f'{gap:.1f} s' for gap in gaps)}), then its error action fires"

        [once] = self.calls("/once", 1)
        late = [lateness(once, self.once_at)]
        yield f"the sweeper finds a one-time job, {late[0]:.3f} s late"

        twice = self.calls("/minutely", 2)
        dues = [self.minutely_at + timedelta(minutes=n) for n in range(2)]
        late = [lateness(call, due) for call, due in zip(twice, dues)]
        yield f"the sweeper finds a minutely job, {', '.join(f'{seconds:.3f} s' for seconds in late)} late"

    def read_back(self):
        for job, outcomes in [
            ("now", [("MainAction", None, 0)]),
            ("once", [("MainAction", None, 0)]),
            ("on-request", [("MainAction", None, 0)]),
            (
                "failing",
                [
                    ("ErrorAction", None, 0),
                    ("MainAction", "failed", 2),
                    ("MainAction", "failed", 1),
                    ("MainAction", "failed", 0),
                ],
            ),
            ("disabled", []),
        ]:
            self.outcomes(job, outcomes)
        for job, state in [("now", "completed"), ("once", "completed"), ("failing", "faulted")]:
            eventually(lambda: self.jobs.get(job)["state"].lower(), state, f"the state of '{job}'")
        minutely = self.jobs.history("minutely")
        assert len(minutely) >= 2 and not any("status" in item for item in minutely), minutely
        yield "all jobs have the expected history and state"

        # No job fired more often than it should.
        for path, calls in [("/now", 1), ("/once", 1), ("/on-request", 1), ("/fail", 3), ("/error", 1)]:
            equal(len(self.target.calls(path)), calls, f"calls of {path}")
        equal(self.target.calls("/disabled"), [], "calls of the disabled job")
        yield "a disabled job does not fire, and no job fires twice"

        stored = json.dumps(self.table(), default=str)
        assert "reports" in stored, "the job is not in the table"
        assert SECRET not in stored, "a secret is in the table as plain text"
        yield "the secret in the table is sealed"

    def table(self):
        client = self.stack.emulator.client("dynamodb")
        pages = client.get_paginator("scan").paginate(TableName=self.stack.outputs["TableName"])
        return [item for page in pages for item in page["Items"]]

    def listen_to_the_bus(self):
        """Creates a queue that receives the events on the bus."""
        url, arn = queue(self.stack.emulator, "events")
        forward(self.stack.emulator, self.stack.outputs["EventBusName"], "minutehand", arn)
        return url

    def events(self, url):
        seen = set()
        expected = {"Execution Failed", "Job Completed", "Job Faulted"}

        def received():
            seen.update(name_of(body) for body in receive(self.stack.emulator, url))
            return seen

        eventually(received, expected, "events on the bus")
        yield f"rules receive events from the bus: {', '.join(sorted(seen))}"

    def dead_letter(self):
        sqs = self.stack.emulator.client("sqs")
        sent = "not a work item"
        sqs.send_message(QueueUrl=self.stack.outputs["QueueUrl"], MessageBody=sent)
        dead = []

        def received():
            found = sqs.receive_message(QueueUrl=self.stack.outputs["DeadLettersUrl"])
            dead.extend(message["Body"] for message in found.get("Messages", []))
            return dead

        eventually(received, [sent], "the dead-letter queue")
        yield "an unreadable message goes to the dead-letter queue"

    def calls(self, path, count):
        """Waits for this many calls of a path, and returns them."""
        eventually(lambda: len(self.target.calls(path)) >= count, True, f"{count} calls of {path}")
        return self.target.calls(path)[:count]


def eventually(what, expected, name):
    """Waits until `what()` returns the expected value."""
    deadline = time.monotonic() + WAIT_SECONDS
    while (found := what()) != expected:
        if time.monotonic() > deadline:
            raise AssertionError(f"{name}: {found!r} after {WAIT_SECONDS} s, not {expected!r}")
        time.sleep(0.2)


def equal(found, expected, name):
    assert found == expected, f"{name}: {found!r}, not {expected!r}"


def lateness(call, due):
    late = call.at - due.timestamp()
    assert late >= -CLOCK_SECONDS, f"the call came {-late:.3f} s early"
    return late


def in_seconds(seconds):
    at = datetime.now(timezone.utc) + timedelta(seconds=seconds)
    return at.replace(microsecond=0)


def text(at):
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
