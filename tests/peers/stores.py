"""The stores of the peers: PostgreSQL and Redis, each started with an empty directory of its own."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from processes import Unavailable, free_port, run, start, stop, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))
import install

# What a production server has at least, and what three processes with a pool each need.
CONNECTIONS = 200


def postgres_folder():
    """Where Debian keeps the newest PostgreSQL; or the one in PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    on_path = shutil.which("postgres")
    if not found and not on_path:
        raise Unavailable("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent if found else Path(on_path).parent


def postgres_user():
    """PostgreSQL refuses to run as root: Debian's package makes a user for it."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise Unavailable("PostgreSQL refuses root, and there is no user postgres") from None


class Postgres:
    def __init__(self, folder, log, clock):
        programs, user = postgres_folder(), postgres_user()
        self.log, self.port = log, free_port()
        data = folder / "postgres"
        data.mkdir(mode=0o700)
        if user:
            shutil.chown(data, user, user)
        init = [programs / "initdb", "-D", data, "-U", "peer", "-A", "trust", "-E", "UTF8", "--no-sync"]
        run([*init, "--locale=C"], log, user=user)
        # Everything else is as it comes: each commit is on the disk before it is answered.
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": CONNECTIONS,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [programs / "postgres", "-D", data, *options]
        self.process = start(command, log, clock.environment, user, stdout=subprocess.DEVNULL)
        self.psql = [programs / "psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "peer", "postgres", "-qtA"]
        ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        try:
            wait_until("PostgreSQL", lambda: subprocess.run(ready).returncode == 0)
        except Unavailable:
            stop(self.process)
            raise
        self.url = f"postgres://peer@127.0.0.1:{self.port}/postgres"

    def ask(self, question):
        """The number that a query returns."""
        return int(run([*self.psql, "-c", question], self.log))

    def stop(self):
        # An orderly end waits for nobody's connection.
        self.process.send_signal(signal.SIGINT)
        stop(self.process)

    @staticmethod
    def version(log):
        return run([postgres_folder() / "postgres", "--version"], log).strip()


def redis():
    """The program that has both, and the environment that it needs; unpacked, so no service starts."""
    installed = shutil.which("redis-server")
    if installed:
        return Path(installed), {}
    roots = [install.debian(package) for package in ("redis-tools", "liblzf1", "libjemalloc2")]
    libraries = ":".join(str(path) for root in roots for path in root.glob("usr/lib/*-linux-gnu"))
    # Debian's redis-server is a link to it: its name says what it is.
    return roots[0] / "usr/bin/redis-check-rdb", {"LD_LIBRARY_PATH": libraries}


class Redis:
    def __init__(self, folder, log, _):
        # It has the system's clock: its allocator and libfaketime do not go together.
        program, environment = redis()
        self.log, self.port = log, free_port()
        data = folder / "redis"
        data.mkdir()
        # As BullMQ's page about production asks for: AOF, once a second, and no eviction.
        settings = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--dir", str(data)]
        settings += ["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"]
        self.process = start(
            ["redis-server", *settings], log, environment, executable=str(program), stdout=subprocess.DEVNULL
        )
        self.cli, self.environment = redis_cli()
        try:
            wait_until("Redis", self.is_ready)
        except Unavailable:
            stop(self.process)
            raise
        self.url = f"redis://127.0.0.1:{self.port}"

    def is_ready(self):
        try:
            return self.say("PING") == "PONG"
        except Unavailable:
            return False

    def say(self, *words):
        return run([self.cli, "-h", "127.0.0.1", "-p", str(self.port), *words], self.log, self.environment).strip()

    def stop(self):
        stop(self.process)

    @staticmethod
    def version(log):
        program, environment = redis()
        done = subprocess.run(
            ["redis-server", "--version"],
            executable=program,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        return " ".join(done.stdout.split()[:3])


def redis_cli():
    program, environment = redis()
    return shutil.which("redis-cli") or program.parent / "redis-cli", environment
