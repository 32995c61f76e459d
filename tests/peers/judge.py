"""What is due, and what became of it: plans and verdicts, without a clock and without a process.

An instant is a number of seconds since 1970. A plan maps the name of a job to the instant at which its
call may arrive at the earliest, by the clock of the target.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

MINUTE, HOUR = 60, 3600
# Of the jobs of the shifted clock: how many fall due before the clock moves, in the hour that is
# skipped, and after it; and how far apart the ones of each part are.
SHIFT_JOBS = 100
SHIFT_APART, SHIFT_APART_SKIPPED = 0.1, 10
# The clock moves so long after the first job is due.
SHIFT_AFTER = 15


@dataclass(frozen=True)
class Verdict:
    """The columns of a row; lateness in milliseconds, and nothing where nothing was fired."""

    due: int
    fired: int
    lost: int
    held: int
    doubled: int
    early: int
    p50: float | None = None
    p99: float | None = None
    last: float | None = None


def burst(first, n):
    return {f"j{number}": first for number in range(n)}


def steady(first, seconds, per_second):
    return {f"j{number}": first + number / per_second for number in range(seconds * per_second)}


def shifted(first):
    """Jobs around a clock that is put forward by an hour. Returns when each is due by that clock, and when
    it is by the target's: the ones of the hour that is skipped become due as the clock moves."""
    moves = first + SHIFT_AFTER
    before = {f"before{n}": first + n * SHIFT_APART for n in range(SHIFT_JOBS)}
    skipped = {f"skipped{n}": first + 20 * MINUTE + n * SHIFT_APART_SKIPPED for n in range(SHIFT_JOBS)}
    after = {f"after{n}": moves + HOUR + 5 + n * SHIFT_APART for n in range(SHIFT_JOBS)}
    real = before | dict.fromkeys(skipped, moves) | {name: due - HOUR for name, due in after.items()}
    return before | skipped | after, real


def quantile(ordered, share):
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def judge(due, arrivals, left=None):
    """Compares calls, as pairs of a job's name and an instant, with what was due. Of the jobs that were
    not called, as many as the peer still has are held, and the others are lost."""
    first, doubled = {}, 0
    for name, at in sorted(arrivals, key=lambda arrival: arrival[1]):
        doubled += name in first
        first.setdefault(name, at)
    unknown = first.keys() - due.keys()
    if unknown:
        raise ValueError(f"calls of jobs that do not exist: {sorted(unknown)[:3]}")
    missing = len(due) - len(first)
    held = min(missing, left or 0)
    late = sorted((at - due[name]) * 1000 for name, at in first.items())
    lateness = [quantile(late, share) for share in (0.5, 0.99, 1)] if late else []
    early = sum(value < 0 for value in late)
    return Verdict(len(due), len(first), missing - held, held, doubled, early, *lateness)


def summer(expected, arrivals):
    """Compares the calls of a minutely job with the minutes that exist, by the peer's clock. Calls before
    the first minute and after the last one say nothing. Lateness does not matter: it is less than a minute."""
    minutes = Counter(math.floor(at / MINUTE) * MINUTE for at in arrivals)
    counted = [minutes[minute] for minute in expected]
    late = sorted((at % MINUTE) * 1000 for at in arrivals if math.floor(at / MINUTE) * MINUTE in expected)
    lateness = [quantile(late, share) for share in (0.5, 0.99, 1)] if late else []
    fired, doubled = sum(count > 0 for count in counted), sum(count - 1 for count in counted if count)
    return Verdict(len(expected), fired, len(expected) - fired, 0, doubled, 0, *lateness)


def by_name(arrivals):
    """The instants of each job's calls, in order."""
    found = defaultdict(list)
    for name, at in sorted(arrivals, key=lambda arrival: arrival[1]):
        found[name].append(at)
    return found


def setup_lines(text):
    """How many lines stand between `set-up` and `end of set-up`, without blank ones and comments."""
    lines = [line.strip() for line in text.splitlines()]
    marks = [number for number, line in enumerate(lines) if line.lstrip("/# ") in ("set-up", "end of set-up")]
    if len(marks) != 2:
        raise ValueError("a script marks its set-up once")
    return sum(bool(line) and not line.startswith(("//", "#")) for line in lines[marks[0] : marks[1]])
