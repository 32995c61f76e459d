"""How late jobs are and what they cost at several sizes: the tables in shared/docs/aws-costs.md.

usage: tests/e2e/scale.py, which prints them

It is arithmetic from the figures of that page: units and prices, the rates at which Lambda adds invocations;
and from the processor time of a timer in shared/docs/benchmarks.md. A part of `make e2e` compares the page with
what this prints.
"""

import math
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent / "shared" / "docs"
PAGE = DOCS / "aws-costs.md"
LOADS = [10_000, 100_000, 1_000_000, 10_000_000]
PACKET = 25
# Attempts of a message if some dozens of jobs fire in each second: tests/it/fill.rs plays it.
FILLED = 21
# Seconds: an invocation with a full packet, the least look ahead of a pass, a pass, the time between two.
PACKET_SECONDS, AHEAD, PASS, TICK = 0.6, 90, 50, 60
# Write units of a firing without and with the move of its timer, and of the move.
MINUTELY, HOURLY, MOVE = 3.24, 6.03, 2
MINUTELY_MOVE = 2 / 14
# A timer that is planned sends 13 attempts or 14.
PLANNED = 13.5
QUOTA, CONCURRENCY = 40_000, 1_000
INDEX_TIMERS = 64 * 1_000 / MOVE
# Timers a second by round trips.
ROUND_TRIPS = 8_900
# By Size: megabytes of the sweeper, write units of a new table, invocations at first and more in a minute.
SIZES = {"small": (256, 4_000, 5, 300), "large": (1_769, 12_000, 200, 1_000)}
MEDIUM, WHOLE_PROCESSOR = 512, 1_769
SWEEPERS_MAX = 5
MONTH = 60 * 24 * 30


def measured():
    """Microseconds of a whole processor for an hourly timer and for a minutely one."""
    row = r"^\| sweeper: an hourly timer[^|]*; a minutely one[^|]*\| ([0-9]+); ([0-9]+); [0-9]+ \|$"
    return [int(it) for it in re.search(row, (DOCS / "benchmarks.md").read_text(), re.M).groups()]


HOURLY_MICROS, MINUTELY_MICROS = measured()
HOURLY_SECONDS, MINUTELY_SECONDS = HOURLY_MICROS / 1e6, MINUTELY_MICROS / 1e6


def timers_a_second(megabytes, seconds):
    return min(megabytes / WHOLE_PROCESSOR / seconds, ROUND_TRIPS)


def rounded(number):
    """Two digits: all that is known of it."""
    number = round(number, 1 - math.floor(math.log10(number)))
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,.0f}"


def sizes():
    yield "| `Size`, share of a processor | hourly or one-time timers a minute | minutely timers; jobs |"
    yield "| --- | --- | --- |"
    for name, megabytes in [("small", SIZES["small"][0]), ("medium", MEDIUM), ("large", SIZES["large"][0])]:
        hourly = timers_a_second(megabytes, HOURLY_SECONDS) * PASS
        timers = timers_a_second(megabytes, MINUTELY_SECONDS) * PASS
        jobs = rounded(timers * PLANNED)
        share = megabytes / WHOLE_PROCESSOR
        yield f"| `{name}`, {share * 100:.0f} % | {rounded(hourly)} | {rounded(timers)}; {jobs} |"


def sweeper():
    def firings(megabytes):
        hourly = timers_a_second(megabytes, HOURLY_SECONDS) * PASS / TICK
        minutely = timers_a_second(megabytes, MINUTELY_SECONDS) * PASS / TICK * PLANNED
        return f"{rounded(hourly)}; {rounded(minutely)}"

    small, large = firings(SIZES["small"][0]), firings(WHOLE_PROCESSOR)
    micros = f"{HOURLY_MICROS} µs an hourly timer, {MINUTELY_MICROS} µs a minutely one"
    link = "([measured](benchmarks.md#starts-and-firings-on-aws))"
    yield f"| sweeper, by processor: {micros} {link} | 256 MB, hourly; minutely: {small}. 1,769 MB: {large} |"


def fill(jobs):
    """Attempts of a message, with minutely jobs on random seconds.

    Those of a second are planned together, unless each of 13 phases of plans fills messages.
    """
    together, of_phase = jobs / 60, jobs / 60 / 13
    if of_phase >= 2 * PACKET:
        return of_phase / math.ceil(of_phase / PACKET)
    return max(1, min(together, FILLED))


def sums():
    """The sums of a million minutely firings on the page, in packets and alone."""
    found = {}
    for name in ["on demand", "with provisioned units"]:
        cells = re.search(rf"^\| \*\*sum {name}\*\* \|(.*)", PAGE.read_text(), re.M).group(1).split("|")
        found[name] = [float(cell.strip(" *")) for cell in cells[:2]]
    saved = float(re.search(r"^`HistoryDays` of 30, 15 and 7 saves .* and ([0-9.]+[0-9])\.", PAGE.read_text(), re.M).group(1))
    return found, saved


def usd(prices, jobs):
    """A million firings, between packets and alone by the number of messages."""
    packets, alone = prices
    share = (1 / fill(jobs) - 1 / PACKET) / (1 - 1 / PACKET)
    return packets + (alone - packets) * share


def minutely():
    prices, saved = sums()
    yield "| firings a minute | write units a second | sweepers with `large` | executions at once | USD a month on demand, provisioned, and with 7 days | what has to grow next |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for jobs in LOADS:
        a_second, millions = jobs / 60, jobs * MONTH / 1e6
        units = a_second * MINUTELY
        passes = jobs / PLANNED / (timers_a_second(WHOLE_PROCESSOR, MINUTELY_SECONDS) * PASS)
        at_once = a_second / fill(jobs) * PACKET_SECONDS
        demand, provisioned = (usd(it, jobs) for it in prices.values())
        costs = ", ".join(f"{it * millions:,.0f}" for it in [demand, provisioned, provisioned - saved])
        walls = [
            (units > QUOTA, f"the table's quota of {QUOTA:,} units, or the number of installations"),
            (passes > 1, f"`Sweepers={math.ceil(passes)}`"),
            (at_once > CONCURRENCY, f"the account's concurrency of {CONCURRENCY:,}"),
        ]
        grows = "; ".join(text for is_wall, text in walls if is_wall) or "nothing"
        yield f"| {jobs:,} | {units:,.0f} | {passes:.2f} | {at_once:,.0f} | {costs} | {grows} |"


def seconds_to_execute(firings, at_once, more):
    seconds = done = 0
    while done < firings:
        done += min(at_once + more * seconds / 60, CONCURRENCY) * PACKET / PACKET_SECONDS
        seconds += 1
    return seconds


def herd(jobs, megabytes, units, at_once, more, sweepers=1):
    """When the last of the jobs starts that are due at one instant, in seconds after it, and why."""
    rate = min(sweepers * timers_a_second(megabytes, HOURLY_SECONDS), units / MOVE, INDEX_TIMERS)
    swept = max(0, jobs - rate * AHEAD) / (rate * PASS / TICK)
    parts = {
        "sweeping": swept,
        "the table": jobs * (HOURLY - MOVE) / units,
        "Lambda's start": seconds_to_execute(jobs, at_once, more),
    }
    slowest = max(parts, key=parts.get)
    return parts[slowest], slowest


def instants():
    yield "| hourly jobs at one instant | last one with `small`, in s, by | with `large` | once the table has grown to its quota | and `Sweepers=5` |"
    yield "| --- | --- | --- | --- | --- |"
    for jobs in LOADS:
        small, large = SIZES["small"], SIZES["large"]
        grown = (large[0], QUOTA, *large[2:])
        found = [herd(jobs, *it) for it in [small, large, grown]] + [herd(jobs, *grown, SWEEPERS_MAX)]
        cells = [f"{seconds:,.0f}, {why}" for seconds, why in found]
        yield f"| {jobs:,} | {' | '.join(cells)} |"


def tables():
    return [list(sizes()), list(sweeper()), list(minutely()), list(instants())]


def checks():
    page = PAGE.read_text()
    for table in tables():
        assert "\n".join(table) in page, "aws-costs.md needs this table:\n" + "\n".join(table)
    yield "the tables about scale follow from units, rates and prices"


if __name__ == "__main__":
    sys.stdout.write("\n\n".join("\n".join(table) for table in tables()) + "\n")
