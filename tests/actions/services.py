"""The services that actions send to. Each is a process on a free port of this machine.

A service is a context manager: it is ready when the context is entered, and ends with the context.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import install
from server import free_port

READY_SECONDS = 60
STOP_SECONDS = 20
BROKER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
# The default port of Erlang's port mapper.
EPMD_PORT = 4369


class Service:
    """A process that listens on a port."""

    def __init__(self, log):
        self.log = Path(log)
        self.folder = Path(tempfile.mkdtemp(prefix="minutehand-service-"))
        self.port = free_port()
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        """Starts the process, and waits until it answers."""
        command, environment = self.command()
        with open(self.log, "a") as log:
            # A session of its own, so that the whole process group can be ended.
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        deadline = time.monotonic() + READY_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"the service ended with {self.process.returncode}: {self.log}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"the service was not ready within {READY_SECONDS} s: {self.log}")
            time.sleep(0.05)

    def stop(self):
        """Ends the process group."""
        if self.process is None:
            return
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(STOP_SECONDS)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self.process = None

    def is_ready(self):
        return answers(self.port)


class Azurite(Service):
    """Azurite, Microsoft's emulator of Storage: its queue service."""

    def command(self):
        main = self.modules / "azurite" / "dist" / "src" / "queue" / "main.js"
        address = ["--queueHost", "127.0.0.1", "--queuePort", self.port]
        options = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
        return ["node", main, *address, *options], {}

    def __init__(self, log, modules):
        super().__init__(log)
        self.modules = modules


class Ministack(Service):
    """Ministack, an emulator of AWS."""

    def __init__(self, log, python):
        super().__init__(log)
        self.python = Path(python)

    def command(self):
        return [self.python.parent / "ministack"], {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            # Functions get this address of the emulator.
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "IOT_MTLS_ENABLED": "0",
        }


class Broker(Service):
    """RabbitMQ with AMQP 1.0, with TLS and without."""

    KEY_NAME, KEY = "RootManageSharedAccessKey", "Planted-Key-7+/="

    def __init__(self, log, certificate, key):
        super().__init__(log)
        self.tls_port, self.dist_port, self.epmd_port = free_port(), free_port(), free_port()
        self.name = f"minutehand{self.port}@localhost"
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}\n"
            f"ssl_options.certfile = {certificate}\n"
            f"ssl_options.keyfile = {key}\n"
            f"default_user = {self.KEY_NAME}\n"
            f"default_pass = {self.KEY}\n"
            "loopback_users = none\n"
        )
        (self.folder / "enabled_plugins").write_text("[rabbitmq_amqp1_0].\n")

    def command(self):
        folder = self.folder
        return [BROKER], {
            # Erlang writes its cookie into this folder.
            "HOME": str(folder),
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(self.dist_port),
            "ERL_EPMD_PORT": str(self.epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def is_ready(self):
        return answers(self.tls_port) and answers(self.port)

    def stop(self):
        super().stop()
        # The port mapper is not in the process group, and would go on running.
        for pid in listeners(self.epmd_port):
            os.kill(pid, signal.SIGTERM)

    def peers(self):
        """The remote ports of the open connections to the broker."""
        established = "01"
        fields = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ends = [(field[1], field[2]) for field in fields if field[3] == established]
        ports = [tuple(int(end.rsplit(":", 1)[1], 16) for end in pair) for pair in ends]
        return {remote for local, remote in ports if local == self.port}


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listeners(port):
    """The ids of the processes that listen on a port, from Linux's /proc."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) in sockets:
                found.add(int(link.parts[2]))
        except OSError:
            continue
    return found


def install_broker():
    """Installs RabbitMQ if it is missing. Returns the reason if that is impossible, else `None`."""
    if BROKER.exists():
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "RabbitMQ is not installed; installing it needs apt-get and root"
    print("installing rabbitmq-server", flush=True)
    others = listeners(EPMD_PORT)
    # The package must not start a service; the tests start the program.
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    package = ["apt-get", "install", "-qq", "--no-install-recommends", "rabbitmq-server"]
    for command in (["apt-get", "update", "-qq"], package):
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=quiet
        )
        if done.returncode != 0:
            raise install.Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    for command in (
        ["systemctl", "disable", "--now", "rabbitmq-server"],
        ["service", "rabbitmq-server", "stop"],
    ):
        if shutil.which(command[0]):
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    # The status check of the package starts a port mapper that listens on all interfaces.
    for pid in listeners(EPMD_PORT) - others:
        os.kill(pid, signal.SIGTERM)
    return None if BROKER.exists() else f"{BROKER} does not exist after the installation"
