"""Moves a collection from the deployed stack into `serve`, and back, while its jobs fire."""

import base64
import json
import os
import re
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
# The removal of a deleted collection takes a pass or two of the sweeper.
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
        self.bucket = f"s3://{stack.outputs['ArchiveBucketName']}"

    def asks(self, event, may_fail=None):
        """The answer of the archiver; `None` if it failed for this reason."""
        client = self.stack.emulator.client("lambda")
        name = self.stack.outputs["ArchiverFunctionName"]
        answer = client.invoke(FunctionName=name, Payload=json.dumps(event))
        said = json.loads(answer["Payload"].read())
        if may_fail is not None and may_fail in said.get("errorMessage", ""):
            return None
        assert "FunctionError" not in answer, said
        return said

    def sweep(self):
        """Makes a pass at once, in place of the next tick."""
        client = self.stack.emulator.client("lambda")
        answer = client.invoke(FunctionName=self.stack.outputs["SweeperFunctionName"], Payload="{}")
        assert "FunctionError" not in answer, answer["Payload"].read()

    def sealed(self, file):
        """The key of a file, as only the stack can read it."""
        encrypted = self.stack.emulator.client("kms").encrypt(
            KeyId=self.stack.outputs["KeyArn"],
            Plaintext=file.read_bytes(),
            EncryptionContext={"minutehand": "secrets"},
        )
        return base64.b64encode(encrypted["CiphertextBlob"]).decode()

    def run(self, *words, data):
        command = [str(word) for word in [self.binary, "installation", *words, "--data", data]]
        done = subprocess.run(
            command,
            env={**environment(), **self.stack.emulator.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def serve(self):
        server = Server(self.binary, self.folder / "serve.log")
        server.command[server.command.index("--token") + 2 :] = ["--data", str(self.data)]
        return server


def checks(stack, token, folder):
    mover = Mover(stack, folder)
    with Target() as target:
        at_stack = Api(stack.url, token).collection("moving")
        at_stack.create()
        first = in_seconds(5)
        for n in range(JOBS):
            basic = {"type": "Basic", "username": "reports", "password": SECRET}
            request = {"method": "GET", "uri": f"{target.url}/moving/{n}", "authentication": basic}
            at_stack.put(
                f"j{n}",
                startTime=text(first + timedelta(seconds=n)),
                recurrence={"frequency": "minute"},
                action={"type": "Http", "request": request},
            )
        watched = Watched(target)
        watched.all_fire("at the stack")
        switch(at_stack, "disable")
        end_of_actions(watched)
        before = watched.calls()

        there = mover.folder / "there.key"
        there.touch(mode=0o600)
        there.write_text(secrets.token_hex(32))
        said = mover.asks({"export": {"key": mover.sealed(there)}})
        on = [path for path in said["on"]["names"] if path.endswith("/moving")]
        equal((said["unreadable"], on), (0, []), "what is unreadable, and what is on")
        yield f"the stack exports {said['jobs']} jobs"
        one = ["--backup", said["backup"], "--unseal-with", there]
        mover.run("import", mover.bucket, *one, data=mover.data)
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
        back = mover.folder / "back.key"
        said = mover.run("export", mover.bucket, "--seal-to", back, data=mover.data)
        [name] = re.findall(r" as backup/(\S+)", said)
        event = {"import": {"backup": name, "merge": True, "key": mover.sealed(back)}}
        until = time.monotonic() + REMOVAL_SECONDS
        while mover.asks(event, "still being removed") is None:
            assert time.monotonic() < until, f"the jobs were not removed within {REMOVAL_SECONDS} s"
            mover.sweep()
            time.sleep(1)
        switch(at_stack, "enable")
        mover.sweep()
        watched.all_fire("at the stack again")
        switch(at_stack, "disable")
        twice = [it for it, times in watched.occurrences().items() if times > 1]
        equal(twice, [], "occurrences that fired twice")
        yield f"they go back into the stack; none of {watched.calls()} occurrences fired twice"


def switch(collection, how):
    collection._ok("POST", f"/{how}")


def end_of_actions(watched):
    """Waits until nothing comes any more from a collection that is off."""
    quiet = -1
    while watched.calls() > quiet:
        quiet = watched.calls()
        time.sleep(3)


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
