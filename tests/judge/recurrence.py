"""When a job fires, computed from shared/docs/recurrences.md alone.

Instants are microseconds since 1970. The code walks over days and hours one by one and has no
cleverness in it, because it is there to be believed.
"""

import json
import sys
from datetime import date, datetime, timedelta, timezone
from itertools import count as numbers
from itertools import islice
from zoneinfo import ZoneInfo

UTC = timezone.utc
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The calendar ends here; a job that has not fired by then never does.
LAST_YEAR = 9999
MICRO = timedelta(microseconds=1)


def micros(moment):
    return (moment - EPOCH) // MICRO


def moment(micros_):
    return EPOCH + micros_ * MICRO


def read_date(text, zone):
    """`YYYY-MM-DD[Thh:mm[:ss[.fffffff]]][Z|±hh:mm]`; without an offset it is on the zone's clock."""
    read = datetime.fromisoformat(text)
    if read.tzinfo is None:
        read = read.replace(tzinfo=zone)
    return micros(read)


def listed(value):
    if value is None:
        return None
    return value if isinstance(value, list) else [value]


class Rule:
    """A recurrence with the start of its job."""

    def __init__(self, recurrence, start, anchor, zone=None):
        name = recurrence.get("timeZone") or zone or "UTC"
        self.zone = ZoneInfo(name)
        frequency = recurrence["frequency"].lower().removesuffix("ly")
        self.frequency = {"dai": "day", "hour": "hour", "minute": "minute"}.get(frequency, frequency)
        self.interval = int(recurrence.get("interval") or 1)
        self.count = recurrence.get("count")
        end = recurrence.get("endTime")
        self.end = read_date(end, self.zone) if end else None
        schedule = recurrence.get("schedule") or {}
        self.schedule = {key: listed(value) for key, value in schedule.items() if value}
        self.has_start = start is not None
        self.start = read_date(start, self.zone) if self.has_start else anchor
        if not self.has_start and self.schedule:
            self.start -= self.start % 1_000_000
        self.local = moment(self.start).astimezone(self.zone)

    def __eq__(self, other):
        mine, its = ({**vars(it), "local": None} for it in (self, other))
        return mine == its

    def since(self, since, used=0):
        """The occurrences from an instant on, when so many of the count are used up."""
        left = None if self.count is None else self.count - used
        for at in self.all(since):
            if self.end is not None and at > self.end:
                return
            if left is not None:
                if left <= 0:
                    return
                left -= 1
            yield at

    def all(self, since):
        """All from an instant on, whatever the count and the end."""
        if not self.has_start and self.schedule:
            # The first occurrence is at the anchor.
            if self.start >= since:
                yield self.start
            yield from (at for at in self.scheduled(since) if at > self.start)
        elif self.schedule:
            yield from self.scheduled(since)
        else:
            yield from self.plain(since)

    def plain(self, since):
        """No schedule: the start and n intervals, without drift."""
        if self.frequency in ("minute", "hour"):
            step = self.interval * (60 if self.frequency == "minute" else 3600) * 1_000_000
            first = max(0, -((self.start - since) // step))
            yield from (self.start + n * step for n in numbers(first))
        begun = self.local.date()
        before = -1
        for n in numbers():
            if self.frequency in ("day", "week"):
                days = self.interval * n * (7 if self.frequency == "week" else 1)
                day = begun + timedelta(days=days)
            else:
                months = self.interval * n * (12 if self.frequency == "year" else 1)
                day = moved(begun, months)
            if day.year >= LAST_YEAR:
                return
            for at in self.named(day, self.local.hour, self.local.minute):
                at = self.start if n == 0 else at
                if at >= since and at > before:
                    before = at
                    yield at

    def scheduled(self, since):
        before = -1
        day = self.local.date()
        if since > self.start:
            day = max(day, moment(since).astimezone(self.zone).date() - timedelta(days=2))
        while day.year < LAST_YEAR:
            # A gap moves an occurrence at most into the next day.
            for at in sorted(set(self.of_day(day))):
                if at >= max(since, self.start) and at > before:
                    before = at
                    yield at
            day += timedelta(days=1)

    def of_day(self, day):
        hours, minutes = self.schedule.get("hours"), self.schedule.get("minutes")
        if self.frequency in ("hour", "minute"):
            yield from self.grid(day, hours, minutes)
            return
        if not self.is_active(day):
            return
        every_hour = hours is None and minutes is not None or hours and len(set(hours)) == 24
        at_hours = range(24) if hours is None and minutes is not None else hours or [self.local.hour]
        at_minutes = minutes or [self.local.minute]
        for hour in sorted(set(at_hours)):
            for minute in sorted(set(at_minutes)):
                if every_hour:
                    yield from self.each(day, hour, minute)
                else:
                    yield from self.named(day, hour, minute)

    def is_active(self, day):
        begun = self.local.date()
        if self.frequency == "day":
            return (day - begun).days % self.interval == 0
        if self.frequency == "week":
            monday = [it - timedelta(days=it.weekday()) for it in (begun, day)]
            weeks = (monday[1] - monday[0]).days // 7
            days = self.schedule.get("weekDays") or [DAYS[begun.weekday()]]
            return weeks % self.interval == 0 and DAYS[day.weekday()] in [it.lower() for it in days]
        if self.frequency == "month":
            months = 12 * (day.year - begun.year) + day.month - begun.month
            wanted = self.schedule.get("months")
            if months % self.interval or wanted and day.month not in wanted:
                return False
            return self.is_day_of_month(day)
        wanted = self.schedule.get("months") or [begun.month]
        is_year = (day.year - begun.year) % self.interval == 0
        return is_year and day.month in wanted and day.day == min(begun.day, month_days(day))

    def is_day_of_month(self, day):
        days = self.schedule.get("monthDays")
        named = self.schedule.get("monthlyOccurrences")
        if not days and not named:
            return day.day == min(self.local.day, month_days(day))
        back = day.day - month_days(day) - 1
        if days and (day.day in days or back in days):
            return True
        for it in named or []:
            if it["day"].lower() != DAYS[day.weekday()]:
                continue
            which = it.get("occurrence")
            nth, nth_back = (day.day - 1) // 7 + 1, -((-back - 1) // 7 + 1)
            if which is None or which in (nth, nth_back):
                return True
        return False

    def grid(self, day, hours, minutes):
        """Frequencies below a day follow a clock: every n-th hour or minute that it shows."""
        begun = self.local.replace(tzinfo=None, second=0, microsecond=0)
        if self.frequency == "hour":
            begun = begun.replace(minute=0)
        unit = timedelta(hours=1) if self.frequency == "hour" else timedelta(minutes=1)
        at_minutes = minutes or [self.local.minute]
        for hour in range(24):
            if hours and hour not in hours:
                continue
            wanted = range(60) if self.frequency == "minute" else sorted(set(at_minutes))
            for minute in wanted:
                if self.frequency == "minute" and minutes and minute not in minutes:
                    continue
                shown = datetime(day.year, day.month, day.day, hour, minute)
                if (shown - begun) // unit % self.interval == 0:
                    yield from self.each(day, hour, minute)

    def second(self, minute):
        is_starts = self.frequency == "minute" or not self.schedule.get("minutes")
        return (self.local.second, self.local.microsecond) if is_starts else (0, 0)

    def civil(self, day, hour, minute):
        second, micro = self.second(minute)
        return datetime(day.year, day.month, day.day, hour, minute, second, micro)

    def each(self, day, hour, minute):
        """What a clock shows, as often as it shows it."""
        shown = self.civil(day, hour, minute)
        for fold in (0, 1):
            at = shown.replace(tzinfo=self.zone, fold=fold)
            if at.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None) == shown:
                yield micros(at)

    def named(self, day, hour, minute):
        """A time of day: once, and moved forward by a gap."""
        # The offset before a gap moves the time forward by it, and names the first of two.
        yield micros(self.civil(day, hour, minute).replace(tzinfo=self.zone, fold=0))


def month_days(day):
    after = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return (after - timedelta(days=1)).day


def moved(day, months):
    """So many months later; the last day of a shorter month."""
    months += day.month - 1
    year, month = day.year + months // 12, months % 12 + 1
    return date(year, month, min(day.day, month_days(date(year, month, 1))))


def main():
    """For the tests: each line asks for occurrences, and is answered with one."""
    for line in sys.stdin:
        asked = json.loads(line)
        since = read_date(asked["since"], UTC)
        rule = Rule(asked["recurrence"], asked["start"], since)
        print([at for at in islice(rule.since(since), asked["count"])])


if __name__ == "__main__":
    main()
