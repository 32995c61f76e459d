"""The alarms of the template, evaluated over made-up metrics as CloudWatch evaluates them.

Each situation names the alarms that ring in it; all others have to stay silent. AWS does not document
where a period begins, and how many periods CloudWatch reads beyond those that an alarm needs. So each
situation is played with every begin, and with and without further periods. CloudWatch leaves out periods
without data if enough others have some.
"""

import ast
import math
import operator

from transformed import Transformed

# How many periods more than it needs CloudWatch reads; AWS tells this only of examples.
READ_MORE = [0, 2]
HOUR, DAY = 60, 24 * 60
# Within this time of silence an alarm has to ring, wherever its periods begin.
SOON = 10
COMPARISONS = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
}
OPERATORS = {
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.Add: operator.add,
}


class Alarm:
    """One alarm, as its properties say."""

    def __init__(self, name, properties):
        self.name = name
        self.periods = properties["EvaluationPeriods"]
        self.needed = properties.get("DatapointsToAlarm", self.periods)
        self.breaches = COMPARISONS[properties["ComparisonOperator"]]
        self.threshold = float(number(properties["Threshold"]))
        self.missing = {"breaching": True, "notBreaching": False}[properties["TreatMissingData"]]
        self.expression = None
        if "Metrics" not in properties:
            statistic = properties.get("Statistic") or properties["ExtendedStatistic"]
            self.metrics = {"m": (key(properties), statistic, properties["Period"] // 60)}
            self.expression = ast.parse("m", mode="eval").body
            return
        self.metrics, returned = {}, []
        for each in properties["Metrics"]:
            if each.get("ReturnData", True):
                returned.append(each["Expression"])
            else:
                stat = each["MetricStat"]
                self.metrics[each["Id"]] = (key(stat["Metric"]), stat["Stat"], stat["Period"] // 60)
        [expression] = returned
        self.expression = ast.parse(expression.replace(" AND ", " and "), mode="eval").body

    @property
    def period(self):
        [period] = {period for _, _, period in self.metrics.values()}
        return period

    def has_rung(self, samples, minutes):
        """Whether it rings at some time, by where its periods begin and how much is read: all outcomes."""
        return {
            self.rings(samples, minutes, begin, more)
            for begin in range(min(self.period, 60))
            for more in READ_MORE
        }

    def rings(self, samples, minutes, begin, more):
        points = [
            self.point(samples, at, at + self.period) for at in range(begin, minutes - self.period + 1, self.period)
        ]
        first = self.periods + more
        return any(self.is_alarm(points[at - first : at]) for at in range(first, len(points) + 1))

    def point(self, samples, start, end):
        """The value of a period; `None` without one."""
        values = {}
        for name, (metric, statistic, _) in self.metrics.items():
            found = [it for at, value in samples.get(metric, {}).items() if start <= at < end for it in value]
            values[name] = aggregate(statistic, found) if found else None
        return evaluate(self.expression, values)

    def is_alarm(self, read):
        """The newest periods with data if there are enough of them, else all of them with what is missing."""
        with_data = [it for it in read if it is not None]
        chosen = with_data if len(with_data) >= self.periods else read
        chosen = chosen[-self.periods :]
        breaching = [self.missing if it is None else self.breaches(it, self.threshold) for it in chosen]
        return sum(breaching) >= self.needed


def aggregate(statistic, values):
    match statistic:
        case "Sum":
            return sum(values)
        case "Maximum":
            return max(values)
        case "SampleCount":
            return len(values)
        case "p99":
            return sorted(values)[math.ceil(0.99 * len(values)) - 1]
    raise AssertionError(f"the statistic {statistic} is not known here")


def evaluate(node, values):
    """An expression of CloudWatch over one period. What is computed of nothing is nothing."""
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=value):
            return value
        case ast.Call(func=ast.Name(id="FILL"), args=[of, filled]):
            value = evaluate(of, values)
            return evaluate(filled, values) if value is None else value
        case ast.Call(func=ast.Name(id="IF"), args=[condition, chosen, other]):
            truth = evaluate(condition, values)
            return None if truth is None else evaluate(chosen if truth else other, values)
        case ast.BoolOp(op=ast.And(), values=parts):
            parts = [evaluate(it, values) for it in parts]
            return None if None in parts else all(parts)
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            sides = [evaluate(it, values) for it in (left, right)]
            return None if None in sides else OPERATORS[type(op)](*sides)
    raise AssertionError(f"{ast.dump(node)} is not known here")


def key(metric):
    """A metric's name, and the logical name of what it is of."""
    [dimension] = metric["Dimensions"]
    value = dimension["Value"]
    of = value.get("Ref") or value["Fn::GetAtt"][0]
    return f"{metric['MetricName']} of {of}"


def number(value):
    """A number, or the text that `!Sub` makes of parameters."""
    return value["Fn::Sub"].replace("${LagAlarmSeconds}", "30") if isinstance(value, dict) else value


# ------------------------------------------------------------------ situations


SWEPT, LATE, FIRED = "Swept of Table", "LateBy of Table", "Fired of Table"
WAITING = "ApproximateNumberOfMessagesVisible of Queue"
DELIVERED = "ApproximateNumberOfMessagesNotVisible of Queue"
DELETED = "NumberOfMessagesDeleted of Queue"
DEAD = "ApproximateNumberOfMessagesVisible of DeadLetters"
ARCHIVED = "Invocations of ArchiverFunction"


def each(minutes, *values, but=()):
    return {at: list(values) for at in minutes if at not in but}


def healthy(minutes):
    """What an installation has in which nothing is due."""
    always = range(minutes)
    # SQS tells of a queue while it is polled, and it is polled always.
    queue = {name: each(always, 0) for name in (WAITING, DELIVERED, DELETED)}
    return {SWEPT: each(always, 1), "Errors of SweeperFunction": each(always, 0), **queue}


def situations():
    """Names, minutes, metrics that differ from the healthy ones, and the alarms that ring."""
    hour = range(HOUR)
    yield "nothing is due", DAY, {}, set()
    yield "a minutely job", HOUR, {LATE: each(hour, 90), FIRED: each(hour, 1), DELETED: each(hour, 1)}, set()
    yield "a herd waits for a minute, and is worked off", HOUR, {
        WAITING: {20: [40_000], 21: [20_000]},
        DELIVERED: each(range(20, 23), 5_000),
        DELETED: each(range(20, 23), 20_000),
        LATE: {20: [100] * 1_000},
    }, set()
    yield "a target that hangs for a minute, alone", HOUR, {
        DELIVERED: {20: [1], 21: [1]},
        DELETED: {21: [1]},
    }, set()
    yield "a message that a crash leaves for two minutes", HOUR, {
        DELIVERED: each(range(20, 24), 1),
        DELETED: {24: [1]},
    }, set()

    yield "a new stack before its first sweep", HOUR, {SWEPT: {}}, {"NoSweepAlarm"}
    yield "the sweeper ends", 30 + SOON, {SWEPT: each(range(30), 1)}, {"NoSweepAlarm"}
    yield "three sweeps are missing", HOUR, {SWEPT: each(hour, 1, but=range(30, 33))}, set()
    yield "each second sweep is missing", HOUR, {SWEPT: each(range(0, HOUR, 2), 1)}, set()

    yield "deliveries are disabled", 30 + SOON, {
        WAITING: {**each(hour, 0), **each(range(30, HOUR), 7)},
    }, {"NoDeliveryAlarm"}
    yield "the same, and SQS tells of no deletion", 30 + SOON, {
        WAITING: each(range(30, HOUR), 7),
        DELIVERED: each(range(30, HOUR), 0),
        DELETED: {},
    }, {"NoDeliveryAlarm"}
    yield "one message a day, which nothing receives", DAY, {
        WAITING: {**each(range(DAY), 0), **each(range(600, DAY), 1)},
    }, {"NoDeliveryAlarm"}
    yield "every message fails and comes back", 30 + SOON, {
        DELIVERED: {**each(hour, 0), **each(range(30, HOUR), 12)},
    }, {"NoDeliveryAlarm"}
    yield "messages wait behind others that are completed", HOUR, {
        WAITING: each(hour, 7),
        DELETED: each(hour, 1),
    }, set()
    yield "SQS tells nothing of an idle queue", DAY, {WAITING: {}, DELIVERED: {}, DELETED: {}}, set()

    yield "one attempt a day, two hours late", DAY, {LATE: {700: [7_200_000]}, FIRED: {700: [1]}}, {"LagAlarm"}
    yield "one attempt a day, in time", DAY, {LATE: {700: [150]}, FIRED: {700: [1]}}, set()
    yield "one of a thousand attempts is late", HOUR, {LATE: {30: [100] * 999 + [60_000]}}, set()
    yield "one of ten attempts is late", HOUR, {LATE: {30: [100] * 9 + [60_000]}}, {"LagAlarm"}

    yield "one failed request in a day", DAY, {"5xx of HttpApi": {700: [1]}}, {"ApiFailuresAlarm"}
    yield "requests that succeed", HOUR, {"5xx of HttpApi": each(hour, 0, 0)}, set()
    yield "one dead letter", HOUR, {DEAD: {**each(hour, 0), **each(range(30, HOUR), 1)}}, {"DeadLettersAlarm"}
    yield "an occurrence is healed", DAY, {"Trouble of Table": {700: [1]}}, {"TroubleAlarm"}
    yield "seven calls stay throttled in each minute", HOUR, {"Trouble of Table": each(hour, 0.5, 0.375)}, set()
    yield "eight calls of two functions stay throttled in a minute", DAY, {
        "Trouble of Table": {700: [0.5, 0.5]},
    }, {"TroubleAlarm"}
    yield "the sweeper fails once", HOUR, {
        "Errors of SweeperFunction": {**each(hour, 0), 30: [1]},
        SWEPT: each(hour, 1, but=[30]),
    }, set()
    yield "the sweeper fails twice", HOUR, {
        "Errors of SweeperFunction": {**each(hour, 0), 30: [1], 31: [1]},
    }, {"SweeperErrorsAlarm"}
    yield "one of three sweepers fails each minute", HOUR, {
        "Errors of SweeperFunction": each(hour, 0, 0, 1),
        SWEPT: each(hour, 1, 1),
    }, {"SweeperErrorsAlarm"}
    yield "one of three sweepers is never invoked, and a third of the timers is late at times", HOUR, {
        SWEPT: each(hour, 1, 1),
        LATE: each(hour, 150, 150, 35_000),
    }, {"LagAlarm"}
    yield "the executor fails once in a day", DAY, {"Errors of ExecutorFunction": {700: [1]}}, {"ExecutorErrorsAlarm"}
    yield "a tick is throttled", HOUR, {SWEPT: each(hour, 1, but=[30])}, set()
    yield "every tick is throttled", 30 + SOON, {SWEPT: each(range(30), 1)}, {"NoSweepAlarm"}
    yield "the executor is throttled", 30 + SOON, {
        WAITING: {**each(hour, 0), **each(range(30, HOUR, 2), 1)},
        DELIVERED: {**each(hour, 0), **each(range(31, HOUR, 2), 1)},
    }, {"NoDeliveryAlarm"}

    hourly = range(58, DAY, HOUR)
    yield "an hourly job is archived", DAY, {
        FIRED: each(hourly, 1),
        ARCHIVED: each([at + 5 for at in hourly], 1),
        LATE: each(hourly, 100),
    }, set()
    yield "an hourly job is not archived", DAY, {FIRED: each(hourly, 1), ARCHIVED: {}}, {"NoArchivingAlarm"}
    yield "the archiver is invoked at night only", DAY, {
        FIRED: each(range(DAY), 20),
        ARCHIVED: {90: [1], 210: [1]},
    }, {"NoArchivingAlarm"}
    yield "the archive is two hours behind", HOUR, {
        "IteratorAge of ArchiverFunction": {30: [7_200_000]},
    }, {"ArchiveAgeAlarm"}
    yield "the archiver fails", HOUR, {"Errors of ArchiverFunction": {30: [1]}}, {"ArchiverErrorsAlarm"}


def checks(path):
    """Plays the situations, and yields a line for each alarm: in how many it rings, and is silent."""
    resources = Transformed(path, Archive="yes")
    alarms = [
        Alarm(name, resources.resources[name])
        for name, kind in resources.types.items()
        if kind == "AWS::CloudWatch::Alarm"
    ]
    rung = {alarm.name: [] for alarm in alarms}
    silent = dict.fromkeys(rung, 0)
    known = {metric for alarm in alarms for metric, _, _ in alarm.metrics.values()}
    for title, minutes, given, expected in situations():
        unknown = (set(given) | expected) - known - set(rung) - {LATE, FIRED}
        assert not unknown, f"{title}: no alarm reads {unknown}"
        samples = {**healthy(minutes), **given}
        for alarm in alarms:
            found = alarm.has_rung(samples, minutes)
            assert found == {alarm.name in expected}, f"{title}: does {alarm.name} ring? {found}"
            if alarm.name in expected:
                rung[alarm.name].append(title)
            else:
                silent[alarm.name] += 1
    for name, titles in rung.items():
        assert titles, f"{name} rings in no situation"
        yield f"{name} rings: {'; '.join(titles)}. It is silent in {silent[name]} other situations"
