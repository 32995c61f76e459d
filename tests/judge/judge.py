#!/usr/bin/env python3
"""The second judge of the simulation.

It reads logs of runs from standard input, and prints for each run one line of JSON: its seed, its
mutation, and what is wrong with it. It shares nothing with the services nor with the first judge: it
follows README.md and shared/docs, and computes from the documents that were sent when each job had to
run. README.md beside it says what a log holds, and what this judge accepts.
"""

import json
import sys
from collections import defaultdict
from fractions import Fraction
from heapq import merge
from itertools import islice, takewhile

# The sources stay as they were checked out.
sys.dont_write_bytecode = True
import brakes
import opens
import pings
import processes
from recurrence import UTC, Rule, moment, read_date

SECOND = 1_000_000
MILLI = SECOND // 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
NEVER = 1 << 62

# An attempt with nothing in its way starts within so long, beside the difference of clocks.
STARTS = 6 * SECOND
# A request of a user ends within this.
REQUEST = 5 * SECOND
# A pass of the sweeper sees what is due this long after it begins, and looks further than that.
SEEN_AHEAD = MINUTE
# After an outage, workers look for messages within so long.
WORKERS_LOOK = 35 * SECOND
# A job pauses by what its failed attempts leave under way, for no longer than this when processes run.
LATE = 7 * MINUTE
# The same where workers stall for longer than their leases.
LATE_AND_STALLED = 30 * MINUTE
# The same where collections have limits: behind many runs.
LATE_AND_LIMITED = 25 * MINUTE
# "Within five seconds of its place": and until its call.
AFTER_PLACE = 6 * SECOND
# A lost message is sent again by a timer that looks every twenty minutes, and may be lost again.
LATE_AND_LOST = 50 * MINUTE
# A timer looks every twenty minutes at a job with nothing left, and sends what is still to be made.
LOOKS_EVERY = 20 * MINUTE
# The limits of a collection.
LIMITS = ("maxPerSecond", "maxConcurrent")
# From the last look at a job until its call.
CHECKED_BEFORE = SECOND // 5
# A claim holds for 100 s: two clocks, and the time from the claim to the call, shorten that.
CLAIMED = 85 * SECOND
# Without a sign of life for longer, nothing worked.
OUTAGE = 10 * MINUTE
# Signs of life are a little less than a minute apart, so the last of them says little about the next.
# An outage begins 100 seconds after it, at a whole second.
BEATS = 101 * SECOND
# "Ten seconds after it is sent: the clocks of two functions may differ."
CLOCKS = 10 * SECOND
# A pass gives a sign of life if the last one is older.
SIGNED = 50 * SECOND
# How long a job that is over is kept.
SIXTY_DAYS = 60 * 24 * HOUR
# On one machine nothing but its own process is in the way of what is due.
LATE_WHILE_IT_RUNS = 6 * MINUTE
# An attempt that has the turn of its job and no row counts as running for so long.
LEASE = 100 * SECOND
# One that waits and does not look again keeps its place for so long.
PLACE = 220 * SECOND
# From reading whose turn it is until the answer is stored, and from reading a job until its call.
TURN_READ = 10 * SECOND
# Beyond that a retry waits in a timer of its own, which no lost message stops.
LONG = 14 * MINUTE


def merged(old, new):
    """RFC 7396, but a schedule replaces the stored one whole."""
    if not isinstance(new, dict):
        return new
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value if key == "schedule" else merged(result.get(key), value)
    return result


def seconds(text):
    """A duration in either form that requests may use."""
    if ":" in text:
        total = 0
        for part in text.split(":"):
            total = 60 * total + int(part)
        return total
    days, _, time = text.removeprefix("P").partition("T")
    total = 86_400 * int(days[:-1]) if days else 0
    number = ""
    for letter in time:
        if letter.isdigit():
            number += letter
        else:
            total += {"H": 3600, "M": 60, "S": 1}[letter] * int(number)
            number = ""
    return total


def last_at(call):
    """When a call began."""
    return call[0] if call else 0


class Retry:
    """A retry policy; without one, four retries half a minute apart."""

    def __init__(self, action, instead=None):
        policy = action.get("retryPolicy")
        if policy is None and instead is not None:
            self.count, self.interval = instead.count, instead.interval
            return
        policy = policy or {}
        is_none = policy.get("retryType", "fixed").lower() == "none"
        self.count = 0 if is_none else int(policy.get("retryCount", 4))
        self.interval = seconds(policy.get("retryInterval", "00:00:30")) * SECOND


class Waits:
    """How the waits before retries grow and end, and what a target may ask for."""

    def __init__(self, retry):
        is_growing = retry.get("backoff", "fixed").lower() == "exponential"
        self.factor = Fraction(str(retry.get("factor", 2))) if is_growing else 1
        self.longest = seconds(retry["maxInterval"]) * SECOND if "maxInterval" in retry else NEVER
        self.are_spread = retry.get("jitter", "none").lower() == "full"
        self.elapsed = seconds(retry["maxElapsed"]) * SECOND if "maxElapsed" in retry else NEVER
        asked = retry.get("retryAfter")
        is_asked = asked is not None and asked.get("honour", True)
        self.asked = seconds(asked.get("max", "PT1H")) * SECOND if is_asked else 0

    def after(self, policy, number, asked):
        """The least and the longest wait after an attempt."""
        wait = policy.interval
        for _ in range(number):
            # In whole milliseconds.
            wait = int(wait // MILLI * self.factor) * MILLI
        wait = min(wait, self.longest)
        asked = min(asked or 0, self.asked)
        return max(SECOND if self.are_spread else wait, asked), max(wait, asked)


class Plan:
    """When a document says that a job runs, and what follows a failure."""

    def __init__(self, document, epoch):
        properties = document["properties"]
        self.start = properties.get("startTime")
        self.recurrence = properties.get("recurrence")
        self.is_on = properties.get("state", "enabled").lower() == "enabled"
        action = properties["action"]
        self.retry = Retry(action)
        error = action.get("errorAction")
        self.error = Retry(error, self.retry) if error else None
        self.waits = Waits((properties.get("minutehand") or {}).get("retry") or {})
        extensions = properties.get("minutehand") or {}
        self.pauses_after = (extensions.get("pauseOnFailure") or {}).get("after")
        self.epoch = epoch
        policies = properties.get("minutehand") or {}
        catch_up = policies.get("catchUp") or {"policy": "last"}
        # Of the occurrences of an outage so many of the latest run, and none that is older than this.
        self.made_up, self.made_up_within = {
            "last": (1, NEVER),
            "none": (0, NEVER),
            "all": (int(catch_up.get("max", 100)), seconds(catch_up.get("window", "P1D")) * SECOND),
        }[catch_up["policy"]]
        lateness, jitter = policies.get("maxLateness"), policies.get("jitter")
        self.lateness = seconds(lateness) * SECOND if lateness else None
        self.jitter = seconds(jitter["window"]) * SECOND if jitter else 0
        excluded = (policies.get("exclude") or {}).get("dates") or []
        # Days in a row, as the first and the last one.
        self.excluded = sorted((text[:10], text[-10:]) for text in excluded)
        self.extra = sorted(policies.get("extraDates") or [])
        self.takes_turns = (policies.get("overlap") or {}).get("policy") == "skip"
        expect = action.get("expect")
        completion = policies.get("completion")
        # For how long an attempt may be open after a 202.
        self.within = seconds(completion["within"]) * SECOND if completion else None
        self.expects = expect and tuple(seconds(expect[name]) * SECOND for name in ("early", "grace"))

    def rule(self, anchor):
        return Rule(self.recurrence, self.start, anchor - self.epoch) if self.recurrence else None

    def same_times(self, other):
        return self.same_rule(other) and (self.jitter, self.excluded, self.extra, self.expects) \
            == (other.jitter, other.excluded, other.extra, other.expects)

    def same_rule(self, other):
        """Whether the recurrence is the same, so that its count goes on."""
        if bool(self.recurrence) != bool(other.recurrence):
            return False
        starts = [it.start and read_date(it.start, UTC) for it in (self, other)]
        rules = not self.recurrence or self.rule(0) == other.rule(0)
        return starts[0] == starts[1] and rules

    def occurrences(self, anchor, since, used):
        """The instants, in the time of the log."""
        if not self.recurrence:
            if used == 0:
                begins = read_date(self.start, UTC) + self.epoch if self.start else anchor
                yield max(begins, since)
            return
        rule = self.rule(anchor)
        if not self.excluded and not self.extra:
            yield from (at + self.epoch for at in rule.since(since - self.epoch, used))
            return
        left = NEVER if rule.count is None else rule.count - used
        all_ = (at for at in self.with_extra(rule, since - self.epoch) if not self.excludes(rule, at))
        yield from (at + self.epoch for at in islice(all_, max(0, left) if left < NEVER else None))

    def with_extra(self, rule, since):
        """What the rule yields from an instant on until its end, and the further occurrences."""
        end = NEVER if rule.end is None else rule.end
        extra = sorted({read_date(text, rule.zone) for text in self.extra})
        extra = [at for at in extra if max(since, rule.start) <= at <= end]
        by_rule = takewhile(lambda at: at <= end, rule.all(since))
        before = None
        for at in merge(by_rule, extra):
            if at != before:
                yield at
            before = at

    def excludes(self, rule, at):
        day = moment(at).astimezone(rule.zone).date().isoformat()
        return any(first <= day <= last for first, last in self.excluded)

    def is_endless(self):
        it = self.recurrence
        return bool(it) and it.get("count") is None and it.get("endTime") is None


class Timing:
    """A time in which a job's start, recurrence and state do not change, and it is enabled."""

    def __init__(self, job, plan, token, anchor, since, used, begins=0):
        self.job, self.plan, self.anchor = job, plan, anchor
        self.tokens, self.since, self.used = {token}, since, used
        self.begins, self.ended = begins, NEVER
        # The change after the pause that ended it, if one did.
        self.paused_until = None
        # What the clock showed when the job was disabled after it.
        self.off_at = NEVER
        # The timing and the instant of the occurrence with which the job goes on.
        self.goes_on = None

    def until(self, until):
        all_ = self.plan.occurrences(self.anchor, self.since, self.used)
        return takewhile(lambda at: at < until, all_)

    def next(self, nominal):
        return next((at for at in self.until(NEVER) if at > nominal), NEVER)

    def makes_up(self, nominal, until):
        """Whether an occurrence of an outage runs after it."""
        if not self.plan.recurrence:
            return True
        newer = sum(1 for at in self.until(until + 1) if at > nominal)
        return newer < self.plan.made_up and until - nominal <= self.plan.made_up_within


class Job:
    def __init__(self, uid, name, collection):
        self.uid, self.name, self.collection = uid, name, collection
        self.document, self.plan, self.anchor, self.used = {}, None, None, 0
        # How often it got another start or recurrence.
        self.rules = 0
        self.timings, self.gone, self.plans = [], NEVER, []

    def now(self):
        if self.timings and self.timings[-1].ended == NEVER:
            return self.timings[-1]
        return None

    def change(self, document, token, clock, at, epoch):
        plan, before = Plan(document, epoch), self.plan
        now = self.now()
        is_same = before is not None and plan.same_times(before)
        self.document, self.plan = document, plan
        self.plans.append((at, plan))
        if is_same and plan.is_on == before.is_on:
            if now:
                now.tokens.add(token)
                now.plan = plan
            return
        if self.timings and self.timings[-1].paused_until == NEVER:
            self.timings[-1].paused_until = at
        if now:
            now.ended, now.off_at = at, clock
            self.used += sum(1 for _ in now.until(clock))
        if before is None or not plan.same_rule(before):
            self.used, self.anchor = 0, None
            self.rules += 1
        if plan.is_on:
            self.anchor = self.anchor if self.anchor is not None else clock
            timing = Timing(self, plan, token, self.anchor, clock, self.used, at)
            timing.rules = self.rules
            if before and not before.is_on and self.timings:
                timing.goes_on = self.last_of(self.timings[-1], timing)
            self.timings.append(timing)

    @staticmethod
    def last_of(before, now):
        """The occurrence with which a job goes on that is enabled again: nothing is left of it, its start,
        recurrence and dates are those that it had, and its last one fell due before it was disabled."""
        same_dates = (before.plan.excluded, before.plan.extra) == (now.plan.excluded, now.plan.extra)
        if before.rules != now.rules or not same_dates or now.plan.is_endless() \
                or next(now.until(NEVER), None) is not None:
            return None
        if before.goes_on:
            return before.goes_on
        last = max(before.until(NEVER), default=NEVER)
        return (before, last) if last < before.off_at else None

    def pause(self, since, at, epoch):
        """The scheduler disables it after failures."""
        now, properties = self.now(), dict(self.document["properties"])
        self.document = {**self.document, "properties": {**properties, "state": "disabled"}}
        self.plan = Plan(self.document, epoch)
        if now:
            now.ended, now.paused_until, now.off_at = at, NEVER, since
            self.used += sum(1 for _ in now.until(since))

    def policies(self, first, last):
        """The plans in force at some time of these."""
        ends = [at for at, _ in self.plans[1:]] + [NEVER]
        return [plan for (at, plan), end in zip(self.plans, ends) if at <= last and end >= first]

    def end(self, at):
        self.gone = min(self.gone, at)
        if self.now():
            self.now().ended = at


class Collection:
    def __init__(self, uid, name, since):
        self.uid, self.name, self.is_on = uid, name, None
        self.since, self.gone, self.quota = since, NEVER, NEVER
        # When it was off: from, until, and what the clock showed that switched it on.
        self.offs, self.notice = [], None
        # When it was switched on, and what the clock showed.
        self.ons = []
        # How many may start in a second, how many may run at the same time, and since when.
        self.limits = {name: [(since, None)] for name in LIMITS}

    def limit(self, name, first, last):
        """The limit that held in all of a time."""
        limits = self.limits[name]
        ends = [at for at, _ in limits[1:]] + [NEVER]
        held = {limit for (at, limit), end in zip(limits, ends) if at <= last and end >= first}
        return held.pop() if len(held) == 1 else None

    def switch(self, is_on, at, clock):
        if is_on and not self.is_on:
            self.ons.append((at, clock))
        if not is_on and self.is_on is not False:
            self.offs.append([at, NEVER, NEVER])
        elif is_on and self.is_on is False:
            self.offs[-1][1:] = [at, clock]
        self.is_on = is_on


class Machine:
    """The processes of one machine, one after the other. Where there are none, clocks show the time but
    for a few seconds."""

    def __init__(self):
        self.lives, self.beats = [], defaultdict(list)

    def begin(self, line):
        self.lives.append([line["at"], line["clock"] - line["at"], NEVER])

    def shows(self, clock, begins):
        """The first time from then on that a running process sees this on its clock, or something later."""
        if not self.lives:
            return clock
        times = ((max(clock - skew, start, begins), end) for start, skew, end in self.lives)
        return next((at for at, end in times if at < end), NEVER)

    def worked(self, first, last):
        """For how long processes ran between two times."""
        if not self.lives:
            return last - first
        return sum(max(0, min(end, last) - max(start, first)) for start, _, end in self.lives)

    def after(self, at, span):
        """When processes have run for so long after a time."""
        if not self.lives:
            return at + span
        for start, _, end in self.lives:
            ran = max(0, end - max(start, at))
            if ran >= span:
                return max(start, at) + span
            span -= ran
        return NEVER

    def latest(self, until):
        """The latest that a clock has shown until a time."""
        shown = [min(end, until) + skew for start, skew, end in self.lives if start < until]
        return max(shown, default=until)

    def clock(self, at):
        """What the clock of the last process showed, or would have."""
        return at + next((skew for start, skew, _ in reversed(self.lives) if start <= at), 0)

    def set_back(self):
        """How far clocks were set back, in all."""
        pairs = zip(self.lives, self.lives[1:])
        return sum(max(0, before[1] - after[1]) for before, after in pairs)

    def has_ended(self, first, last):
        """Whether a process ended between two times."""
        return any(first < end <= last for _, _, end in self.lives)

    def is_set_back(self, first, last, clock):
        """Whether a process began between two times whose clock showed less than that."""
        return any(first < start <= last and start + skew < clock for start, skew, _ in self.lives)

    def is_passed_twice(self, nominal):
        """Whether the clock was set back behind an instant, or so shortly after it that it is the last one of
        the outage that ends there."""
        lives = iter(self.lives)
        return any(end + skew > nominal for _, skew, end in lives) \
            and any(start + skew < nominal + 15 * MINUTE for start, skew, _ in lives)

    def silences(self):
        """Between the last sign of life of one process and the first of another, nothing worked: when, and
        what the clock showed."""
        found = {}
        for of, beats in self.beats.items():
            pairs = list(zip(beats, beats[1:]))
            found[of] = [(*before, *after) for before, after in pairs if after[1] - before[1] > BEATS
                         and any(before[0] < start <= after[0] for start, _, _ in self.lives)]
        return found


class Attempt:
    """What happened to one attempt."""

    def __init__(self, line):
        self.id, self.uid, self.token = line["id"], line["job"], line["timing"]
        self.nominal, self.is_run = line["nominal"], line["run"]
        self.role, self.number = line["role"], line["number"]
        self.calls, self.rows, self.answers, self.sent = [], [], [], NEVER
        self.lost_at, self.is_dead, self.sendings = [], False, []
        self.accepted = []

    @property
    def losses(self):
        return len(self.lost_at)

    @property
    def is_lost(self):
        return self.losses > 0

    @property
    def row(self):
        return self.rows[0] if self.rows else None

    @property
    def is_made(self):
        return bool(self.calls or self.rows)

    @property
    def occurrence(self):
        return self.id.rsplit(".", 1)[0]


class Way:
    """The way of an attempt to its call: which it is, when it is due, and since when sweepers send it."""

    def __init__(self, uid, occurrences, clock, due, since=None, own=()):
        self.uid, self.occurrences, self.clock, self.due, self.since = uid, occurrences, clock, due, since
        # The attempt itself, once for each token of its timing.
        self.own = [it for it in own if it]

    def attempts(self, judge):
        return [it for of in self.occurrences for it in judge.by_occurrence[of]]


class Judge:
    def __init__(self, lines):
        self.found = []
        self.head = lines[0]
        self.epoch = self.head["epoch"]
        self.collections, self.jobs, self.attempts = {}, {}, {}
        self.runs, self.downs, beats = [], [], defaultdict(list)
        self.turns = defaultdict(list)
        self.end = self.later = None
        # The timings at the end: a job may be changed after it.
        self.in_force = {}
        self.asks, self.full, self.machine = defaultdict(list), [], Machine()
        # What was in the way of attempts: by occurrence, by job, by worker; and the passes of sweepers.
        self.holds, self.behind, self.troubles = defaultdict(list), {}, {}
        self.passes, self.planned = [], {}
        # What happened to pings, and to those who take them.
        self.pinged, self.shared = [], []
        # What happened to origins, where workers share their brakes.
        self.brakes = defaultdict(list)
        # What became of attempts whose targets answered 202, and what they reported.
        self.opens, self.reports = defaultdict(opens.Open), {}
        for line in lines[1:]:
            kind = line["e"]
            if kind in ("accepted", "sent", "lost", "dead", "call", "answer", "row"):
                self.note(kind, line)
            elif kind == "ask":
                self.asks[line["worker"]].append(line)
            elif kind == "collection":
                self.collection(line)
            elif kind == "job":
                self.job(line)
            elif kind == "turn":
                self.turns[line["job"]].append(line)
            elif kind == "pause":
                self.jobs[line["uid"]].pause(line["since"], line["at"], self.epoch)
            elif kind == "full":
                self.full.append((self.asks[line["worker"]][-1]["at"], line))
            elif kind == "beat":
                beats[line["of"]].append(line["clock"])
                self.machine.beats[line["of"]].append((line["at"], line["clock"]))
            elif kind == "begin":
                self.machine.begin(line)
            elif kind == "ended":
                self.machine.lives[-1][2] = line["at"]
            elif kind == "down":
                self.downs.append([line["what"], line["at"], NEVER])
            elif kind == "up":
                down = next(it for it in reversed(self.downs) if it[0] == line["what"])
                down[2] = line["at"]
            elif kind == "way":
                self.holds[line["id"].rsplit(".", 1)[0]] += line["holds"]
            elif kind == "planned":
                self.planned[line["id"]] = line["times"]
            elif kind == "pass":
                self.passes.append(line)
            elif kind == "behind":
                self.behind[line["job"]] = line["times"]
            elif kind == "trouble":
                self.troubles[line["worker"]] = line["at"]
            elif kind in ("api", "sign", "ping", "pinged", "ping answered", "claim", "released", "over"):
                self.pinged.append(line)
            elif kind in ("report", "reported", "open", "said"):
                opens.note(self.opens, self.reports, line)
            elif kind == "brake":
                self.brakes[line["origin"]].append(line)
            elif kind == "shared":
                self.shared.append(line)
            elif kind == "faults":
                self.head.update(line)
            elif kind in ("end", "later"):
                setattr(self, kind, line)
                if kind == "end":
                    self.in_force = {job.uid: job.now() for job in self.jobs.values()}
            else:
                raise ValueError(f"a line that is not known: {kind}")
        is_machine = bool(self.machine.lives)
        self.gaps = {} if is_machine else {of: self.silent(it) for of, it in beats.items()}
        self.silences = self.machine.silences() if is_machine else {}
        self.late = LATE_AND_STALLED if self.head["stalls"] else LATE
        if any(len(limits) > 1 for it in self.collections.values() for limits in it.limits.values()):
            self.late = LATE_AND_LIMITED
        self.horizon = self.end["at"] - HOUR
        self.by_key = {(it.uid, it.token, it.nominal, it.role, it.number): it
                       for it in self.attempts.values() if not it.is_run}
        self.by_id = self.attempts
        self.by_occurrence = defaultdict(list)
        for it in self.attempts.values():
            self.by_occurrence[it.occurrence].append(it)

    # Reading the log.

    def note(self, kind, line):
        if "id" not in line or self.end:
            # What happens after the end is judged by what it leaves.
            return
        it = self.attempts.setdefault(line["id"], Attempt(line))
        if kind == "sent":
            it.sendings.append(line["at"])
            it.sent = min(it.sent, line["at"])
        elif kind == "accepted":
            self.runs.append((line["at"], it))
        elif kind == "lost":
            it.lost_at.append(line["at"])
        elif kind == "dead":
            it.is_dead = True
        elif kind == "answer" and line["ok"] is None:
            # It goes on, and says later how it ended.
            it.accepted.append(line)
        else:
            {"call": it.calls, "answer": it.answers, "row": it.rows}[kind].append(line)

    def asked(self, line, name):
        """The request whose effect this is."""
        return next(it for it in reversed(self.asks[line["worker"]]) if it["name"] == name)

    def collection(self, line):
        at = line["at"]
        it = self.collections.setdefault(line["uid"], Collection(line["uid"], line["name"], at))
        if line["deleted"]:
            it.gone = at
            for job in self.jobs.values():
                if job.collection is it:
                    job.end(at)
            return
        body = self.asked(line, None)["body"]["properties"]
        if "onFailure" in body.get("minutehand", {}):
            it.notice = Retry(body["minutehand"]["onFailure"])
        for name in LIMITS:
            if name in body.get("minutehand", {}):
                it.limits[name].append((at, body["minutehand"][name]))
        if body.get("quota"):
            it.quota = body["quota"]["maxJobCount"]
        if "state" in body or it.is_on is None:
            it.switch(body.get("state", "Enabled").lower() == "enabled", at, line["clock"])

    def job(self, line):
        ask = self.asked(line, line["name"])
        if line["deleted"]:
            self.jobs[line["uid"]].end(line["at"])
            return
        job = self.jobs.get(line["uid"])
        if job is None:
            job = self.jobs[line["uid"]] = Job(
                line["uid"], line["name"], self.collections[line["collection"]])
        body = ask["body"]
        document = body if ask["what"] == "put" else merged(job.document, body)
        job.change(document, line["timing"], line["clock"], line["at"], self.epoch)

    def silent(self, beats):
        beats = sorted(beats)
        pairs = zip(beats, beats[1:])
        return [(before, after) for before, after in pairs if after - before > OUTAGE]

    # Facts that several rules need.

    def bad(self, what, of, at=None):
        self.found.append(f"{what}: {of}" + ("" if at is None else f" at {at / SECOND:.3f}"))

    def timing_of(self, attempt):
        job = self.jobs.get(attempt.uid)
        timings = job.timings if job else []
        of_token = [it for it in timings if attempt.token in it.tokens]
        # A token is given once; if it is not, the timing in force counts.
        calls = [line["at"] for line in attempt.calls]
        in_force = [it for it in of_token if not calls or calls[0] <= it.ended]
        return (in_force or of_token or [None])[0]

    def due_at(self, timing, nominal):
        """When an occurrence is due: the first time since its timing that a clock shows it."""
        return self.machine.shows(nominal, timing.begins)

    def dues(self, timing, nominal, last):
        """Each time that an occurrence is due before then, and the first in any case: a clock that was set
        back shows it again."""
        dues = [self.due_at(timing, nominal)]
        for start, skew, _ in self.machine.lives:
            if dues[-1] < start <= last and start + skew < nominal:
                dues.append(self.machine.shows(nominal, start))
        return dues

    def due_before(self, timing, nominal, last):
        """When an occurrence is due for the last time before then."""
        return self.dues(timing, nominal, last)[-1]

    def last_due(self, timing, nominal):
        """When an occurrence is due for the last time while its timing holds."""
        return self.due_before(timing, nominal, min(self.horizon, timing.ended))

    def is_before_on(self, collection, clock, at):
        """Whether something is due before its collection was switched on, by a clock that was set back."""
        ons = [shown for since, shown in collection.ons if since <= at]
        return bool(self.machine.lives and ons and clock < ons[-1])

    def reach(self, due, is_lost=False):
        """Until when what was due may still be on its way."""
        late = LATE_AND_LOST if is_lost else self.late
        if self.machine.lives:
            return self.machine.after(due, late)
        reach, before = due + late, None
        while reach != before:
            before = reach
            for _, start, end in self.downs:
                if start < reach and end > due:
                    reach = max(reach, end + late)
            for start, end in (gap for gaps in self.gaps.values() for gap in gaps):
                if start < reach and end > due:
                    reach = max(reach, end + late)
        return reach

    def skew(self):
        return 2 * self.head["skew"] + SECOND

    def sent_by(self, way):
        """When an attempt was sent first, or had to be: at the end of a pass that saw its timer, and for which
        nothing failed."""
        if way.since is None:
            return way.due
        sent = [at for it in way.own for at in it.sendings if at >= way.since]
        # The timer of a retry is stored when the attempt before it is recorded, or after that.
        stored = min((at for it in way.own for at in self.planned.get(it.id, [])), default=0)
        seen = [it["until"] for it in self.passes
                if it["from"] >= max(way.since, way.due - SEEN_AHEAD, stored) and self.is_sound(it, way.uid)]
        return min(sent + seen[:1], default=NEVER)

    def is_sound(self, sweep, uid):
        """Whether a pass saw the timer of a job as it was, and nothing failed for it."""
        return self.is_shared(sweep, uid) and not sweep["failed"] and not any(
            first <= sweep["until"] and last >= sweep["from"] for first, last in self.behind.get(uid, []))

    def is_shared(self, sweep, uid):
        """Whether the timers of a job are in the share of a pass. Sweepers divide the shards; with each round,
        the next part has a shard."""
        part, parts, minute = sweep["share"]
        return (sum(uid.encode()) % self.head["shards"] + minute) % parts == part

    def going_on(self, timing, nominal):
        """The later timings in which a job goes on with an occurrence."""
        return [it for it in timing.job.timings if it.goes_on == (timing, nominal)]

    def in_the_way(self, way):
        """The times in which an attempt could not start."""
        yield way.due, self.sent_by(way)
        for what, first, last in self.downs:
            if what == "workers":
                yield first, last + WORKERS_LOOK
        for (_, _, end), (start, _, _) in zip(self.machine.lives, self.machine.lives[1:]):
            yield end, start
        for start, skew, _ in self.machine.lives:
            yield start, way.clock - skew
        for it in way.attempts(self):
            # Sweepers send again what they plan, and nothing else.
            for at in it.lost_at:
                yield at, at + LATE_AND_LOST if way.since is not None else NEVER
        for occurrence in way.occurrences:
            for first, last, worker in self.holds[occurrence]:
                if worker is None:
                    yield first, last
                    continue
                # A worker that has it starts it, unless something fails for that worker.
                yield first, min(last, max(first, way.due))
                failed = [at for at in self.troubles.get(worker, []) if first <= at < last]
                if failed:
                    yield min(failed), last

    def could_start(self, way, until):
        """Whether nothing was in the way of an attempt for a while before an instant."""
        return self.is_free(way, until, STARTS + 2 * self.head["skew"])

    def is_free(self, way, until, free):
        """Whether nothing was in the way of an attempt for so long before an instant."""
        at = way.due
        for first, last in sorted(self.in_the_way(way)):
            if min(first, until) - at > free:
                return True
            at = max(at, last)
        return until - at > free

    def could_go_on(self, timing, nominal, way, is_first=False):
        """Whether a job that was enabled again had the time to go on with an attempt while its collection was
        on. A first attempt is not made if the collection was off before that."""
        return any(self.had_time_again(way, it.begins, min(
            it.ended, timing.job.gone, self.horizon,
            *(start for start, end, _ in timing.job.collection.offs if end >= it.begins)))
            for it in self.going_on(timing, nominal)
            if not (is_first and self.was_off_between(way.due, it.begins, timing.job.collection)))

    def was_off_between(self, first, last, collection):
        """Whether a collection was switched on in a time, by some clock."""
        return any(first - self.skew() <= end <= last + self.skew() for _, end, _ in collection.offs)

    def had_time_again(self, way, since, until, looks=LOOKS_EVERY):
        """Whether an attempt that may be made again since then had the time for it. It is sent by a timer that
        looks so often, and a clock that was set back shows the instant of that timer later."""
        clock, due = way.clock, max(way.due, since)
        again = Way(way.uid, way.occurrences, clock, due, since, way.own)
        if not self.machine.lives:
            return self.is_free(again, until, looks + self.late)
        again.clock = max(clock, self.machine.clock(since) + looks)
        return self.is_free(again, until, self.late)

    def dropped_at(self, it):
        """When the worker of a call without a row died, or stood still, so that it had to be made again."""
        for call in it.calls:
            after = [at for at in self.troubles.get(call["worker"], []) if at >= call["at"]]
            after += [end for _, _, end in self.machine.lives if end >= call["at"]]
            yield min(after, default=call["at"])

    def is_off_after_call(self, collection, it):
        """Whether the collection was off when an attempt had to be made again that had been called, or went off
        and on while it was under way."""
        return it is not None and not it.rows \
            and any(self.is_off(collection, Way(it.uid, {it.occurrence}, at, at))
                    or any(start <= at and end >= it.calls[0]["at"] for start, end, _ in collection.offs)
                    for at in self.dropped_at(it))

    def way(self, timing, clock, due, own, before, is_planned):
        """The way of an attempt, and of the one before it."""
        since = timing.begins if is_planned else None
        occurrences = {it.occurrence for it in (*own, before) if it}
        return Way(timing.job.uid, occurrences, clock, due, since, own)

    def first_way(self, timing, nominal, due):
        """The way of the first attempt at an occurrence."""
        keys = ((timing.job.uid, token, nominal, "main", 0) for token in timing.tokens)
        attempts = [self.by_key.get(key) for key in keys]
        jitter = timing.plan.jitter
        return self.way(timing, nominal + jitter, due + jitter, attempts, None, True)

    def is_cut(self, timing, way):
        """Whether an attempt could not start before its timing changed."""
        return timing.ended < NEVER and not self.could_start(way, timing.ended)

    def is_off(self, collection, way, sooner=0):
        """Whether its collection was off when it was due, or before it could start. It may have been due so much
        sooner."""
        return any(end + self.skew() >= way.due - sooner
                   and (start <= way.due + self.skew() or not self.could_start(way, start))
                   for start, end, _ in collection.offs)

    def outages(self, nominal, sent, within=0):
        """The outages around an occurrence: for sweepers when it is due, unless it was sent before; for
        workers when it is sent, if that is later. The message that ends a silence of workers is not in
        it."""
        late = sent if nominal < sent < NEVER else None
        ready = {"sweepers": nominal, "workers": late + CLOCKS if late else nominal}
        return [(start, until) for of, gaps in self.gaps.items() for start, until in gaps
                if start <= ready[of] + within and ready[of] <= until
                and not (of == "sweepers" and sent < start)]

    def is_overtaken(self, timing, nominal, sent):
        """Whether it was in an outage when it was ready, and its job does not make up for it."""
        around = self.outages(nominal, sent, timing.plan.jitter)
        if any(not timing.makes_up(nominal, until + SECOND) for _, until in around):
            return True
        successor = timing.next(nominal)
        return any(start <= at <= end and successor <= until + SECOND
                   for at in self.dues(timing, nominal, NEVER)
                   for pauses in self.silences.values() for start, _, end, until in pauses)

    def is_too_late(self, timing, nominal):
        """Whether the history says that an occurrence would have started too late."""
        return timing.plan.lateness is not None and self.has_row(timing, nominal, "tooLate")

    def is_overlapped(self, timing, nominal):
        """Whether the history says that an occurrence was left out because another attempt ran."""
        return self.has_row(timing, nominal, "overlap")

    def has_row(self, timing, nominal, reason):
        """Whether the history says that one occurrence was left out for a policy."""
        return any(row["job"] == timing.job.uid and row["timing"] in timing.tokens
                   and row["reason"] == reason and row["first"] == nominal
                   for row in self.end["left_out"])

    def is_touched(self, timing):
        job = timing.job
        return len(job.timings) > 1 or timing.ended != NEVER or len(timing.tokens) > 1 \
            or bool(job.collection.offs)

    def may_be_lost(self, attempt, timing, nominal):
        """A message that was lost is missed when its job is planned the next time, or by what has
        nothing left to dispatch. What is sent again may be lost again."""
        if attempt is not None and attempt.is_dead:
            return True
        if attempt is None or not attempt.is_lost:
            return False
        if self.is_touched(timing) or attempt.losses > 1:
            return True
        return not timing.plan.is_endless() and timing.next(nominal) != NEVER

    def attempt(self, timing, nominal, role, number):
        keys = ((timing.job.uid, token, nominal, role, number) for token in timing.tokens)
        found = [self.by_key[key] for key in keys if key in self.by_key]
        return next((it for it in found if it.is_made), found[0] if found else None)

    def is_excused(self, timing, nominal):
        """Whether an occurrence that has left no trace did not have to run."""
        attempt = self.attempt(timing, nominal, "main", 0)
        return self.is_held_up(timing, nominal, attempt) \
            or self.is_overtaken(timing, nominal, attempt.sent if attempt else NEVER) \
            or self.is_too_late(timing, nominal) \
            or self.is_overlapped(timing, nominal)

    def is_held_up(self, timing, nominal, attempt):
        """Whether a change or a switch came before an occurrence could start, or its message is gone."""
        at, collection = self.last_due(timing, nominal), timing.job.collection
        way, first = (self.first_way(timing, nominal, due)
                      for due in (at, self.due_at(timing, nominal)))
        is_cut = self.is_cut(timing, way) and not self.could_go_on(timing, nominal, way, True)
        return is_cut or self.is_off(collection, way) \
            or self.is_off(collection, first) or self.is_before_on(collection, nominal, at) \
            or self.is_off_after_call(collection, attempt) \
            or self.may_be_lost(attempt, timing, nominal)

    def is_left_out(self, timing, nominal):
        """Whether the history says that an occurrence was left out."""
        return bool(self.rows_of(timing, nominal))

    def rows_of(self, timing, nominal):
        return [row for row in self.end["left_out"] if row["job"] == timing.job.uid
                and row["timing"] in timing.tokens and row["first"] <= nominal <= row["last"]]

    def is_silent(self, timing, nominal, attempt):
        """Whether only an outage excuses an occurrence, and the history does not name it."""
        return not (self.is_left_out(timing, nominal) or timing.job.gone != NEVER
                    or self.is_held_up(timing, nominal, attempt))

    def timings(self):
        return (timing for job in self.jobs.values() for timing in job.timings)

    # The rules.

    def judge(self):
        if self.head["scenario"] == "Pings":
            return pings.judge(self)
        if self.head["scenario"] == "Processes":
            return processes.judge(self)
        opens.judge(self)
        brakes.judge(self)
        for rule in (self.owed, self.signs, self.left_out, self.overlaps, self.limited, self.at_once, self.calls, self.doubled, self.followed, self.rows,
                     self.counters, self.quarters, self.pauses, self.states, self.expiries, self.asked_runs, self.quotas):
            rule()
        self.kept(self.end)
        if not self.head["stalls"]:
            for it in self.attempts.values():
                if it.is_dead:
                    self.bad("among the dead letters", it.id)
        if self.later:
            self.kept(self.later)
            self.expired()
        return self.found

    def owed(self):
        """Every occurrence that is owed runs."""
        for timing in self.timings():
            until = min(self.horizon, timing.ended)
            for nominal in timing.until(self.machine.latest(until)):
                if self.last_due(timing, nominal) >= until:
                    continue
                attempt = self.attempt(timing, nominal, "main", 0)
                if attempt is not None and attempt.is_made:
                    continue
                if not self.is_excused(timing, nominal):
                    self.bad("missed", timing.job.uid, nominal)
                elif self.is_silent(timing, nominal, attempt):
                    self.bad("left out without a word", timing.job.uid, nominal)

    def signs(self):
        """A pass gives a sign of life of all sweepers, or finds one of the last fifty seconds."""
        if self.machine.lives:
            return
        signs = [at for at, _ in self.machine.beats["sweepers"]]
        for it in self.passes:
            first = it["from"] - SIGNED - self.skew()
            if not it["failed"] and not any(first <= at <= it["until"] for at in signs):
                self.bad("no sign of life in a pass", it["share"], it["from"])

    def left_out(self):
        """What the history says was left out fell into an outage that it names rightly, or was too late."""
        for row in self.end["left_out"]:
            job = self.jobs.get(row["job"])
            of_token = [it for it in job.timings if row["timing"] in it.tokens] if job else []
            if not of_token:
                self.bad("left out of no timing", row["job"], row["first"])
                continue
            timing, skew = of_token[0], self.skew()
            if row["reason"] == "tooLate":
                late = [plan.lateness for _, plan in job.plans if plan.lateness is not None]
                if not late or row["at"] - row["first"] <= min(late) or row["first"] != row["last"]:
                    self.bad("left out as too late, and was not", row["job"], row["first"])
                continue
            if row["reason"] == "overlap":
                self.overlapped(row, job, timing)
                continue
            gaps = [gap for gaps in self.gaps.values() for gap in gaps]
            gaps += [pause[1::2] for pauses in self.silences.values() for pause in pauses]
            is_known = any(start - skew <= row["from"] and row["until"] <= until + skew
                           for start, until in gaps)
            if not is_known:
                self.bad("left out for no outage", row["job"], row["first"])
            occurrences = [at for at in timing.until(row["last"] + 1) if at >= row["first"]]
            if len(occurrences) != row["occurrences"] or not occurrences \
                    or occurrences[0] != row["first"] or occurrences[-1] != row["last"]:
                self.bad("left out, and counted wrong", row["job"], row["first"])
            if row["first"] + timing.plan.jitter < row["from"] and row["first"] != row["last"]:
                self.bad("left out, and due before the outage", row["job"], row["first"])
            until = row["until"]
            if row["last"] > until or timing.makes_up(row["last"], until):
                self.bad("left out, and the last in the outage", row["job"], row["last"])

    def overlapped(self, row, job, timing):
        """What was left out for another attempt had not begun, never ran, and there was another one: it had
        the turn and no row, or it waited."""
        name, at = row["job"], row["first"]
        if row["first"] != row["last"] or at not in timing.until(at + 1):
            self.bad("left out for another, and no occurrence", name, at)
            return
        if any(it.role == "main" and it.calls and not it.is_run and it.nominal == at
               and it.token == row["timing"] for it in self.attempts.values() if it.uid == name):
            self.bad("left out for another, and run", name, at)
        marks = [line for line in self.turns[name] if line["what"] == "leaves out"
                 and line["nominal"] == at and line["timing"] == row["timing"]]
        if not marks or any(line["run"] or line["number"] for line in marks):
            self.bad("left out for another, and owed", name, at)
            return
        when = marks[0]["at"]
        if not any(plan.takes_turns for plan in job.policies(when - TURN_READ, when)):
            self.bad("left out for another, though they may overlap", name, at)
        if not self.is_busy(name, marks[0]["id"], when):
            self.bad("left out for another, and there was none", name, at)

    def is_busy(self, uid, own, when):
        """Whether another attempt of a job had the turn or waited."""
        last = {}
        for line in self.turns[uid]:
            if line["at"] <= when and line["id"] != own:
                last.setdefault(line["id"], []).append(line)
        for other, lines in last.items():
            rows = [row["at"] for row in self.attempts[other].rows] if other in self.attempts else []
            for line, after in zip(lines, lines[1:] + [None]):
                ends = rows + ([after["at"]] if after else [])
                over = min([end for end in ends if end >= line["at"]], default=NEVER)
                of = self.opens.get(other)
                takes = NEVER if of and of.is_open else LEASE
                lasts = {"takes": takes, "waits": PLACE}.get(line["what"], -CLOCKS)
                if when <= min(over + TURN_READ, line["at"] + lasts + CLOCKS):
                    return True
        return False

    def overlaps(self):
        """No two attempts of a job run at the same time, if it says so."""
        calls = defaultdict(list)
        for it in self.attempts.values():
            if it.role != "main":
                continue
            for line in it.calls:
                calls[it.uid].append((line["at"], self.worked_until(it, line), it.id))
        for uid, of_job in calls.items():
            end, last = 0, None
            for at, done, name in sorted(of_job):
                job = self.jobs.get(uid)
                always = job and all(plan.takes_turns for plan in job.policies(last_at(last) - TURN_READ, at))
                if at < end and always:
                    self.bad("overlap", f"{last[2]} and {name}", at)
                if done > end:
                    end, last = done, (at, done, name)

    def worked_until(self, it, call):
        """When the work of a call had ended, as far as the scheduler may know. A worker that dies says nothing of
        the answer, and its target may still work."""
        answers = it.answers + it.accepted
        done = [answer["at"] for answer in answers if answer["worker"] == call["worker"]]
        until = min(done, default=call["at"])
        # Of several calls the last one before that was left open.
        of = self.opens.get(it.id)
        before = [other for other in it.calls if of and other["at"] <= of.since]
        return max(until, of.until) if of and of.is_open and call is before[-1] else until

    def limited(self):
        """No more attempts of a collection start than it allows."""
        calls = defaultdict(list)
        for it in self.attempts.values():
            job = self.jobs.get(it.uid)
            if job:
                calls[job.collection.uid] += [(line["clock"], it.id) for line in it.calls]
        for uid, starts in calls.items():
            starts.sort()
            for n, (first, _) in enumerate(starts):
                # Places are given out one after the other: a burst shows in a few starts.
                for count, (last, name) in enumerate(starts[n:n + 20], 1):
                    limit = self.collections[uid].limit("maxPerSecond", first - CLOCKS, last + CLOCKS)
                    if limit is None:
                        break
                    if count > (last - first + AFTER_PLACE) * limit / SECOND + 1:
                        self.bad("more starts than its collection allows", name, last)
                        break

    def at_once(self):
        """No more attempts of a collection run at the same time than it allows."""
        calls = defaultdict(list)
        for it in self.attempts.values():
            job = self.jobs.get(it.uid)
            for line in it.calls if job else ():
                calls[job.collection.uid].append((line["at"], self.worked_until(it, line), it.id))
        for uid, of_collection in calls.items():
            running = []
            for at, done, name in sorted(of_collection):
                running = [end for end in running if end > at] + [done]
                # What began before the limit does not count, and ends within a lease.
                limit = self.collections[uid].limit("maxConcurrent", at - LEASE, at)
                if limit is not None and len(running) > limit:
                    self.bad("more at once than its collection allows", name, at)

    def policies(self, it):
        """The policies that may have decided what follows an attempt: those in force from its start
        to its row. What follows is decided when it is recorded."""
        job = self.jobs[it.uid]
        row = it.row
        first = min([line["at"] for line in it.calls] + [row["at"]])
        # A row of an earlier version does not say what follows: each later policy may decide.
        is_earlier = self.head["scenario"] == "Upgrade" and not row["next"]
        last = NEVER if is_earlier else row["at"]
        return job.policies(first - SECOND, last) or [job.plan]

    def before(self, attempt, role, number):
        it = self.by_id.get(f"{attempt.occurrence}.{role[0]}{number}")
        return it if it and it.row else None

    def last(self, attempt, role):
        """The last attempt in this role that has a row."""
        numbers = (it.number for it in self.by_occurrence[attempt.occurrence]
                   if it.role == role and it.row)
        number = max(numbers, default=None)
        return None if number is None else self.before(attempt, role, number)

    def due(self, attempt, timing):
        """When an attempt is due, by the rows of what it follows; None if it follows nothing."""
        role, number = attempt.role, attempt.number
        if number:
            it = self.before(attempt, role, number - 1)
            if it is None or it.row["ok"]:
                return None
            of_role = [self.policy(role, plan, timing) for plan in self.policies(it)]
            waits = [self.retry(it, policy, plan) for policy, plan in zip(of_role, self.policies(it))]
            waits = [wait for wait in waits if wait]
            return it.row["ended"] + min(waits)[0] if waits else None
        if role == "main" and attempt.is_run:
            # It is due when it is asked for, whatever the clock showed before.
            return min([attempt.nominal, *(line["due"] for line in attempt.calls)])
        if role == "main":
            return attempt.nominal
        it = self.last(attempt, "main")
        if it and attempt.calls and it.row["at"] > attempt.calls[0]["at"] \
                and self.head["scenario"] == "Upgrade":
            it = self.decided_anew(attempt) or it
        if it is None or it.row["ok"] or not any(self.closes(it, plan) for plan in self.policies(it)) \
                and "No retry follows" not in it.row["message"]:
            return None
        if role == "notice" and (error := self.last(attempt, "error")):
            it = error
        return it.row["ended"]

    def decided_anew(self, attempt):
        """A failure that an earlier version recorded, and after which its job had another policy: of two
        deliveries of its message, one may be followed by a retry, and the other one by what is last."""
        rows = [it for it in self.by_occurrence[attempt.occurrence]
                if it.role == "main" and it.row and not it.row["ok"] and not it.row["next"]]
        closes = [it for it in rows if any(self.closes(it, plan) for plan in self.policies(it))]
        return min(closes, key=lambda it: it.number, default=None)

    def retry(self, it, policy, plan):
        """The least and the longest wait before the retry that a policy lets follow an attempt; None if none
        may."""
        if policy is None or it.number >= policy.count:
            return None
        if it.role == "notice":
            return policy.interval, policy.interval
        asked = None if "workers were lost" in it.row["message"] else \
            next((line["asks"] for line in it.answers if not line["ok"]), None)
        least, most = plan.waits.after(policy, it.number, asked)
        return (least, most) if it.row["ended"] + least - it.nominal <= plan.waits.elapsed else None

    def closes(self, it, plan):
        """Whether no retry of the action follows by a policy."""
        return self.retry(it, plan.retry, plan) is None

    @staticmethod
    def policy(role, plan, timing):
        return {"main": plan.retry, "error": plan.error,
                "notice": timing.job.collection.notice}[role]

    def calls(self):
        """Never early, never of an old timing, never while the collection is off, never extra."""
        for it in self.attempts.values():
            if not it.calls:
                continue
            job, timing = self.jobs.get(it.uid), self.timing_of(it)
            if job is None:
                self.bad("a call of no job", it.id)
                continue
            on = timing
            if it.is_run and on is None:
                on = Timing(job, job.plan, it.token, 0, 0, 0)
            if on is None:
                self.bad("a call of no timing", it.id)
                continue
            due = self.due(it, on)
            if due is None:
                self.bad("a call that follows nothing", it.id, it.calls[0]["at"])
            for line in it.calls:
                self.call(it, line, on, due)
            if not it.is_run and it.nominal not in on.until(it.nominal + 1):
                self.bad("extra", it.id, it.calls[0]["at"])

    def call(self, it, line, timing, due):
        at, job = line["at"], timing.job
        if due is not None and line["clock"] < due:
            self.bad("early", it.id, at)
        if at > job.gone + CHECKED_BEFORE:
            self.bad("after its job was deleted", it.id, at)
        ended = timing.ended
        if timing.paused_until is not None and it.role != "main":
            # What follows the failures before a pause still runs.
            ended = timing.paused_until
        going_on = [] if it.is_run else self.going_on(timing, it.nominal)
        goes_on = [on.begins for on in going_on if on.begins <= at <= on.ended + CHECKED_BEFORE]
        if not it.is_run and at > ended + CHECKED_BEFORE and not goes_on:
            self.bad("of an old timing", it.id, at)
        # The last time that it was switched on counts: a clock may have been set back since the one before.
        on = NEVER
        for start, end, clock in job.collection.offs:
            if start + CHECKED_BEFORE < at < end:
                self.bad("while its collection is off", it.id, at)
            elif at > end + CHECKED_BEFORE:
                on = clock
        # What follows the first attempt at the last occurrence is made all the same.
        is_last = (it.role != "main" or it.number) and not it.is_run and timing.next(it.nominal) == NEVER
        # The wait before a retry may be spread: the worker knows when it ended.
        if on < NEVER and due is not None and not it.is_run and not is_last \
                and max(due, line["due"] or 0, timing.since) < on - CHECKED_BEFORE:
            self.bad("due before its collection was switched on", it.id, at)
        if it.role == "main" and it.number == 0 and not it.is_run:
            self.made_up(it, line, timing)
            self.made_up_on_machine(it, line, timing)
        if line is it.calls[0] and due is not None:
            self.late_call(it, line, timing, due, goes_on)

    def late_call(self, it, line, timing, due, goes_on):
        """A call begins when nothing is in its way; on one machine, the first one of an occurrence soon in any
        case."""
        at, is_first = line["at"], it.role == "main" and it.number == 0 and not it.is_run
        is_last = not is_first and not it.is_run and timing.next(it.nominal) == NEVER
        nominal, looks = it.nominal, LOOKS_EVERY
        # By its worker's clock it fell due while the collection was off, and by that of another one after that.
        is_dropped = is_first and not self.machine.lives \
            and self.is_off(timing.job.collection, self.first_way(timing, nominal, nominal))
        if is_dropped and timing.plan.is_endless():
            return
        if is_dropped:
            # It is looked for when the last one is sent.
            looks += max(0, max(timing.until(NEVER)) - nominal)
        again = goes_on + [end for _, end, _ in timing.job.collection.offs if (is_last or is_dropped) and end <= at]
        again = max((since for since in again if since >= self.machine.shows(due, 0) - CLOCKS), default=None)
        if again is not None:
            # It is sent again by the check whether the job is over.
            if self.had_time_again(Way(it.uid, {it.occurrence}, due, again, again, [it]), again, at, looks):
                self.bad("late", it.id, at)
            return
        if is_first and self.may_be_lost(it, timing, it.nominal):
            return
        if it.is_run and any(len(limits) > 1 for limits in timing.job.collection.limits.values()):
            # It waits for its place behind all others, also where a worker has it.
            return
        if not self.machine.lives:
            due = max(due, line["due"])
            before = self.before(it, it.role, it.number - 1) if it.number else None
            due = max(due, self.told_at(it, at))
            if before and self.head["scenario"] == "Upgrade" and not before.row["next"]:
                # What follows the row of an earlier version is decided by the check whether the job is over.
                return
            is_long = before is not None and due - before.row["ended"] > LONG - SECOND
            way = self.way(timing, due, due, [it], None, is_first or is_long)
            # A retry that a worker drops because the collection is off may still run, with a message that comes
            # back when it is on.
            is_dropped = not is_first and self.is_off(timing.job.collection, way)
            if not is_dropped and self.could_start(way, at):
                self.bad("late", it.id, at)
        elif is_first:
            due = self.due_before(timing, it.nominal, at)
            first = self.first_way(timing, it.nominal, self.due_at(timing, it.nominal))
            # What is dropped because its collection is off may be due again, and is then looked for later.
            if not self.is_off(timing.job.collection, first) \
                    and (self.machine.worked(due, at) > LATE_WHILE_IT_RUNS
                         or self.could_start(self.first_way(timing, it.nominal, due), at)):
                self.bad("late", it.id, at)

    def told_at(self, it, at):
        """When the attempt that a call follows was recorded, if it had been open: its end is a while before that."""
        of_it = (other for other in self.by_occurrence[it.occurrence] if other is not it and other.id in self.opens)
        return max((row["at"] for other in of_it for row in other.rows if row["at"] <= at), default=0)

    def made_up(self, it, line, timing):
        """Of the occurrences in an outage only those run that the job makes up for."""
        lateness = timing.plan.lateness
        if lateness is not None and line["due"] is not None and len(timing.job.plans) == 1 \
                and line["clock"] - line["due"] > lateness + SECOND:
            self.bad("started too late", it.id, line["at"])
        if line["due"] is not None and timing.plan.jitter \
                and not it.nominal <= line["due"] < it.nominal + timing.plan.jitter:
            self.bad("starts outside of its window", it.id, line["at"])
        for of, gaps in self.gaps.items():
            for start, until in gaps:
                if of == "sweepers" and self.is_sent_against(it, line, timing, (start, until)):
                    self.bad("sent after an outage, against the policy", it.id, line["at"])
                # Of several messages any may be the one. A sweeper that died after it sent the first does
                # not know of it. But what is sent when the outage is over is not the first.
                before = [at for at in it.sendings if at <= line["at"]]
                in_time = [at for at in before if at <= until] or before or [NEVER]
                sent = [min(in_time)] if of == "sweepers" else in_time
                if all(self.is_against(it, line, timing, (start, until), at) for at in sent):
                    self.bad("made up for, against the policy", it.id, line["at"])

    def is_sent_against(self, it, line, timing, gap):
        """Whether an occurrence was due while no sweeper worked, too late to be sent before, and the first
        that worked again sent what the job does not make up for. A sweeper gives its sign of life first."""
        start, until = gap
        worked_again = next(at for at, clock in self.machine.beats["sweepers"] if clock == until)
        due = max(it.nominal, line["due"])
        return min(it.sendings, default=NEVER) >= worked_again \
            and min(it.sendings, default=NEVER) <= line["at"] \
            and start + BEATS + LONG < it.nominal and due + OUTAGE < until - SECOND \
            and not timing.makes_up(it.nominal, until - SECOND)

    def is_against(self, it, line, timing, gap, sent):
        """Whether a call of a message of this time makes up for what it should not."""
        start, until = gap
        due = max(it.nominal, line["due"])
        ready = sent + CLOCKS if due < sent < NEVER else due
        is_after = line["clock"] >= until and line["clock"] - ready > OUTAGE
        return gap in self.outages(it.nominal, sent) and is_after and ready > start + BEATS \
            and not timing.makes_up(it.nominal, until - SECOND)

    def made_up_on_machine(self, it, line, timing):
        """While no process ran, neither sweeper nor workers did."""
        at, successor = self.due_at(timing, it.nominal), timing.next(it.nominal)

        def is_over(pauses):
            return any(start + BEATS < it.nominal and first < at <= last <= line["at"]
                       and successor <= until - SECOND
                       and not self.machine.is_set_back(last, line["at"], until)
                       for first, start, last, until in pauses)

        if self.silences and all(is_over(self.silences.get(of, [])) for of in ("sweepers", "workers")):
            self.bad("made up for, and not the last while no process ran", it.id, line["at"])

    def doubled(self):
        """Again only if the first worker could not record, and never within its claim."""
        for it in self.attempts.values():
            for before, after in zip(it.calls, it.calls[1:]):
                if any(row["at"] < after["at"] for row in it.rows):
                    self.bad("again though it is recorded", it.id, after["at"])
                elif after["at"] - before["at"] < CLAIMED \
                        and not self.machine.has_ended(before["at"], after["at"]):
                    self.bad("again within its claim", it.id, after["at"])

    def needs(self, follower, role, after, timing, soonest, due):
        """Reports what should follow an attempt between two instants, and does not."""
        if follower is not None and follower.is_made:
            return
        was_lost = bool(follower and follower.is_lost)
        is_lost = follower is None and self.head["loses"] or was_lost
        if due - after.row["ended"] > LONG:
            is_lost = False
        elif role == "main" and timing.next(after.nominal) == NEVER and not self.is_touched(timing):
            is_lost = False
        is_dead = after.is_dead or follower and follower.is_dead
        at = self.machine.shows(due, after.row["at"])
        if after.id in self.opens:
            # It is recorded when its end is known, which may be a while after it.
            at = max(at, after.row["at"])
        if is_lost or is_dead or at > self.horizon - self.late:
            return
        way = self.way(timing, due, at, [follower], after, due - after.row["ended"] > LONG)
        ends_at = min(timing.ended, timing.job.gone)
        if timing.paused_until is not None and role != "main":
            ends_at = min(timing.paused_until, timing.job.gone)
        if ends_at < NEVER and not self.could_start(way, ends_at) \
                and not self.could_go_on(timing, after.nominal, way):
            return
        recorded = Way(after.uid, {after.occurrence}, after.row["ended"], after.row["at"])
        if self.is_off(timing.job.collection, way, due - soonest) \
                or self.is_off(timing.job.collection, recorded) or self.is_before_on(timing.job.collection, due, at):
            return
        self.bad(f"no {role} follows", after.id)

    def followed(self):
        """A failure is followed by a retry, then by the error action, then by the notice."""
        for it in self.attempts.values():
            timing = self.timing_of(it)
            if timing is None or not it.row:
                continue
            notice, ended = timing.job.collection.notice, it.row["ended"]
            if it.role == "notice" and notice is None:
                self.bad("a notice of a collection that has none", it.id)
            wanted = {self.follower(it, plan, timing) for plan in self.policies(it)}
            if len(wanted) > 1 or None in wanted:
                # Nothing follows, or the policy changed while the attempt was under way.
                continue
            role, number, least, most = wanted.pop()
            follower = self.by_id.get(f"{it.occurrence}.{role[0]}{number}")
            self.needs(follower, role, it, timing, ended + least, ended + most)

    def follower(self, it, plan, timing):
        """What a policy lets follow a row: role, number, and after how long at least and at most."""
        policy, notice = self.policy(it.role, plan, timing), timing.job.collection.notice
        ok, is_given_up = it.row["ok"], "No retry follows" in it.row["message"]
        wait = None if ok or is_given_up else self.retry(it, policy, plan)
        if wait:
            return it.role, it.number + 1, *wait
        if it.role == "main" and not ok and plan.error:
            return "error", 0, 0, 0
        if (it.role == "main" and not ok or it.role == "error") and notice:
            return "notice", 0, 0, 0
        return None

    def rows(self):
        """Each attempt has one row, which says what its target answered, and stays as it is."""
        kept = {row["id"]: row for row in self.end["rows"]}
        for it in self.attempts.values():
            texts = {(row["started"], row["ended"], row["ok"], row["message"]) for row in it.rows}
            if len(texts) > 1:
                self.bad("recorded twice", it.id)
            job, timing = self.jobs.get(it.uid), self.timing_of(it)
            for row in it.rows:
                answers = [line["ok"] for line in it.answers if line["worker"] == row["worker"]]
                is_given_up = "workers were lost" in row["message"]
                if it.accepted and not answers or it.id in self.opens:
                    # How it ended was said elsewhere: a row needs a call, and an end.
                    if not it.calls or not (is_given_up or self.opens[it.id].said):
                        self.bad("a row of what has not ended", it.id)
                elif not answers and not (is_given_up and not row["ok"]):
                    self.bad("a row without a call", it.id)
                elif answers and not is_given_up and row["ok"] not in answers:
                    self.bad("a row that says otherwise than its target", it.id)
                if it.id in kept and kept[it.id]["ended"] != it.row["ended"]:
                    self.bad("a row that changed", it.id)
            if it.rows and it.id not in kept:
                self.bad("a row that is gone", it.id)
            is_open = it.id in self.opens and self.opens[it.id].is_open
            if it.calls and not it.rows and not is_open and it.calls[0]["at"] < self.horizon:
                due = it.calls[-1]["at"]
                dropped = list(self.dropped_at(it))
                # By a clock that was set back it is due again.
                again = self.due_before(timing, it.nominal, NEVER) if timing else due
                is_cut = timing is not None and timing.ended != NEVER or job and job.gone != NEVER
                is_over = not it.is_run and timing is not None and it.role == "main" \
                    and it.number == 0 and (self.is_overtaken(timing, it.nominal, it.sent)
                                            or self.is_too_late(timing, it.nominal))
                ways = [Way(it.uid, {it.occurrence}, at, at) for at in (due, again, *dropped)]
                is_off = any(self.is_off(job.collection, way) for way in ways) \
                    or self.is_off_after_call(job.collection, it)
                if not (is_cut or is_over or it.is_dead or is_off):
                    self.bad("never recorded", it.id)

    def counters(self):
        """As many executions, failures and faults as the history has."""
        by_job = defaultdict(list)
        for row in self.end["rows"]:
            if row["role"] == "main":
                by_job[row["job"]].append(row)
        for timer in self.end["timers"]:
            rows = by_job[timer["uid"]]
            if any(row["ended"] > self.machine.clock(self.end["at"]) - 10 * SECOND for row in rows):
                continue
            want = (len(rows), sum(1 for row in rows if not row["ok"]))
            have = (timer["executions"], timer["failures"])
            # An earlier version may forget one.
            is_earlier = self.head["scenario"] == "Upgrade"
            forgotten = [them - us for us, them in zip(have, want)]
            # The store failed when it was to be counted, and the message that was sent to do that was lost.
            lost = [row for row in rows if row["id"] in self.attempts and self.attempts[row["id"]].is_lost]
            may_miss = (len(lost), sum(1 for row in lost if not row["ok"]))
            is_right = all(0 <= it <= most for it, most in zip(forgotten, may_miss)) \
                or is_earlier and all(0 <= it <= 1 for it in forgotten)
            if not is_right:
                self.bad("counted wrong", f"{timer['uid']} counts {have}, and its history {want}")
            self.faults(timer, rows)
            started = max((row["started"] for row in rows), default=None)
            if timer["last"] != started and not is_earlier:
                self.bad("another attempt is the latest", f"{timer['uid']} says {timer['last']}", started)
            self.skips(timer)

    def quarters(self):
        """Each quarter of an hour counts the occurrences that were due in it. What is deleted may be counted or
        not; earlier versions count none, and lost messages are counted by nobody."""
        if self.head["scenario"] == "Upgrade" or self.head["loses"] or self.head["stalls"]:
            return
        counted, sums = {}, defaultdict(lambda: [0, 0])
        for it in self.end["quarters"]:
            counted[it["collection"], it["from"]] = it["succeeded"]
            sums[it["collection"]][0] += it["failed"]
            sums[it["collection"]][1] += it["skipped"]
        partly = {job.collection.uid for job in self.jobs.values() if job.gone < NEVER}
        told = defaultdict(int)
        for row in self.end["rows"]:
            if row["role"] == "main" and row["ok"]:
                at = row["nominal"] - self.epoch
                told[self.jobs[row["job"]].collection.uid, at - at % (15 * MINUTE) + self.epoch] += 1
        for uid in set(self.collections) - partly:
            times = {at for of, at in [*counted, *told] if of == uid}
            for at in times:
                if counted.get((uid, at), 0) != told[uid, at]:
                    self.bad(f"a quarter counts {counted.get((uid, at), 0)}, and history has {told[uid, at]}", uid, at)
            timers = [it for it in self.end["timers"] if it["collection"] == uid]
            have = [sum(it[name] for it in timers) for name in ("faulted", "skipped")]
            if have != sums[uid]:
                self.bad(f"quarters count {sums[uid]} failed and skipped, and jobs {have}", uid)

    def skips(self, timer):
        """Skipped are the occurrences that the history says were left out, and of those that fell due or could
        not start while the collection was off, no more than there are."""
        job, least, most = self.jobs[timer["uid"]], 0, 0
        for at, it in self.runs:
            way = Way(it.uid, {it.occurrence}, at, at)
            most += it.uid == job.uid and (self.is_off(job.collection, way)
                                           or self.is_off_after_call(job.collection, it))
        for timing in job.timings:
            until = min(self.end["at"], timing.ended)
            # The clock of a worker may show a little more.
            clocks = 0 if self.machine.lives else self.skew()
            for nominal in timing.until(self.machine.latest(until) + clocks):
                at = self.last_due(timing, nominal)
                attempt = self.attempt(timing, nominal, "main", 0)
                rows = self.rows_of(timing, nominal)
                if rows:
                    ran = attempt is not None and attempt.is_made
                    if ran and attempt.row and rows[0]["reason"] == "outage" \
                            and not self.machine.is_passed_twice(nominal) \
                            and not self.was_sent_again(attempt):
                        self.bad("left out in an outage, and made", attempt.id)
                    # A change cancelled its message before it was counted.
                    may_miss = ran or self.is_cut(timing, self.first_way(timing, nominal, at))
                    # A sweeper that dies after it sent an occurrence leaves it out, too. Both may write one row.
                    twice = not self.machine.lives and len(rows) == 1 and rows[0]["reason"] == "outage" \
                        and attempt is not None and self.was_sent_unnoted(attempt)
                    least, most = least + (not may_miss), most + may_miss + len(rows) - 1 + twice
                elif any(self.is_off(job.collection, self.first_way(timing, nominal, due))
                         or self.is_before_on(job.collection, nominal, due)
                         for due in self.dues(timing, nominal, until)) \
                        or self.is_off_after_call(job.collection, attempt) \
                        or any(end >= on.begins and start <= on.ended
                               for on in self.going_on(timing, nominal)
                               for start, end, _ in job.collection.offs):
                    most += 1
        if not least <= timer["skipped"] <= least + most:
            text = f"{timer['uid']} counts {timer['skipped']}, and there are {least} to {least + most}"
            self.bad("skipped counted wrong", text)

    def was_sent_again(self, attempt):
        """Whether an occurrence was sent again, so that a worker could leave it out with one message and another
        one run it with the other: the second was sent so late that it was less than ten minutes late, or the
        first in time, and the second after the outage had begun."""
        called = min(line["at"] for line in attempt.calls) if attempt.calls else NEVER
        return any(at > max(attempt.sent, attempt.nominal)
                   and (attempt.sent <= attempt.nominal or called - at < OUTAGE + CLOCKS + self.skew())
                   for at in attempt.sendings)

    def was_sent_unnoted(self, attempt):
        """Whether each pass or request that sent an occurrence failed, or had read an old timer of its job. Then
        the timer may not have moved, and after an outage both a worker and a sweeper leave the occurrence out and
        count it."""
        def is_unnoted(at):
            for it in self.passes:
                if it["from"] <= at <= it["until"] and self.is_shared(it, attempt.uid):
                    return not self.is_sound(it, attempt.uid)
            return any(at <= trouble < at + REQUEST for all_of in self.troubles.values() for trouble in all_of)
        return bool(attempt.sendings) and all(map(is_unnoted, attempt.sendings))

    def faults(self, timer, rows):
        """A fault is an occurrence or a run whose last attempt failed, and nothing else."""
        by_occurrence = defaultdict(list)
        for row in rows:
            by_occurrence[row["id"].rsplit(".", 1)[0]].append(row)
        least = most = 0
        for of_occurrence in by_occurrence.values():
            last = max(of_occurrence, key=lambda row: row["number"])
            it = self.attempts.get(last["id"])
            if last["ok"] or it is None or not it.rows:
                most += not last["ok"]
                continue
            given_up = "No retry follows" in last["message"]
            ends = {given_up or self.closes(it, plan) for plan in self.policies(it)}
            least += ends == {True}
            most += True in ends
        if not least <= timer["faulted"] <= most:
            text = f"{timer['uid']} counts {timer['faulted']}, and its history {least} to {most}"
            self.bad("faults counted wrong", text)

    def pauses(self):
        """As many failures in a row as a job names disable it, and nothing else does."""
        rows = defaultdict(dict)
        for it in self.attempts.values():
            if it.row and it.role == "main" and not it.is_run:
                rows[it.uid, it.token].setdefault(it.nominal, []).append(it)
        for timing in self.timings():
            after = timing.plan.pauses_after
            if after is None:
                continue
            runs, run = [], []
            for token in timing.tokens:
                run = []
                runs.append(run)
                for nominal, of_nominal in sorted(rows[timing.job.uid, token].items()):
                    last = max(of_nominal, key=lambda it: it.number)
                    closes = any(self.closes(last, plan) for plan in self.policies(last))
                    if last.row["ok"] or not closes:
                        run = []
                        runs.append(run)
                    else:
                        run.append(last.row["at"])
            if timing.paused_until is not None:
                limit = timing.ended + self.skew()
                if not any(sum(at <= limit for at in run) >= after for run in runs):
                    self.bad("paused without as many failures", timing.job.uid, timing.ended)
            elif not self.head["loses"] and self.head["scenario"] != "Upgrade" \
                    and timing.job.gone == NEVER:
                for run in runs:
                    reach = self.reach(max(run)) if len(run) >= after else NEVER
                    dead = any(it.is_dead for it in self.attempts.values())
                    if reach < min(timing.ended, self.horizon) and timing.next(reach) != NEVER \
                            and not dead:
                        self.bad("not paused after as many failures", timing.job.uid, max(run))

    def chain(self, timing, nominal):
        """How an occurrence ended: "ok", "failed", "void", "open", or "either"."""
        due = nominal
        for number in range(1_000):
            it = self.attempt(timing, nominal, "main", number)
            if it is None or not it.row:
                if number == 0:
                    is_void = self.is_void(timing, nominal) if self.going_on(timing, nominal) \
                        else self.is_excused(timing, nominal)
                    return "void" if is_void else "open"
                at = self.due_at(timing, due)
                before = self.attempt(timing, nominal, "main", number - 1)
                way = self.way(timing, due, at, [it], before, due - before.row["ended"] > LONG)
                is_off = self.is_off(timing.job.collection, way) \
                    or self.is_before_on(timing.job.collection, due, at)
                # What follows at the last occurrence is made after its collection was off, too.
                return "failed" if is_off and timing.next(nominal) != NEVER else "open"
            if it.row["ok"]:
                return "ok"
            wanted = {self.follower(it, plan, timing) for plan in self.policies(it)}
            retries = [want for want in wanted if want and want[0] == "main"]
            if not retries:
                return "failed"
            if len(wanted) > 1 and self.attempt(timing, nominal, "main", number + 1) is None:
                return "either"
            due = it.row["ended"] + max(most for _, _, _, most in retries)

    def is_void(self, timing, nominal):
        """Whether an occurrence with which a job goes on need not run."""
        at = self.due_at(timing, nominal)
        return self.is_off(timing.job.collection, self.first_way(timing, nominal, at)) \
            or self.is_before_on(timing.job.collection, nominal, at) \
            or any(self.was_off_between(at, it.begins, timing.job.collection)
                   for it in self.going_on(timing, nominal)) \
            or self.is_left_out(timing, nominal)

    def states(self):
        """A job is over when its last occurrence has ended, and not before."""
        for timer in self.end["timers"]:
            job, state = self.jobs.get(timer["uid"]), timer["state"]
            if job is None or job.gone != NEVER:
                continue
            timing = self.in_force.get(job.uid)
            if timing is None:
                if state != "disabled":
                    self.bad("not disabled", job.uid)
                continue
            if timing.plan.is_endless():
                if state != "enabled":
                    self.bad("final though it never ends", job.uid)
                continue
            ends = [(at, self.chain(timing, at)) for at in timing.until(NEVER)]
            if timing.goes_on:
                of, at = timing.goes_on
                ends = [(at, self.chain(of, at))]
            is_open = any(end == "open" or self.due_at(timing, at) > self.horizon for at, end in ends)
            rows = [row["ended"] for row in self.end["rows"]
                    if row["job"] == job.uid and row["role"] == "main"]
            offs = [max(end, clock) for _, end, clock in job.collection.offs]
            quiet = max([timing.since, *rows, *offs, *(at for at, _ in ends)])
            if state == "enabled":
                is_waiting = job.uid in self.end["retries"]
                if not is_open and not is_waiting \
                        and quiet < self.machine.clock(self.end["at"]) - HOUR:
                    self.bad("never final", job.uid)
                continue
            if state == "disabled":
                self.bad("disabled, and enabled by its document", job.uid)
            elif ends and ends[-1][1] == "open":
                self.bad("final too soon", job.uid)
            else:
                decides = next((end for _, end in reversed(ends) if end != "void"), "ok")
                last = ends[-1][1] if ends else "ok"
                if last not in ("void", "either") and (state == "faulted") != (decides == "failed"):
                    self.bad(f"{state}, and its last occurrence {decides}", job.uid)

    def asked_runs(self):
        """A run that was accepted happens."""
        for at, it in self.runs:
            job = self.jobs.get(it.uid)
            if it.is_made or it.is_lost or it.is_dead or job is None or job.gone != NEVER:
                continue
            way = Way(it.uid, {it.occurrence}, at, at)
            if not self.is_off(job.collection, way):
                self.bad("a run that was accepted and never made", it.id, at)

    def expiries(self):
        """Only a job that is over expires, sixty days later."""
        skew = self.skew() + self.machine.set_back()
        for timer in self.end["timers"]:
            job, expires = self.jobs[timer["uid"]], timer["expires"]
            timing = job.now()
            # A run, an error action or a notice may end later.
            ends = [row["ended"] for row in self.end["rows"]
                    if row["job"] == job.uid and row["role"] == "main" and not row["run"]
                    and timing and row["timing"] in timing.tokens]
            if (expires is not None) != (timer["state"] in ("completed", "faulted")):
                # What an earlier version finishes expires when its timer is due, which it leaves there.
                if expires is not None or self.head["scenario"] != "Upgrade":
                    self.bad("expires, and is not over" if expires else "never expires", job.uid)
            elif expires is not None:
                if expires < max(ends, default=0) + SIXTY_DAYS - skew:
                    self.bad("expires too soon", timer["uid"], expires)
                elif expires > self.machine.latest(self.end["at"]) + SIXTY_DAYS + skew:
                    self.bad("expires too late", timer["uid"], expires)

    def quotas(self):
        """A collection is full when it has as many jobs as its quota; what has expired is not there."""
        expires = {it["uid"]: it["expires"] for it in self.end["timers"] if it["expires"]}
        for asked, line in self.full:
            for collection in self.collections.values():
                if collection.name != line["collection"] or collection.gone <= asked \
                        or collection.since >= line["at"]:
                    continue
                inside = [job for job in self.jobs.values() if job.collection is collection
                          and job.plans[0][0] <= line["at"] and job.gone >= asked
                          and expires.get(job.uid, NEVER) + self.skew() >= asked]
                if len(inside) < collection.quota:
                    self.bad("refused though there was room", collection.uid, line["at"])

    def kept(self, line):
        """What is deleted leaves nothing, and what is there is whole."""
        collections = {it["uid"]: it["jobs"] for it in line["collections"]}
        timers = {it["uid"] for it in line["timers"]}
        inside = defaultdict(int)
        for collection, uid in line["definitions"]:
            inside[collection] += 1
            if collection not in collections:
                self.bad("a job whose collection is deleted", uid)
            elif uid not in timers:
                self.bad("a job that never fires", uid)
        for uid in timers - {uid for _, uid in line["definitions"]}:
            self.bad("a timer without a job", uid)
        for uid, jobs in collections.items():
            # What expires is not taken off the count, which is an upper bound then.
            is_counted = inside[uid] == jobs if line is self.end else inside[uid] <= jobs
            if inside[uid] > self.collections[uid].quota:
                self.bad("more than the quota", uid)
            if not is_counted:
                self.bad("jobs counted wrong", f"{uid} has {inside[uid]}, and counts {jobs}")
        if line["purges"]:
            self.bad("never purged", line["purges"])
        if line is self.end:
            for job in self.jobs.values():
                is_there = job.plans[0][0] <= line["at"] < job.gone
                if is_there != (job.uid in timers):
                    self.bad("a job that is gone" if is_there else "not deleted", job.uid)

    def expired(self):
        """A job that is over is kept for sixty days, any other for ever."""
        left = {it["uid"] for it in self.later["timers"]}
        for timer in self.end["timers"]:
            uid, is_over = timer["uid"], timer["state"] in ("completed", "faulted")
            if is_over and uid in left:
                self.bad("kept too long", uid)
            elif not is_over and uid not in left:
                job = self.jobs[uid]
                if job.now() is None or job.now().plan.is_endless():
                    self.bad("gone", uid)


def runs(lines):
    run = []
    for line in lines:
        line = json.loads(line)
        if line["e"] == "run" and run:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def main():
    for run in runs(sys.stdin):
        head = run[0]
        found = Judge(run).judge()
        verdict = {"seed": head["seed"], "mutation": head["mutation"], "found": found}
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
