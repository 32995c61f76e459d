"""`make deploy-cdk` into an account that `cdk bootstrap` has prepared."""

import hashlib
import secrets
import subprocess

from api import Api
from aws import REGION, Emulator, Failed, Stack
from scenario import COLLECTIONS, equal
from start import ROOT, TOOLS

APP = ROOT / "infra" / "cdk"


def checks(folder):
    """Deploys twice, and yields one line per result."""
    # npm reads its settings in the user's home, which is not that of the emulator's environment.
    if subprocess.run([APP / "install"], stdin=subprocess.DEVNULL).returncode != 0:
        raise Failed("the packages of the CDK app could not be installed")
    token = secrets.token_hex(16)
    with Emulator(folder, TOOLS, is_strict=False) as emulator:
        emulator.run("npx", "cdk", "bootstrap", f"aws://000000000000/{REGION}", cwd=APP)
        stack = Stack(emulator, folder, make=("make", "deploy-cdk"))
        stack.deploy(TokenHashes=hashlib.sha256(token.encode()).hexdigest())
        stack.check_is_protected()
        equal(Api(stack.url, token).call("GET", COLLECTIONS)[0], 200, "the API of the CDK's stack")
        first = live(stack)
        yield "the stack answers, and an update cannot replace the table or the key"

        stack.deploy(HistoryDays="7")
        equal(Api(stack.url, token).call("GET", COLLECTIONS)[0], 200, "the API after the second deployment")
        equal(live(stack), first + 1, "the version after the second deployment")
        yield "another deployment keeps the token, and publishes another version"


def live(stack):
    described = stack.emulator.client("lambda").get_alias(FunctionName=stack.physical("ApiFunction"), Name="live")
    return int(described["FunctionVersion"])
