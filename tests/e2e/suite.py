"""The conformance suite of stores, on the emulator's DynamoDB."""

import os
import re
import subprocess

from aws import Emulator, Failed
from start import ROOT, TOOLS

SECONDS = 900


def checks(folder):
    """Runs the suite, and yields one line with how many tests passed."""
    # The same selection of packages as that of `make test`, so that nothing is built anew.
    command = ["cargo", "test", "--workspace", "--locked", "--quiet", "--test", "conformance"]
    command += ["--", "dynamodb::"]
    with Emulator(folder, TOOLS, is_strict=False) as emulator:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "MINUTEHAND_DYNAMODB_ENDPOINT": emulator.url},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    if done.returncode != 0:
        raise Failed(f"the suite failed:\n{done.stdout}{done.stderr}")
    passed = sum(int(number) for number in re.findall(r"(\d+) passed", done.stdout))
    if passed < 100:
        raise Failed(f"the suite ran {passed} tests only:\n{done.stdout}")
    yield f"the store passes the suite of every store on the emulator's DynamoDB: {passed} tests"
