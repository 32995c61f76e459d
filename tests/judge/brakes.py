"""What the second judge demands of origins that hang.

It follows shared/docs/guarantees.md, "A target that hangs": after five calls in a row without an answer, an origin
gets one call in half a minute until it answers one. The log has the calls of each origin, and what the workers told
each other of it.
"""

SECOND = 1_000_000
HANGS_AFTER = 5
# "Two at a time", beside those that began before.
AT_ONCE = 2
# How long after that all workers know it.
KNOWN = 6 * SECOND
# Clocks differ a little, and the store takes its time.
CLOSER = 3 * SECOND
# "Ten minutes after the last one that is forgotten."
FORGOTTEN = 600 * SECOND
# "Within five minutes", and two workers that die meanwhile.
LOOKS = 540 * SECOND
# A call is due each half minute, and what waits looks in five minutes at most; and a worker may die.
CALLED = 480 * SECOND


def judge(it):
    """What is wrong with the calls of origins that hang."""
    for lines in it.brakes.values():
        at_once(it, lines)
        waits(it, lines)


def hanging(lines):
    """The times in which an origin hung, as all workers know: from the fifth call without an answer to the next
    answer, or until that is forgotten."""
    row = []
    for line in lines + [{"what": "answered", "at": 1 << 62}]:
        if line["what"] == "call":
            continue
        is_answer = line["what"] == "answered"
        is_over = bool(row) and (is_answer or line["at"] > row[-1] + FORGOTTEN - CLOSER)
        if is_over:
            if len(row) >= HANGS_AFTER:
                yield row[HANGS_AFTER - 1] + KNOWN, min(line["at"], row[-1] + FORGOTTEN - CLOSER)
            row = []
        if not is_answer:
            row.append(line["at"])


def at_once(it, lines):
    """No more calls than allowed begin and are under way while an origin hangs."""
    calls = [line for line in lines if line["what"] == "call"]
    for first, last in hanging(lines):
        begun = [line for line in calls if first < line["at"] <= last]
        for line in begun:
            others = [other for other in begun
                      if other["at"] <= line["at"] < other["until"] - (CLOSER if other is not line else 0)]
            if len(others) > AT_ONCE:
                it.bad("too many calls of an origin that hangs", line["id"], line["at"])


def waits(it, lines):
    """An origin that hangs gets a call now and then, and all of them when it has answered."""
    first = {}
    for line in lines:
        if line["what"] == "call":
            first.setdefault(line["id"], line)
    answered = before = None
    for line in lines:
        if line["what"] == "unanswered":
            answered = None
        elif line["what"] == "answered":
            answered = line["at"] if answered is None else answered
        else:
            at = line["at"]
            if first[line["id"]] is line and answered is not None and at - max(answered, line["due"]) > LOOKS:
                it.bad("waits though its origin answers", line["id"], at)
            if before is not None and at - before > CALLED \
                    and any(other["at"] >= at and other["due"] < before for other in first.values()):
                it.bad("no call of an origin that hangs", line["origin"], at)
            before = at
