"""The queue on SQS and its dead letters, with ministack as AWS: the Rust tests that need one run against it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300


def test_messages_are_sent_and_dead_letters_listed_sent_again_and_deleted(setup):
    # The same selection of packages as that of `make test`, so that nothing is built anew.
    command = ["cargo", "test", "--workspace", "--locked", "--quiet", "--test", "sqs"]
    done = subprocess.run(
        [*command, "--", "--ignored", "emulator"],
        cwd=ROOT,
        env={**os.environ, "MINUTEHAND_SQS_ENDPOINT": setup["aws"]},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout, done.stdout
