"""An AWS emulator on this machine, and the stack on it.

If the emulator is strict, it checks every request against the caller's role, so the functions have
exactly the permissions of the template. It ignores conditions on the keys of items; the tests of the
template in tests/it check those.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from start import HERE, ROOT

REGION = "us-east-1"
# The emulator does not place functions in a network, so the names of its parts can be any.
PRIVATE = {
    "Targets": "private",
    "SubnetIds": "subnet-0123456789abcdef0",
    "SecurityGroupIds": "sg-0123456789abcdef0",
}
# A copy of the template for the emulator; the packages of `make build` are where it looks for them.
TEMPLATE = ROOT / "target" / "emulated.yaml"
# The choices of `make deploy` on this machine.
CHOICES = {
    "ARCHITECTURE": "x86_64",
    "BUILD_PROFILE": "e2e",
    "BUILT": os.environ.get("BUILT", ""),
    "TEMPLATE": str(TEMPLATE),
}
READY_SECONDS = 60
STOP_SECONDS = 20
COMMAND_SECONDS = 900


class Failed(Exception):
    """A step failed; the message contains its output."""


class Emulator:
    """An emulator that runs while it is entered. Leaving it stops it and the functions.

    If it is strict, it enforces the permissions of roles; otherwise it allows everything. If it is slow, it
    takes its time where AWS does.
    """

    def __init__(self, folder, tools, is_strict=True, is_slow=False):
        self.folder, self.tools, self.is_strict = folder, tools, is_strict
        self.is_slow = is_slow
        self.log = folder / "emulator.log"

    def __enter__(self):
        for name in ["home", "tmp"]:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir(parents=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # A clean environment, without the user's accounts and settings.
        self.environment = {
            "PATH": f"{self.tools}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "SAM_CLI_TELEMETRY": "0",
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_NOTICES": "false",
            "NPM_CONFIG_UPDATE_NOTIFIER": "false",
            **toolchain(),
            **CHOICES,
            "SAM_BUILD": str(self.folder / "sam"),
        }
        settings = {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "AUTH": "true" if self.is_strict else "false",
            "EMULATOR_IS_SLOW": "true" if self.is_slow else "false",
            # Without this it would listen on the network, too.
            "IOT_MTLS_ENABLED": "0",
        }
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(self.tools / "python"), str(HERE / "emulated.py")],
                cwd=self.folder,
                env={**self.environment, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # The functions run in its process group, so they can be stopped together.
                start_new_session=True,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        _signal_group(self.process.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        # The group exists until its last process is gone; `poll` reaps the emulator itself.
        while _is_group(self.process.pid) and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.05)
        _signal_group(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def client(self, service, region=REGION):
        """An SDK client with all permissions."""
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=region,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=60),
        )

    def sign(self, method, url):
        """Returns the headers that sign a request to an API."""
        request = AWSRequest(method, url)
        credentials = Credentials(access_key="test", secret_key="test")
        SigV4Auth(credentials, "execute-api", REGION).add_auth(request)
        return dict(request.headers)

    def run(self, *command, cwd):
        """Runs a command against the emulator and returns its output."""
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
        )
        printed = done.stdout + done.stderr
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}\n{printed}")
        return printed

    def _wait_until_ready(self):
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise Failed(f"the emulator ended:\n{self.log.read_text()}")
            try:
                urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise Failed(f"the emulator was not ready within {READY_SECONDS} s: {self.log}")


def build(emulator):
    """Builds the packages, so that `make deploy` finds them built, and writes the emulator's template.

    Another process may do the same meanwhile, or read what is there: files are replaced as a whole.
    """
    done = subprocess.run(["make", "build"], cwd=ROOT, env=emulator.environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed("the functions could not be built")
    template = (ROOT / "infra" / "template.yaml").read_text()
    # The emulator has no TLS, and the policies refuse requests without it.
    plain, removed = re.subn(r"  (?:Queue|Archive)Transport:\n(?:    .*\n)+\n", "", template)
    if removed != 2:
        raise Failed("the template has no QueueTransport or ArchiveTransport: correct how they are left out here")
    # Nobody waits for five minutes.
    plain, hurried = re.subn("MaximumBatchingWindowInSeconds: 300", "MaximumBatchingWindowInSeconds: 1", plain)
    if hurried != 1:
        raise Failed("the archiver has no window of 300 s: correct how it is shortened here")
    written = TEMPLATE.with_suffix(f".{os.getpid()}")
    written.write_text(plain)
    written.replace(TEMPLATE)


class Stack:
    """The deployed stack."""

    NAME = "minutehand"

    def __init__(self, emulator, project, make=("make", "deploy")):
        self.emulator, self.project, self.make = emulator, project, make

    def deploy(self, **parameters):
        """Deploys or updates the stack, and reads its outputs."""
        given = " ".join(f"{name}={value}" for name, value in parameters.items())
        said = self.emulator.run(*self.make, f"STACK={self.NAME}", f"PARAMETERS={given}", cwd=ROOT)
        if "warning: nobody is told of alarms" not in said:
            raise Failed(f"a deployment does not warn that nobody is told of its alarms:\n{said}")
        described = self.emulator.client("cloudformation").describe_stacks(StackName=self.NAME)
        outputs = described["Stacks"][0]["Outputs"]
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in outputs}
        # On AWS this is https://ID.execute-api.REGION.amazonaws.com.
        api = self.outputs["Url"].split("//")[1].split(".")[0]
        self.url = f"http://{api}.execute-api.localhost:{self.emulator.port}"
        return self

    def allow_what_only_aws_allows(self):
        """Adds permissions that the template gives on AWS, but that the emulator does not recognise.

        The emulator does not evaluate conditions on encryption contexts, so such statements never
        match. It also checks a batch request as an action of its own, where AWS checks the action of
        the single request.
        """
        key, queue = self.outputs["KeyArn"], self.queue_arn()
        send = (queue, ["sqs:SendMessageBatch"])
        for role, allowed in {
            "ApiRole": [(key, ["kms:GenerateDataKey", "kms:Decrypt"]), send],
            "SweeperRole": [send],
            "ArchiverRole": [(key, ["kms:GenerateDataKey", "kms:Decrypt"])],
            "ExecutorRole": [(key, ["kms:GenerateDataKey", "kms:Decrypt"]), send, (queue, ["sqs:ChangeMessageVisibilityBatch"])],
        }.items():
            allow = [
                {"Effect": "Allow", "Action": actions, "Resource": resource}
                for resource, actions in allowed
            ]
            self.put_policy(role, "emulator", allow)

    def check_is_protected(self):
        """Fails if an update may replace the table or the key, as before `infra/tools/protect`."""
        client = self.emulator.client("cloudformation")
        policy = client.get_stack_policy(StackName=self.NAME).get("StackPolicyBody", '{"Statement": []}')
        denied = [it["Action"] for it in json.loads(policy)["Statement"] if it["Effect"] == "Deny"]
        if denied != ["Update:Replace"]:
            raise Failed(f"the stack is not protected: {policy}")

    def put_policy(self, role, name, statements):
        """Adds a policy to a role."""
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self.emulator.client("iam").put_role_policy(
            RoleName=self.physical(role), PolicyName=name, PolicyDocument=document
        )

    def delete_policy(self, role, name):
        self.emulator.client("iam").delete_role_policy(RoleName=self.physical(role), PolicyName=name)

    def queue_arn(self):
        attributes = self.emulator.client("sqs").get_queue_attributes(
            QueueUrl=self.outputs["QueueUrl"], AttributeNames=["QueueArn"]
        )
        return attributes["Attributes"]["QueueArn"]

    def save_logs(self):
        """Saves the logs of the functions, to find the reason of a failure."""
        client = self.emulator.client("logs")
        for logical in ["ApiLog", "SweeperLog", "ExecutorLog", "ArchiverLog", "AccessLog"]:
            groups = client.get_paginator("filter_log_events")
            pages = groups.paginate(logGroupName=self.physical(logical))
            lines = [event["message"].rstrip() for page in pages for event in page["events"]]
            (self.project / f"{logical}.log").write_text("\n".join(lines) + "\n")

    def physical(self, logical):
        """The physical name of a resource."""
        client = self.emulator.client("cloudformation")
        described = client.describe_stack_resource(StackName=self.NAME, LogicalResourceId=logical)
        return described["StackResourceDetail"]["PhysicalResourceId"]

    def pause(self):
        """Stops the schedule of the sweeper and the deliveries to the executor."""
        self.emulator.client("events").disable_rule(Name=self.physical("Tick"))
        mapping = self.physical("Deliveries")
        self.emulator.client("lambda").update_event_source_mapping(UUID=mapping, Enabled=False)


def toolchain():
    """The folders of the toolchain and its caches, which are below the user's home by default."""
    folders = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "XDG_CACHE_HOME": ".cache"}
    found = {name: str(Path.home() / folder) for name, folder in folders.items()}
    names = [*folders, "CARGO_TARGET_DIR"]
    return found | {name: os.environ[name] for name in names if name in os.environ}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _signal_group(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def _is_group(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False
