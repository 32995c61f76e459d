"""Runs the commands of shared/docs/aws-runbooks.md on an emulator, chapter by chapter and as they are printed.

The emulator has two regions, so a standby takes over for real: with jobs whose messages are in the queue of
the region that is gone.
"""

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import stat
import subprocess
import sys
from datetime import datetime, timezone

from api import Api
from aws import COMMAND_SECONDS, PRIVATE, REGION, Emulator, Failed, Stack, build
from scenario import equal, eventually, in_seconds, text
from start import HERE, ROOT, TOOLS, install
from target import Target

PAGE = ROOT / "shared" / "docs" / "aws-runbooks.md"
STANDBY = "eu-west-1"
# Every deployment is of the same template and packages.
ONCE = """case "$1" in validate | build)
    [ -e {folder}/"$1".done ] || {{ {sam} "$@" && touch {folder}/"$1".done; }}
    exit
esac
exec {sam} "$@"
"""
# The emulator's CloudFormation sets neither of these, and the stack of the tests tells no one of alarms.
NOT_EMULATED = {
    "alarms that reach no one: nobody is told of alarms: set AlarmEmail or AlarmTopicArn",
    "changed by hand: the table keeps expired items: aws dynamodb update-time-to-live",
    "changed by hand: point-in-time recovery is off: aws dynamodb update-continuous-backups",
}


def chapters():
    """The commands of the page by their headings."""
    found, heading, is_command = {}, "", False
    for line in PAGE.read_text().splitlines():
        if line.startswith("```"):
            is_command = line == "```sh"
        elif is_command:
            found.setdefault(heading, []).append(line)
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return {heading: "\n".join(lines) for heading, lines in found.items()}


class Operator:
    """A person with the page, a shell, and an account."""

    def __init__(self, emulator, target, token):
        self.emulator, self.target = emulator, target
        self.chapters, self.tried = chapters(), set()
        self.said = ""
        commands = emulator.folder / "commands"
        shutil.rmtree(commands, ignore_errors=True)
        commands.mkdir()
        aws = install.python("awscli", HERE / "awscli.txt").parent / "aws"
        self.write(commands / "make", f'exec {sys.executable} {shlex.quote(str(HERE / "make.py"))} "$@"')
        # For SQS, version 1 of the command line does not read the variable.
        self.write(commands / "aws", f'exec {shlex.quote(str(aws))} --endpoint-url "$AWS_ENDPOINT_URL" "$@"')
        self.write(commands / "python", f'exec {shlex.quote(str(TOOLS / "python"))} "$@"')
        self.write(commands / "sam", ONCE.format(sam=shlex.quote(str(TOOLS / "sam")), folder=shlex.quote(str(commands))))
        environment = {**emulator.environment, "AWS_DEFAULT_REGION": REGION}
        # The command line and sam take the region from the other variable.
        del environment["AWS_REGION"]
        self.environment = {
            **environment,
            "PATH": os.pathsep.join([str(commands), environment["PATH"]]),
            "MINUTEHAND_TOKEN": token,
            "TOKEN_HASHES": hashlib.sha256(token.encode()).hexdigest(),
            "MADE_TOOLS": str(commands),
            "MADE_OPTIONS": f"--succeeds {target.url}/now --fails {target.url}/fail",
            "PYTHONPATH": str(HERE / "names"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_PAGER": "",
            "WAIT": "0",
            "PAUSE": "0",
        }
        self.preamble = self.chapters["Runbooks for AWS"]
        self.tried.add("Runbooks for AWS")

    def write(self, path, line):
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def does(self, heading, changed=(), before=""):
        """Runs a chapter. `changed` are pairs of texts: what the operator puts in, and where."""
        commands = self.chapters[heading]
        for old, new in changed:
            assert old in commands, f"{heading} has no '{old}'"
            commands = commands.replace(old, new)
        self.tried.add(heading)
        return self.shell(f"{before}\n{commands}", heading)

    def shell(self, commands, name):
        script = f"set -euo pipefail\n{self.preamble}\n{commands}\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * COMMAND_SECONDS,
        )
        self.said = done.stdout + done.stderr
        if done.returncode != 0:
            raise Failed(f"the commands of '{name}' ended with {done.returncode}:\n{self.said}")
        return done.stdout

    def make(self, target, region=REGION, expects=0, options=""):
        """Runs a target of make, and returns its lines."""
        done = subprocess.run(
            ["make", target, "STACK=minutehand", f"OPTIONS={options}"],
            cwd=ROOT,
            env={**self.environment, "AWS_DEFAULT_REGION": region},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * COMMAND_SECONDS,
        )
        if done.returncode != expects:
            raise Failed(f"make {target} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()

    def troubles(self, region=REGION):
        """What the doctor finds that an emulated stack does not have anyway."""
        lines = self.make("doctor", region, expects=2)
        unknown = [line for line in lines if line.startswith("?")]
        equal(unknown, [], "what the doctor cannot read")
        found = {line.removeprefix("!! ") for line in lines if line.startswith("!! ")}
        return found - NOT_EMULATED

    def resource(self, logical, region=REGION):
        client = self.emulator.client("cloudformation", region)
        described = client.describe_stack_resource(StackName=Stack.NAME, LogicalResourceId=logical)
        return described["StackResourceDetail"]["PhysicalResourceId"]

    def api(self, region=REGION):
        url = f"http://{self.resource('HttpApi', region)}.execute-api.localhost:{self.emulator.port}"
        return Api(url, self.environment["MINUTEHAND_TOKEN"])

    def has_active(self, region=REGION):
        rule = self.emulator.client("events", region).describe_rule(Name=self.resource("Tick", region))
        mapping = self.emulator.client("lambda", region).get_event_source_mapping(
            UUID=self.resource("Deliveries", region)
        )
        is_active = rule["State"] == "ENABLED"
        # Of a mapping that was made disabled, the emulator says that it is enabled.
        if region == REGION:
            equal(mapping["State"], "Enabled" if is_active else "Disabled", "the state of the deliveries")
        return is_active

    def leaves_a_version(self, function):
        """Publishes a version that no alias names, as an update leaves it that fails later."""
        client, name = self.emulator.client("lambda"), self.resource(function)
        client.update_function_configuration(FunctionName=name, Description="an update that failed")
        client.publish_version(FunctionName=name)

    def live(self, function):
        described = self.emulator.client("lambda").get_alias(FunctionName=self.resource(function), Name="live")
        return int(described["FunctionVersion"])


def checks(folder):
    """Runs the chapters, and yields one line per result."""
    token = secrets.token_hex(16)
    with Emulator(folder, TOOLS, is_strict=False, is_slow=True) as emulator, Target() as target:
        build(emulator)
        operator = Operator(emulator, target, token)
        private = " ".join(f"{name}={value}" for name, value in PRIVATE.items())
        hashes = operator.environment["TOKEN_HASHES"]
        operator.shell(f'make deploy PARAMETERS="TokenHashes={hashes} {private}"', "deploy")
        yield from operated(operator)
        yield from restored(operator)
        yield from moved(operator, f" {private}")
        yield from removed(operator)
    untried = set(operator.chapters) - operator.tried - {"Move to another account"}
    equal(untried, set(), "chapters that were not tried")


def operated(operator):
    operator.shell("make smoke STACK=$STACK", "Upgrade")
    for line in operator.said.splitlines():
        yield f"smoke: {line}"
    assert not any(line.startswith("FAIL") for line in operator.said.splitlines()), operator.said

    equal(operator.troubles(), set(), "what the doctor finds")
    operator.tried.add("Is it well")
    stop, start = operator.chapters["Stop, and start again"].splitlines()
    operator.tried.add("Stop, and start again")
    operator.shell(stop, "Stop")
    equal(operator.has_active(), False, "the stopped stack fires")
    found = operator.troubles()
    assert any("Active=no" in it for it in found), found
    operator.shell(start, "Start")
    equal(operator.has_active(), True, "the started stack fires")
    yield "doctor finds nothing; Active=no stops the tick and the deliveries, and Active=yes starts them"

    before = operator.live("ExecutorFunction")
    operator.does("Upgrade", [("make smoke STACK=$STACK", "")])
    equal(operator.live("ExecutorFunction"), before + 1, "the version after an upgrade")
    operator.leaves_a_version("ExecutorFunction")
    operator.does("Roll back")
    equal(operator.live("ExecutorFunction"), before, "the version after a roll-back")
    releases = {line.split("\t")[1].split()[-1] for line in operator.said.strip().splitlines()}
    assert len(releases) == 1, operator.said
    found = operator.troubles()
    assert len(found) <= 3, found
    yield f"a roll-back takes an upgrade back, past the version of a failed update, to version {before}"

    made = "make gameday STACK=$STACK"
    operator.does("Game day", [(made, f"{made} OPTIONS=--yes")])
    for line in operator.said.splitlines():
        yield f"gameday: {line}"
    equal(operator.live("ExecutorFunction"), before, "the version after a game day")
    equal((operator.has_active(), operator.troubles()), (True, found), "what a game day leaves behind")

    operator.shell("make deploy STACK=$STACK PARAMETERS=Archive=yes", "deploy with an archive")
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    heading = "Write a day of the archive again"
    folder = operator.emulator.folder
    files = [("request.json", str(folder / "request.json")), ("answer.json", str(folder / "answer.json"))]
    operator.does(heading, [("DAY=2026-11-20", f"DAY={today}"), *files])
    written = json.loads((folder / "answer.json").read_text())
    assert written["lines"] > 0 and written["next"] is None, written
    equal(operator.troubles(), set(), "what the doctor finds with an archive")
    yield f"a day of the archive is written again: {written['lines']} lines"
    operator.does("Restore from a backup in the bucket", files)
    backup = json.loads((folder / "answer.json").read_text())
    equal((backup["unreadable"], backup["removed"]), (0, 0), "what a backup left out, and what it removed")
    equal(operator.troubles(), set(), "what the doctor finds with a backup")
    operator.shell("make deploy STACK=$STACK PARAMETERS=Archive=no", "deploy without an archive")
    yield f"a backup is written to the bucket: {backup['backup']}"


def restored(operator):
    jobs = operator.api().collection("kept")
    jobs.create()
    action = {"type": "Http", "request": {"method": "GET", "uri": f"{operator.target.url}/kept"}}
    jobs.put("kept", recurrence={"frequency": "day"}, action=action)
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    heading = "Restore to an earlier instant"
    operator.does(heading, [("AT=2026-11-22T12:00:00Z", f"AT={now}")])
    equal(operator.api().collection("kept").get("kept")["state"].lower(), "enabled", "the restored job")
    equal(operator.has_active(), True, "the restored stack fires")
    lines = operator.make("doctor", expects=2)
    assert not any(line.startswith("!! changed by hand") for line in lines), lines
    yield "a table is restored to an instant, with what a restore leaves out, and the stack goes on"

    operator.does("Restore from a backup")
    backup = operator.said.strip().splitlines()[-1]
    steps = re.split(r"\n(?=# \d\. )", operator.chapters[heading])
    chosen = [steps[0], *(it for it in steps if it[:4] in {f"# {n}." for n in [3, 4, 5, 6, 7]})]
    jobs.put("later", recurrence={"frequency": "day"}, action=action)
    operator.shell("\n".join([f"BACKUP={shlex.quote(backup)} RESTORED={shlex.quote(backup)}", *chosen]), "backup")
    status, _ = operator.api().call("GET", f"{jobs.path}/jobs/later?api-version=2016-03-01")
    equal(status, 404, "a job that is younger than the backup")
    equal(jobs.get("kept")["state"].lower(), "enabled", "a job that is older than the backup")
    yield "a backup is made and restored"


def moved(operator, private):
    """A standby, whose active stack is gone with messages in its queue."""
    target = operator.target
    variables = f"REGION={REGION} STANDBY={STANDBY}\nexport AWS_DEFAULT_REGION=$REGION"
    hashes = "TokenHashes=$TOKEN_HASHES"
    operator.does("Set it up", [(hashes, f"{hashes}{private}")])
    equal((operator.has_active(REGION), operator.has_active(STANDBY)), (True, False), "which stack fires")
    yield "a second region has a stack with a copy of the table, and does not fire"

    jobs = operator.api().collection("moved")
    jobs.create()

    def action(path, **more):
        return {"type": "Http", "request": {"method": "GET", "uri": target.url + path}, **more}

    # The next occurrence of the first job is in a message; its timer waits for tomorrow.
    soon = in_seconds(20)
    jobs.put("daily", startTime=text(soon), recurrence={"frequency": "day"}, action=action("/daily"))
    jobs.put("ran", recurrence={"frequency": "day"}, action=action("/ran"))
    retries = {"retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 1}}
    failing = action("/fail-moved", **retries, errorAction=action("/error-moved"))
    jobs.put("retried", recurrence={"frequency": "day"}, action=failing)
    for path in ["/ran", "/fail-moved"]:
        eventually(lambda: len(target.calls(path)), 1, f"calls of {path} by the first region")
    for name in ["ran", "retried"]:
        eventually(lambda: len(jobs.history(name)), 1, f"items in the history of {name}")
    # The region is gone: nothing of it works, and what is in its queue stays there.
    silence(operator, REGION)
    equal(len(target.calls("/daily")), 0, "calls of the first region")
    operator.does("Fail over", [("make doctor STACK=$STACK", "")], variables)
    equal((operator.has_active(REGION), operator.has_active(STANDBY)), (False, True), "which stack fires")
    rewound = next(line for line in operator.said.splitlines() if "put back" in line and "," in line)
    eventually(lambda: len(target.calls("/daily")), 1, "calls of the job whose message was lost")
    eventually(lambda: len(target.calls("/fail-moved")), 2, "calls of the job whose retry was lost")
    eventually(lambda: len(target.calls("/error-moved")), 1, "calls of its error action")
    equal(len(target.calls("/ran")), 1, "calls of a job that had run before")
    yield f"it takes over: an occurrence and a retry in the lost queue are made, and nothing twice ({rewound})"

    operator.does("Go back", before=variables)
    equal((operator.has_active(REGION), operator.has_active(STANDBY)), (True, False), "which stack fires")
    back = operator.api().collection("moved")
    back.put("back", action=action("/back"))
    eventually(lambda: len(target.calls("/back")), 1, "calls of a job in the first region")
    equal(len(target.calls("/ran")), 1, "calls of a job that had run before")
    yield "the first region takes over again"


def silence(operator, region):
    """Stops what fires in a region at once, as its end does."""
    emulator = operator.emulator
    emulator.client("lambda", region).update_event_source_mapping(
        UUID=operator.resource("Deliveries", region), Enabled=False
    )
    emulator.client("events", region).disable_rule(Name=operator.resource("Tick", region))


def removed(operator):
    table = operator.resource("Table")
    dynamodb = operator.emulator.client("dynamodb")
    dynamodb.update_table(TableName=table, ReplicaUpdates=[{"Delete": {"RegionName": STANDBY}}])
    operator.tried.add("Move to another region")
    operator.does("Remove")
    assert table not in dynamodb.list_tables()["TableNames"], "the table is there after its removal"
    yield "a stack is removed, and then its table and its key"
