"""`make`, as the commands of the runbooks call it: its target `deploy` takes packages that are built already.

The variables MADE_PROJECT and MADE_OPTIONS of the environment name the folder with the built template, and
what `smoke` needs beside, because an emulator is no public target.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def main(target, *given):
    values = dict(it.split("=", 1) for it in given)
    stack = values.get("STACK", "minutehand")
    if target != "deploy":
        options = values.get("OPTIONS", "")
        if target == "smoke":
            options += f" --url {address(stack)} {os.environ['MADE_OPTIONS']}"
        # Not this program again: the one of the system.
        return run("/usr/bin/make", "--silent", "-C", ROOT, target, f"STACK={stack}", f"OPTIONS={options}")
    # Two deployments within a second are two releases.
    release = f"Release=r{time.time_ns()}"
    return run(
        *["sam", "deploy", "--template-file", Path(os.environ["MADE_PROJECT"]) / "build" / "template.yaml"],
        *["--stack-name", stack, "--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--tags", "app=minutehand"],
        *["--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"],
        *["--parameter-overrides", release, *values.get("PARAMETERS", "").split()],
    )


def address(stack):
    """Where the emulator's gateway listens; on AWS the output Url says so."""
    import boto3

    endpoint = os.environ["AWS_ENDPOINT_URL"]
    found = boto3.client("cloudformation").describe_stack_resource(StackName=stack, LogicalResourceId="HttpApi")
    api = found["StackResourceDetail"]["PhysicalResourceId"]
    return f"http://{api}.execute-api.localhost:{endpoint.rsplit(':', 1)[1]}"


def run(*command):
    return subprocess.run([str(part) for part in command]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
