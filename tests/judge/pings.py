"""What the second judge demands of jobs that expect pings.

It follows shared/docs/actions.md, "Expecting pings": from the times at which pings were stored it tells which
occurrence each of them started, paid or ended, and compares that with history.
"""

from collections import defaultdict
from itertools import pairwise

SECOND = 1_000_000
NEVER = 1 << 62
# "A ping that comes again within a second is one."
AGAIN = SECOND
# Two signs that are further apart are those of a process that may have been away.
SIGNED = 19 * SECOND
# Clocks differ, and a sign is stored a moment after it is given.
MOMENT = SECOND // 4
# What is owed when its job or collection changes within so long may be dropped.
CHANGING = 25 * 60 * SECOND
HOUR = 3_600 * SECOND


class Occurrence:
    """An occurrence of a job, whichever timing owes it, and what was said of it."""

    def __init__(self):
        # "ok", "fail", or "begun"; None if nothing came.
        self.said = None
        self.until, self.rid = None, None
        # The timings for which a worker has claimed it, when one was given back, and whether a worker has
        # ended it at its deadline.
        self.claims, self.given_back, self.is_over = set(), {}, False
        self.is_unclear = False

    def takes(self, tokens):
        return self.said is None and not self.claims & tokens


class Pinged:
    """The pings of one job."""

    def __init__(self, job):
        self.job, self.occurrences = job, defaultdict(Occurrence)
        self.came, self.counted = {}, []
        # What history says was left out because nothing took pings.
        self.left_out = set()

    def timing(self, at):
        return next((it for it in self.job.timings if it.begins <= at < it.ended), None)

    def window(self, timing, nominal):
        """When a ping may come for an occurrence."""
        early, grace = timing.plan.expects
        rule = timing.plan.rule(timing.anchor)
        step = rule.interval * 60 * SECOND if rule else NEVER
        # The first one of a timing has none before it.
        is_first = next(iter(timing.until(NEVER)), None) == nominal
        return nominal - (early if is_first else min(early, step // 2)), nominal + grace

    def owed(self, clock, at):
        """What is owed by the timing in force, the oldest first."""
        timing = self.timing(at)
        if timing is None or timing.plan.expects is None:
            return []
        early, _ = timing.plan.expects
        windows = [(it, *self.window(timing, it)) for it in timing.until(clock + early + 1)]
        return [(it, last) for it, first, last in windows if first <= clock <= last]

    def changed(self, first, last):
        edges = [at for it in self.job.timings for at in (it.begins, it.ended)]
        return any(first <= at <= last for at in edges)

    def is_repeated(self, ping):
        same = ("kind", "rid", "text")
        return any(all(it[name] == ping[name] for name in same)
                   and abs(it["clock"] - ping["clock"]) < AGAIN for it in self.counted)

    def begun(self, clock):
        """What has begun and may still end, by when it was due."""
        return sorted(nominal for nominal, it in self.occurrences.items()
                      if it.said == "begun" and it.until >= clock and not it.is_over)

    def store(self, ping, at):
        clock, rid = ping["clock"], ping["rid"]
        for it in self.occurrences.values():
            # Who is late with the end finds that it is over, also if another ping said so first.
            if it.said == "begun" and it.until < clock:
                it.is_over = True
        owed, begun = self.owed(clock, at), self.begun(clock)
        near = {nominal for nominal, _ in owed} | set(begun)
        timing = self.timing(at)
        if timing and timing.goes_on:
            # A job that goes on with an occurrence owes the ping of that, too.
            self.occurrences[timing.goes_on[1]].is_unclear = True
        tokens = timing.tokens if timing else set()
        freed = any(self.occurrences[it].given_back.get(token, -NEVER) >= (-HOUR if it in self.left_out else ping["at"])
                    for it, _ in owed for token in tokens)
        if freed or self.changed(ping["at"] - MOMENT, at) \
                or any(self.occurrences[it].is_unclear for it in near):
            for nominal in near:
                self.occurrences[nominal].is_unclear = True
        free = next(((it, last) for it, last in owed if self.occurrences[it].takes(tokens)), None)
        if ping["kind"] == "start":
            if free and not (rid and any(self.occurrences[it].rid == rid for it in begun)):
                it = self.occurrences[free[0]]
                it.said, it.rid, it.until = "begun", rid, max(clock + free[1] - free[0], free[1])
        elif ping["kind"] != "log":
            nominal = self.ends(rid, free and free[0], begun)
            if nominal is not None:
                self.occurrences[nominal].said = {"success": "ok", "fail": "fail"}[ping["kind"]]

    def ends(self, rid, free, begun):
        """Which occurrence an end is the end of."""
        if rid:
            mine = [it for it in begun if self.occurrences[it].rid == rid]
            if mine:
                return mine[0]
        nameless = [it for it in begun if self.occurrences[it].rid is None]
        if free is not None:
            return min([free, *nameless[:1]])
        return (nameless or ([] if rid else begun) or [None])[0]


class Api:
    def __init__(self, at):
        self.first, self.begun, self.ended, self.signs = at, None, NEVER, []

    def sure(self):
        """The times in which its signs say that it was there."""
        if self.begun is None:
            return
        signs = [self.begun] + [at for at in self.signs if self.begun < at <= self.ended]
        yield from (pair for pair in pairwise(signs) if pair[1] - pair[0] <= SIGNED)


def reaches(times, first):
    """Until when times cover what follows an instant."""
    for begin, end in sorted(times):
        if begin <= first:
            first = max(first, end)
    return first


def judge(it):
    """What is wrong with a run of pings."""
    jobs = {uid: Pinged(job) for uid, job in it.jobs.items()}
    for row in it.end["left_out"]:
        if row["reason"] == "notWatched":
            jobs[row["job"]].left_out.add(row["first"])
    apis = {}
    for line in it.pinged:
        kind, at = line["e"], line["at"]
        if kind == "api":
            if line["what"] == "begins":
                apis[line["api"]] = Api(at)
            else:
                setattr(apis[line["api"]], line["what"], at)
            continue
        if kind == "sign":
            apis[line["api"]].signs.append(at)
            continue
        of = jobs[line["job"]]
        if kind == "ping":
            of.came[line["ping"]] = line
        elif kind == "pinged":
            ping = of.came[line["ping"]]
            if of.is_repeated(ping):
                it.bad("a ping that came again counts", line["job"], at)
            of.store(ping, at)
            of.counted.append(ping)
        elif kind == "ping answered":
            ping = of.came[line["ping"]]
            if line["known"] and ping not in of.counted and not of.is_repeated(ping):
                it.bad("answered, and not stored", line["job"], at)
            if not line["known"] and of.job.gone > at:
                it.bad("a key that is not known", line["job"], at)
        elif kind == "claim":
            of.occurrences[line["nominal"]].claims.add(line["timing"])
            ends = [of.window(timing, line["nominal"])[1] for timing in of.job.timings
                    if timing.plan.expects and line["timing"] in timing.tokens]
            if ends and line["clock"] < min(ends):
                it.bad("claimed while a ping may come", line["job"], at)
        elif kind == "released":
            occurrence = of.occurrences[line["nominal"]]
            if line["timing"] in occurrence.claims:
                occurrence.claims.remove(line["timing"])
                occurrence.given_back[line["timing"]] = at
        else:
            of.occurrences[line["nominal"]].is_over = True
    rows, left_out = defaultdict(list), defaultdict(list)
    for row in it.end["rows"]:
        if row["role"] == "main":
            rows[row["job"], row["nominal"]].append(row)
    for row in it.end["left_out"]:
        if row["reason"] == "notWatched":
            left_out[row["job"]].append((row["first"], row["last"]))
    for uid, of in jobs.items():
        for nominal, occurrence in list(of.occurrences.items()):
            said(it, uid, nominal, occurrence, rows[uid, nominal], of.job)
        for timing in of.job.timings:
            for nominal in timing.until(min(timing.ended, it.horizon)):
                if timing.plan.expects:
                    is_out = any(first <= nominal <= last for first, last in left_out[uid])
                    ended(it, of, timing, nominal, rows[uid, nominal], is_out, apis.values())
    # Notices have retries that wait for long.
    if it.end["retries"] and not any(of.notice for of in it.collections.values()):
        it.bad("deadlines that nothing removed", it.end["retries"])
    it.quarters()
    return it.found


def said(it, uid, nominal, occurrence, rows, job):
    """History says what pings said."""
    if occurrence.said is None or occurrence.is_unclear or job.gone < NEVER:
        return
    words = {"ok": "A ping came", "fail": "A ping reported a failure", "begun": "No ping came until"}
    is_right = len(rows) == 1 and words[occurrence.said] in rows[0]["message"] \
        and rows[0]["ok"] == (occurrence.said == "ok")
    if not is_right:
        it.bad(f"a ping said {occurrence.said}, and history {[row['message'] for row in rows]}", uid, nominal)


def ended(it, of, timing, nominal, rows, is_out, apis):
    """Each occurrence is paid, failed or left out."""
    first, last = of.window(timing, nominal)
    first, occurrence, uid = max(first, timing.since), of.occurrences[nominal], of.job.uid
    if len(rows) + is_out > 1:
        it.bad("ended more than once", uid, nominal)
    signed = [pair for api in apis for pair in api.sure()]
    if is_out and reaches(signed, first) >= last + SECOND:
        it.bad("left out, and something took pings", uid, nominal)
    is_missing = bool(rows) and occurrence.said is None and not occurrence.is_unclear
    if is_missing and (rows[0]["ok"] or "No ping came until" not in rows[0]["message"]):
        it.bad("history tells of a ping that did not come", uid, nominal)
    there = [(api.first - MOMENT, api.ended + MOMENT) for api in apis]
    if is_missing and reaches(there, first + MOMENT) < last - MOMENT:
        it.bad("failed, and nothing took pings", uid, nominal)
    is_off = any(off < last + CHANGING and on > first for off, on, _ in of.job.collection.offs)
    is_changed = min(timing.ended, of.job.gone) < last + CHANGING
    if not rows and not is_out and not is_off and not is_changed:
        it.bad("nothing became of it", uid, nominal)
