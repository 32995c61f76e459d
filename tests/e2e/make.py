"""`make`, as the commands of the runbooks call it: `smoke` and `gameday` get the address of the emulator's gateway.

A deployment builds nothing: the packages are there. MADE_TOOLS has `sam`, which validates and builds once only.

The variable MADE_OPTIONS of the environment has what else they need, because an emulator is not a public target.
"""

import os
import sys

from start import ROOT


def main(target, *given):
    if target in ["smoke", "gameday"]:
        values = dict(it.split("=", 1) for it in given)
        options = f"--url {address(values.get('STACK', 'minutehand'))} {os.environ['MADE_OPTIONS']}"
        given = [*given, f"OPTIONS={values.get('OPTIONS', '')} {options}"]
    if target == "deploy":
        given = ["--old-file=build", f"TOOLS={os.environ['MADE_TOOLS']}", *given]
    # Not this program again: the one of the system.
    os.execv("/usr/bin/make", ["make", "--silent", "-C", str(ROOT), target, *given])


def address(stack):
    """Where the emulator's gateway listens; on AWS the output Url says so."""
    import boto3

    endpoint = os.environ["AWS_ENDPOINT_URL"]
    found = boto3.client("cloudformation").describe_stack_resource(StackName=stack, LogicalResourceId="HttpApi")
    api = found["StackResourceDetail"]["PhysicalResourceId"]
    return f"http://{api}.execute-api.localhost:{endpoint.rsplit(':', 1)[1]}"


if __name__ == "__main__":
    main(*sys.argv[1:])
