"""The real parts that actions deliver to, each a process of its own on a free port of this machine,
ready as soon as it is entered and gone when it is left."""

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
# Where Erlang registers names unless it is told otherwise.
NAMES_PORT = 4369


class Part:
    """A process that listens on a port."""

    def __init__(self, log):
        self.log = Path(log)
        self.folder = Path(tempfile.mkdtemp(prefix="minutehand-part-"))
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
        """Starts it, and waits until it answers."""
        command, environment = self.command()
        with open(self.log, "a") as log:
            # In a group of its own, which ends as a whole.
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
                raise RuntimeError(f"it ended with {self.process.returncode}: {self.log}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"it was not ready within {READY_SECONDS} s: {self.log}")
            time.sleep(0.05)

    def stop(self):
        """Ends it, and whatever it started."""
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


class Azurite(Part):
    """Microsoft's emulator of Storage, of which the queues."""

    def command(self):
        main = self.modules / "azurite" / "dist" / "src" / "queue" / "main.js"
        place = ["--queueHost", "127.0.0.1", "--queuePort", self.port]
        quiet = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
        return ["node", main, *place, *quiet], {}

    def __init__(self, log, modules):
        super().__init__(log)
        self.modules = modules


class Ministack(Part):
    """A local AWS."""

    def __init__(self, log, python):
        super().__init__(log)
        self.python = Path(python)

    def command(self):
        return [self.python.parent / "ministack"], {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            # Functions are told.
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "IOT_MTLS_ENABLED": "0",
        }


class Broker(Part):
    """RabbitMQ with AMQP 1.0, plain and over TLS."""

    KEY_NAME, KEY = "RootManageSharedAccessKey", "Planted-Key-7+/="

    def __init__(self, log, certificate, key):
        super().__init__(log)
        self.tls_port, self.dist_port, self.names_port = free_port(), free_port(), free_port()
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
            # Its cookie.
            "HOME": str(folder),
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(self.dist_port),
            "ERL_EPMD_PORT": str(self.names_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def is_ready(self):
        return answers(self.tls_port) and answers(self.port)

    def stop(self):
        super().stop()
        # The register of names outlives it, in a session of its own.
        for pid in listeners(self.names_port):
            os.kill(pid, signal.SIGTERM)

    def peers(self):
        """Who is connected to it: the ports at the other ends."""
        open_now = "01"
        fields = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ends = [(field[1], field[2]) for field in fields if field[3] == open_now]
        ports = [tuple(int(end.rsplit(":", 1)[1], 16) for end in pair) for pair in ends]
        return {there for here, there in ports if here == self.port}


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listeners(port):
    """The processes that listen on a port, as Linux tells."""
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
    """Sees to it that there is a broker; why there is none, if there is none."""
    if BROKER.exists():
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "RabbitMQ is not installed, and comes by apt-get, as root"
    print("installing rabbitmq-server", flush=True)
    others = listeners(NAMES_PORT)
    # Only the program is wanted: no service is to be started.
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
    # What asks whether it runs leaves a register of names, which everybody could reach.
    for pid in listeners(NAMES_PORT) - others:
        os.kill(pid, signal.SIGTERM)
    return None if BROKER.exists() else f"there is no {BROKER} after its installation"
