"""Sends requests that the API's description allows, and others, and checks every answer.

It fails if schemathesis fails, or if the requests covered too little: answers that are all 404 test
nothing. SCHEMATHESIS_SEED repeats a run, and SCHEMATHESIS_EXAMPLES changes the number of cases.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import stored

HERE = Path(__file__).resolve().parent
DESCRIPTION = HERE.parents[2] / "shared" / "rest" / "openapi.json"
CONFIGURATION = HERE / "schemathesis.toml"
CASES_MIN = 2_000
# The server runs no jobs, and few of them expect pings: what needs a failure, an open attempt, a key or one of
# those may be refused each time. Tests of the server ask for it.
REFUSED = (
    "/occurrences/{occurrence}/redrive",
    "/history/{historyName}/body",
    "/occurrences/{occurrence}/cancel",
    "/ping/{key}",
    "/ping/{key}/alive",
    "/ping/{key}/fail",
    "/ping/{key}/start",
    "/ping/{key}/log",
    "/ping/{key}/{exitStatus}",
    "/pingUrl",
    "/rotatePing",
)
# Its answers do not end: tests of the server read it.
STREAM = "/minutehand/v1/live"
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]


def main():
    seed = os.environ.get("SCHEMATHESIS_SEED") or str(random.SystemRandom().randrange(2**32))
    print(f"seed {seed}", flush=True)
    stored.store()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        passed = run_schemathesis(seed, folder, counts)
        answers = json.loads(counts.read_text())
    enough, summary = report(answers)
    print(f"{summary}, seed {seed}")
    sys.exit(0 if passed and enough else 1)


def run_schemathesis(seed, folder, counts):
    command = [
        *[Path(sys.executable).with_name("schemathesis"), "--config-file", CONFIGURATION],
        *["run", DESCRIPTION, "--exclude-path", STREAM],
        *["--url", stored.URL, "--header", f"Authorization: Bearer {stored.TOKEN}"],
        *["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing"],
        *["--seed", seed, "--max-examples", os.environ.get("SCHEMATHESIS_EXAMPLES", "60")],
        *["--generation-database", "none", "--warnings", "off", "--no-color"],
        # Slow answers are not what this suite looks for.
        *["--suppress-health-check", "all", "--continue-on-failure"],
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "SCHEMATHESIS_HOOKS": "hooks",
        "MINUTEHAND_COUNTS": str(counts),
    }
    # The temporary working directory keeps no state for the next run.
    return subprocess.run(map(str, command), cwd=folder, env=environment).returncode == 0


def report(answers):
    """Prints the number of cases and successes of each operation. Returns whether they suffice."""
    cases, good = Counter(), Counter()
    for operation, status, count in answers:
        cases[operation] += count
        good[operation] += count if status < 300 else 0
    for operation, count in sorted(cases.items()):
        print(f"{count:6} cases, {good[operation]:5} answered 2xx: {operation}")
    n_cases, n_good = cases.total(), good.total()
    summary = f"{n_cases} cases of {len(cases)} operations, {n_good / n_cases:.0%} answered 2xx"
    description = json.loads(DESCRIPTION.read_text())
    n_operations = sum(len(of) for path, of in description["paths"].items() if path != STREAM)
    lacking = [
        operation
        for operation in cases
        if good[operation] == 0 and not operation.endswith(REFUSED)
    ]
    for operation in lacking:
        print(f"no answer of 2xx: {operation}")
    return n_cases >= CASES_MIN and len(cases) == n_operations and not lacking, summary


main()
