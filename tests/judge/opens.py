"""What the second judge demands of attempts that stay open.

It follows shared/docs/actions.md, "Longer than a minute": a target that answers 202 reports the end later, and
one end counts. The log has the reports as they were sent and answered, and when an attempt was left open and its
end stored.
"""

SECOND = 1_000_000
NEVER = 1 << 62
# What history says of each end.
WORDS = {
    "success": "Success was reported", "failure": "Failure was reported",
    "deadline": "Nothing was reported within", "cancel": "It was cancelled",
}
# A message that asks for the end may be lost: then a timer does that, which looks every twenty minutes.
LOOKS_EVERY = 20 * 60 * SECOND


class Open:
    """What is known of the end of an attempt."""

    def __init__(self):
        # When it was left open, and how its end was stored: what, when, and the clock that decided it.
        self.since, self.said = NEVER, []
        self.reports = []

    @property
    def until(self):
        """When its target had ended its work."""
        return self.said[0]["at"] if self.said else NEVER

    @property
    def is_open(self):
        return self.since < NEVER


def note(attempts, reports, line):
    """Reads a line of the log."""
    kind = line["e"]
    if kind == "reported":
        reports[line["report"]]["answer"] = line["answer"]
        return
    it = attempts[line["id"]]
    if kind == "report":
        reports[line["report"]] = line
        it.reports.append(line)
    elif kind == "open":
        it.since = min(it.since, line["at"])
    else:
        it.said.append(line)


def judge(it):
    """What is wrong with the ends of attempts that were open, or whose end was reported before."""
    for attempt in it.attempts.values():
        of = it.opens.get(attempt.id)
        if of is None:
            continue
        if len({line["by"] for line in of.said}) > 1:
            it.bad("more than one end", attempt.id, of.said[1]["at"])
        if any(call["at"] > of.since for call in attempt.calls):
            it.bad("again though it is open", attempt.id)
        if attempt.row:
            ended(it, attempt, of)
        elif of.is_open and never(it, attempt, of):
            it.bad("open for ever", attempt.id, of.since)


def never(it, attempt, of):
    """Whether an attempt that was left open ought to have ended."""
    within = within_of(it, attempt)
    due = of.since + (max(within) if within else 0)
    return it.reach(due) + LOOKS_EVERY < it.horizon and not attempt.is_dead


def within_of(it, attempt):
    """For how long an attempt may be open, by the documents that its job had when it was called."""
    called = attempt.calls[0]["at"]
    plans = it.jobs[attempt.uid].policies(called - 10 * SECOND, called + 120 * SECOND)
    return [plan.within for plan in plans if plan.within is not None]


def ended(it, attempt, of):
    """Compares the row of an attempt with what was reported, and when."""
    row = attempt.row
    by = next((by for by, words in WORDS.items() if words in row["message"]), None)
    kept = [line for line in of.reports if line.get("answer") == "kept"]
    if by is None:
        if kept:
            it.bad("a report is answered, and does not count", attempt.id)
        if of.is_open:
            it.bad("open, and ended by nothing", attempt.id)
        return
    if row["ok"] != (by == "success"):
        it.bad("a row that says otherwise than its words", attempt.id)
    if not of.said or of.said[0]["by"] != by:
        it.bad("ended by something else than what was said first", attempt.id)
    if any(line["ok"] != (by == "success") or by not in ("success", "failure") for line in kept):
        it.bad("a report is answered, and another end counts", attempt.id)
    within = within_of(it, attempt)
    deadline = row["started"] + (min(within) if within else 0)
    if by == "deadline" and row["ended"] < deadline - it.skew():
        it.bad("ended before its deadline", attempt.id)
    if by in ("success", "failure"):
        said = [line["clock"] for line in of.reports if line["ok"] == (by == "success")]
        if not said:
            it.bad("a report that nobody sent", attempt.id)
        elif of.is_open and min(said) > row["started"] + (max(within) if within else 0):
            it.bad("a report counts that came too late", attempt.id)
