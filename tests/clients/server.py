"""Runs `minutehand serve` on a free port of this machine."""

import os
import re
import secrets
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

# The tests compute the next executions from this time.
CLOCK_START = "2027-01-01T00:00:00Z"
READY_SECONDS = 60
STOP_SECONDS = 15


# Arguments for tests of the API: no job runs, and jobs of every type are accepted.
API_ALONE = [
    *["--roles", "api", "--clock-start", CLOCK_START],
    *["--plan-limits", "on"],
    *["--aws-endpoint", "http://127.0.0.1:9"],
]


class Server:
    """A server as a context manager: it is ready when the context is entered, and ends with it."""

    def __init__(self, binary, log, tls=False, arguments=API_ALONE, environment=None):
        self.log = Path(log)
        self.own_environment = {**os.environ, **(environment or {})}
        self.token = secrets.token_hex(16)
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"{'https' if tls else 'http'}://{self.address}"
        self.folder = tempfile.TemporaryDirectory(prefix="minutehand-")
        data = str(Path(self.folder.name) / "data")
        self.tls = tls
        self.command = [
            *[str(binary), "serve", "--listen", self.address, "--token", self.token],
            *arguments,
            # The clients test both stores: one on a file, and one in memory.
            *(["--data", data, "--tls-self-signed"] if tls else ["--memory"]),
        ]

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder.name,
                env=self.own_environment,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"the server did not end within {STOP_SECONDS} s") from None
        finally:
            self.folder.cleanup()

    @property
    def environment(self):
        """The environment variables for a suite."""
        variables = {"MINUTEHAND_URL": self.url, "MINUTEHAND_TOKEN": self.token}
        if self.tls:
            certificate = self._certificate()
            # The second one is for programs on Node that name no authorities of their own.
            variables |= {"MINUTEHAND_CERT": certificate, "NODE_EXTRA_CA_CERTS": certificate}
        return variables

    def _certificate(self):
        """The path of the server's certificate, from its output."""
        found = re.search(r"\S*cert\S*\.pem", self.log.read_text())
        if not found:
            raise RuntimeError(f"the server names no certificate: {self.log}")
        return str(Path(self.folder.name) / found[0])

    def _wait_until_ready(self):
        # The clients verify the certificate; this only waits.
        context = ssl._create_unverified_context() if self.tls else None
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"the server ended with {self.process.returncode}:\n{self.log.read_text()}"
                )
            try:
                urllib.request.urlopen(f"{self.url}/healthz", timeout=5, context=context).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise RuntimeError(f"the server was not ready within {READY_SECONDS} s: {self.log}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
