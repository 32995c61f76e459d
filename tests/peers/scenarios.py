"""The scenarios: each gives a peer its jobs, lets it work, and returns a row."""

import json
import shutil
import tempfile
import time
import traceback
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import judge
from processes import Clock, Meter, Unavailable

ZONE = "America/New_York"
MINUTELY = "* * * * *"
# A change of a summer time: when it is, and rules of which one is about a time that does not exist, or
# exists twice, named as jobs may be. Each rule that may fire does so within two minutes of the change.
CHANGES = {
    "spring": (datetime(2027, 3, 14, 7, tzinfo=timezone.utc), {"02.01": "1 2 * * *", "03.01": "1 3 * * *"}),
    "autumn": (datetime(2027, 11, 7, 6, tzinfo=timezone.utc), {"01.59": "59 1 * * *", "01.01": "1 1 * * *"}),
}
# The clock of a change starts so long before it, and the minutes that count are those around it.
BEFORE_CHANGE, COUNTED = 120, (-60, 0, 60, 120)
# How long before its end the last of these minutes is looked at.
LAST_MINUTE = 58
# What arrives again does so a moment after the last of all.
SETTLE_SECONDS = 3
# Until the first job is due there is time to add so many a second, and to start the workers.
ADDED_PER_SECOND, LEAD_SECONDS = 400, 15
# What the workers have to themselves before the first job is due.
QUIET_SECONDS = 2
# The target answers so late in the scenario with a crash, so that calls are under way at it.
SLOW_MS = 250
DOWN_SECONDS = 2


@dataclass(frozen=True)
class Sizes:
    """How much of each scenario is played."""

    instant: int = 10_000
    steady_seconds: int = 120
    per_second: int = 20
    kill_seconds: int = 60
    # How long to wait after the last job is due: for all, and for what a crash has left.
    patience: int = 60
    kill_patience: int = 90


SHORT = replace(Sizes(), instant=1_000, steady_seconds=20, kill_seconds=20, patience=30)


@dataclass
class Place:
    """Where a peer runs: a folder, a log, the clock, and its plan."""

    tools: object
    folder: Path
    log: Path
    clock: Clock
    key: str

    @property
    def plan(self):
        return self.folder / "plan.json"


@dataclass
class Row:
    peer: object
    scenario: str
    verdict: judge.Verdict = None
    processor: tuple = ()
    memory: tuple = ()
    note: str = ""


class Target:
    """The server that all peers call, and the calls that it has had."""

    def __init__(self, address):
        self.address, self.runs, self.calls = address, 0, {}

    def new_run(self):
        self.runs += 1
        self.calls[str(self.runs)] = []
        return str(self.runs)

    def take(self):
        with urllib.request.urlopen(f"http://{self.address}/", timeout=30) as answer:
            for line in answer.read().decode().splitlines():
                run, job, micros = line.split()
                # A call of a run that is over is nobody's.
                self.calls.get(run, []).append((job, int(micros) / 1e6))

    def wait(self, run, due, until, whole):
        """The calls of a run, when all jobs were called or at `until`; if `whole`, then in any case."""
        while time.time() < until:
            time.sleep(1)
            self.take()
            if not whole and due.keys() <= {name for name, _ in self.calls[run]}:
                time.sleep(SETTLE_SECONDS)
                break
        self.take()
        return self.calls.pop(run)


class Stage:
    """What every scenario needs: the tools, the target, and places for peers."""

    def __init__(self, tools, target, folder, logs, key, options):
        self.tools, self.target, self.folder, self.logs = tools, target, folder, logs
        self.key, self.together = key, options.together
        self.sizes = SHORT if options.short else Sizes()

    @contextmanager
    def place(self, peer, scenario, faked=False, offset=0.0):
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o755)
        log = self.logs / f"{peer.name} {scenario}.log".replace(", ", "-").replace(" ", "-")
        log.write_text("")
        clock = Clock(self.tools.faketime, folder / "clock", offset) if faked else Clock()
        try:
            yield Place(self.tools, folder, log, clock, self.key)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def plan(self, run, due, slow_ms=0):
        jobs = [(name, round(at * 1000)) for name, at in due.items()]
        suffix = f"/{slow_ms}" if slow_ms else ""
        return {"target": f"http://{self.target.address}/{run}", "suffix": suffix, "jobs": jobs}


def first_due(jobs):
    return float(int(time.time() + LEAD_SECONDS + jobs / ADDED_PER_SECOND) + 1)


def prepare(running, plan, first):
    """Adds the jobs, and starts the workers, before the first job is due."""
    running.add(plan)
    running.work()
    left = first - QUIET_SECONDS - time.time()
    if left < 0:
        raise Unavailable(f"its jobs were added too slowly: {-left:.0f} s too late for the first one")
    time.sleep(left)


def play(stage, peer, scenario, own, real, patience, faked=False, slow_ms=0, meanwhile=None):
    """A scenario of one-time jobs: `own` is when each is due by the peer's clock, `real` by the target's."""
    run = stage.target.new_run()
    first, last = min(real.values()), max(real.values())
    with stage.place(peer, scenario, faked) as place, peer.open(place) as running:
        prepare(running, stage.plan(run, own, slow_ms), first)
        with Meter(running) as meter:
            if meanwhile:
                meanwhile(running)
            arrivals = stage.target.wait(run, real, last + patience, whole=bool(meanwhile))
        verdict = judge.judge(real, arrivals, running.left() if len(arrivals) < len(real) else None)
    return Row(peer, scenario, verdict, meter.processor, meter.memory, peer.promises.get(scenario, ""))


def instant(stage, peer):
    """Many jobs that are due at one instant."""
    n = stage.sizes.instant
    due = judge.burst(first_due(n), n)
    return play(stage, peer, "instant", due, due, stage.sizes.patience)


def steady(stage, peer):
    """Some jobs a second, one after the other."""
    seconds, per_second = stage.sizes.steady_seconds, stage.sizes.per_second
    due = judge.steady(first_due(seconds * per_second), seconds, per_second)
    return play(stage, peer, "steady", due, due, stage.sizes.patience)


def kill(stage, peer):
    """A worker is killed in the middle, and started again."""
    seconds, per_second = stage.sizes.kill_seconds, stage.sizes.per_second
    first = first_due(seconds * per_second)
    due = judge.steady(first, seconds, per_second)

    def crash(running):
        time.sleep(max(0, first + seconds / 2 - time.time()))
        running.kill()
        time.sleep(DOWN_SECONDS)
        running.restart()

    return play(stage, peer, "kill", due, due, stage.sizes.kill_patience, slow_ms=SLOW_MS, meanwhile=crash)


def shift(stage, peer):
    """The clock of the peer and of its store is put forward by an hour."""
    first = first_due(3 * judge.SHIFT_JOBS)
    own, real = judge.shifted(first)

    def move(running):
        time.sleep(max(0, first + judge.SHIFT_AFTER - time.time()))
        running.place.clock.move(judge.HOUR)

    return play(stage, peer, "shift", own, real, stage.sizes.patience, faked=True, meanwhile=move)


def summer_of(stage, peer, change):
    """A minutely job and two daily ones while a summer time begins or ends."""
    if not peer.zones:
        return Row(peer, change, note=f"not played: {peer.promises.get('summer', 'it knows no zones')}")
    at, daily = CHANGES[change]
    at = at.timestamp()
    run = stage.target.new_run()
    offset = at - BEFORE_CHANGE - time.time()
    with stage.place(peer, change, True, offset) as place, peer.open(place) as running:
        rules = [("minutely", MINUTELY), *daily.items()]
        # They have been there for a day: some schedulers perform a new job at once.
        start = round((at - 24 * judge.HOUR) * 1000)
        running.add({**stage.plan(run, {}), "zone": ZONE, "rules": rules, "start": start})
        running.work()
        if time.time() + offset > at + COUNTED[0]:
            raise Unavailable("it started too slowly for the minutes before the change")
        with Meter(running) as meter:
            time.sleep(max(0, at + COUNTED[-1] + LAST_MINUTE - offset - time.time()))
            stage.target.take()
        arrivals = judge.by_name((name, real + offset) for name, real in stage.target.calls.pop(run))
    verdict = judge.summer([at + seconds for seconds in COUNTED], arrivals.get("minutely", []))
    # When the daily jobs fired, on the wall of the zone.
    fired = "; ".join(f"{name.replace('.', ':')}: {said(arrivals.get(name, []), at, change)}" for name in daily)
    note = "; ".join(filter(None, [fired, peer.promises.get("summer")]))
    return Row(peer, change, verdict, meter.processor, meter.memory, note)


def said(instants, change_at, change):
    """Instants as the clock on the wall shows them, before the change or after it."""
    hours = {"spring": (-5, -4), "autumn": (-4, -5)}[change]

    def wall(at):
        is_after = at >= change_at
        shown = datetime.fromtimestamp(at + hours[is_after] * judge.HOUR, timezone.utc)
        return f"{shown:%H:%M} {'after' if is_after else 'before'}"

    return ", ".join(map(wall, instants)) or "not"


def guarded(stage, peer, scenario, play_it, *arguments):
    """A row, or why there is none: what goes wrong with one peer is no reason to lose the rows of the others."""
    try:
        return play_it(stage, peer, *arguments)
    except Unavailable as error:
        return Row(peer, scenario, note=f"not available: {error}")
    except Exception as error:
        traceback.print_exc()
        return Row(peer, scenario, note=f"the harness failed: {error!r}")


def rows(stage, peers, scenario, together, play_it, *arguments):
    """The rows of a scenario, of one peer after the other or of all at once."""
    with ThreadPoolExecutor(len(peers) if together else 1) as pool:
        yield from pool.map(lambda peer: guarded(stage, peer, scenario, play_it, *arguments), peers)


def alone(play_it):
    return lambda stage, peers: rows(stage, peers, play_it.__name__, stage.together, play_it)


def summer(stage, peers):
    """Both changes, for all peers at once: what counts is which minutes fire, not how fast."""
    for change in CHANGES:
        yield from rows(stage, peers, change, True, summer_of, change)


SCENARIOS = {**{play_it.__name__: alone(play_it) for play_it in (instant, steady, kill, shift)}, "summer": summer}
