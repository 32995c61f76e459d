"""What the second judge demands of processes that share a database.

It follows shared/docs/postgres.md: the log has the true time, which is that of the database; what processes
stored and when; and when they were killed, frozen, or without their database.
"""

from collections import defaultdict

SECOND = 1_000_000
NEVER = 1 << 62
# "A process is dead that has given no sign for five seconds."
SILENT = 4 * SECOND
# What is due runs within so long, whatever dies meanwhile.
LATE = 10 * 60 * SECOND
# From the last look at a job to the call.
CHECKED = SECOND + SECOND // 4


def judge(it):
    """What is wrong with a run of many processes."""
    signs, dead, claims, workers, away = {}, {}, {}, {}, defaultdict(list)
    lease = (None, 0)
    for line in it.shared:
        what, at, number = line["what"], line["at"], line.get("number")
        if what == "sign":
            signs[number] = at
        elif what == "begins":
            workers[number] = line["worker"]
        elif what == "dead":
            dead[number] = at
            # It may have been slow for so long.
            away[workers[number]].append((at, at))
            if at - signs[number] < SILENT:
                it.bad("marked dead while it gave signs", number, at)
        elif what in ("gone", "frozen"):
            away[line["worker"]].append((at, line.get("until", NEVER)))
        elif what == "lease":
            lease = (line["worker"], line["until"])
        elif what == "sweeps" and lease[0] != line["worker"] and at < lease[1]:
            it.bad("sweeps beside the one that has the lease", line["worker"], at)
        elif what == "claimed":
            claims[line["id"]] = number
        elif what == "held" and dead.get(claims.get(line["id"]), NEVER) < at:
            it.bad("a dead process holds it", line["id"], at)

    def stood_still(worker, first, last):
        return any(begin <= last and end >= first for begin, end in away[worker])

    for attempt in it.attempts.values():
        timing = it.timing_of(attempt)
        for before, call in zip([None, *attempt.calls], attempt.calls):
            if call["at"] < call["due"]:
                it.bad("early", attempt.id, call["at"])
            if before and not excused(it, attempt, before, call, stood_still):
                it.bad("again, and its process was there", attempt.id, call["at"])
            if timing and attempt.role == "main" and not attempt.is_run \
                    and timing.ended + CHECKED < call["at"] \
                    and not any(later.begins <= call["at"] <= later.ended + CHECKED
                                for later in it.going_on(timing, attempt.nominal)) \
                    and not stood_still(call["worker"], call["at"] - SECOND, call["at"]):
                it.bad("of an old timing", attempt.id, call["at"])
    for job in it.jobs.values():
        for timing in job.timings:
            until = min(timing.ended, job.gone, it.horizon) - LATE
            for nominal in timing.until(until):
                made = it.attempt(timing, nominal, "main", 0)
                if any(off < nominal + LATE and on > nominal - LATE for off, on, _ in job.collection.offs):
                    continue
                if made is None or not made.is_made:
                    it.bad("nothing ran", job.uid, nominal)
    it.counters()
    it.kept(it.end)
    it.quarters()
    return it.found


def excused(it, attempt, before, call, stood_still):
    """Whether a call may be made again: its worker was not able to record it."""
    first, last, worker = before["at"], call["at"], before["worker"]
    if any(row["worker"] == worker and row["at"] < last for row in attempt.rows):
        return False
    failed = any(first <= at <= last for at in it.troubles.get(worker, []))
    return failed or stood_still(worker, first - SECOND, last)
