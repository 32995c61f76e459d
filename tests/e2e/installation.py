"""Moves a collection from the deployed stack into `serve`, and back, while its jobs fire."""

import os
import secrets
import subprocess
import time
from collections import Counter
from datetime import timedelta

from api import Api
from scenario import SECRET, equal, eventually, in_seconds, text
from server import Server
from start import ROOT, environment
from target import Target

JOBS = 12
# The removal of a deleted collection takes a tick or two of the sweeper.
REMOVAL_SECONDS = 240


def build():
    # As the tests of the workspace build it: by itself, it and all that it stands on get other features, and
    # are compiled once more. A test of its own package brings the program.
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--test", "serve"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL)
    assert done.returncode == 0, "the program could not be built"
    return ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target") / "debug" / "minutehand"


class Mover:
    def __init__(self, stack, folder):
        self.stack, self.binary = stack, build()
        self.folder = folder / f"moved-{secrets.token_hex(4)}"
        self.folder.mkdir()
        self.data = self.folder / "data"
        self.table = f"dynamodb://{stack.outputs['TableName']}"
        self.key = ["--key", stack.outputs["KeyArn"]]

    def run(self, *words, data, may_fail=None):
        command = [str(word) for word in [self.binary, "installation", *words, "--data", data]]
        done = subprocess.run(
            command,
            env={**environment(), **self.stack.emulator.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if may_fail is not None and may_fail in done.stderr:
            return None
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def serve(self):
        server = Server(self.binary, self.folder / "serve.log")
        server.command[server.command.index("--token") + 2 :] = ["--data", str(self.data)]
        return server


def checks(stack, token, folder):
    mover = Mover(stack, folder)
    stack.emulator.client("s3").create_bucket(Bucket="exports")
    with Target() as target:
        at_stack = Api(stack.url, token).collection("moving")
        at_stack.create()
        first = in_seconds(5)
        for n in range(JOBS):
            basic = {"type": "Basic", "username": "reports", "password": SECRET}
            request = {"method": "GET", "uri": f"{target.url}/moving/{n}", "authentication": basic}
            at_stack.put(
                f"j{n}",
                startTime=text(first + timedelta(seconds=5 * n)),
                recurrence={"frequency": "minute"},
                action={"type": "Http", "request": request},
            )
        watched = Watched(target)
        watched.all_fire("at the stack")
        switch(at_stack, "disable")
        end_of_actions(watched)
        before = watched.calls()

        there = ["--seal-to", mover.folder / "there.key", *mover.key]
        said = mover.run("export", "s3://exports/there", *there, data=mover.table)
        yield said.splitlines()[0]
        mover.run("import", "s3://exports/there", "--unseal-with", mover.folder / "there.key", data=mover.data)
        with mover.serve() as server:
            at_home = Api(server.url, server.token).collection("moving")
            equal(at_home._ok("GET", "")["properties"]["state"], "Disabled", "the state of what was imported")
            # Only what moves goes back.
            Api(server.url, server.token).collection("jobs")._ok("DELETE", "")
            switch(at_home, "enable")
            watched.all_fire("on this machine")
            switch(at_home, "disable")
            end_of_actions(watched)
        assert watched.calls() > before, "nothing fired on this machine"
        yield f"{JOBS} jobs go on on this machine, with their secrets"

        at_stack._ok("DELETE", "")
        mover.run("export", "s3://exports/back", "--seal-to", mover.folder / "back.key", data=mover.data)
        back = ["s3://exports/back", "--merge", "--unseal-with", mover.folder / "back.key", *mover.key]
        until = time.monotonic() + REMOVAL_SECONDS
        while mover.run("import", *back, data=mover.table, may_fail="still being removed") is None:
            assert time.monotonic() < until, f"the jobs were not removed within {REMOVAL_SECONDS} s"
            time.sleep(5)
        switch(at_stack, "enable")
        watched.all_fire("at the stack again")
        switch(at_stack, "disable")
        twice = [it for it, times in watched.occurrences().items() if times > 1]
        equal(twice, [], "occurrences that fired twice")
        yield f"they go back into the stack; none of {watched.calls()} occurrences fired twice"


def switch(collection, how):
    collection._ok("POST", f"/{how}")


def end_of_actions(watched):
    """Waits until nothing comes any more from a collection that is off."""
    quiet = watched.calls()
    time.sleep(5)
    while watched.calls() > quiet:
        quiet = watched.calls()
        time.sleep(5)


class Watched:
    """What the target has got of the jobs."""

    def __init__(self, target):
        self.target = target

    def occurrences(self):
        due = "x-ms-scheduler-expected-execution-time"
        return Counter((n, call.headers[due]) for n in range(JOBS) for call in self.target.calls(f"/moving/{n}"))

    def calls(self):
        return sum(self.occurrences().values())

    def all_fire(self, where):
        counts = lambda: [len(self.target.calls(f"/moving/{n}")) for n in range(JOBS)]
        before = counts()
        grown = lambda: all(now > then for now, then in zip(counts(), before))
        eventually(grown, True, f"every job fires {where}")
