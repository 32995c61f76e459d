//! Exceptions from a rule: days on which it does not fire, and further instants at which it does.
//!
//! A day is a day of the rule's zone: an occurrence is left out if the clock shows an excluded day at its
//! instant. Where the clock goes back over midnight, a day can have two parts; both are left out.
//!
//! An occurrence that is left out does not exist: nothing counts it. A further occurrence is like any
//! other one. If the rule yields its instant, too, they are one occurrence.

use std::fmt;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::civil::DAY;
use crate::error::Refused;
use crate::instant::format_instant;
use crate::rule::Rule;
use crate::timetable::{Start, Timetable, nth_second};
use crate::zone::{OffsetSegment, Zone};

/// Days on which a rule does not fire, and further instants at which it does.
///
/// ```
/// use chrono::NaiveDate;
/// use minutehand_recurrence::{
///     Exceptions, Recurrence, Rule, Start, Timetable, WrittenDate, format_instant,
/// };
///
/// let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
/// let json = serde_json::json!({"frequency": "day", "count": 3});
/// let rule = Rule::canonical(&Recurrence::from_json(&json)?)?;
/// let holiday = NaiveDate::from_ymd_opt(2027, 12, 25).unwrap();
/// let exceptions = Exceptions::new(None, [[holiday; 2]], [at("2027-12-26T18:00")]);
///
/// let start = at("2027-12-24T09:00");
/// let (timetable, exceptions) =
///     exceptions.applied_to(&rule, Start::Given(start), start, 0)?;
/// let all: Vec<_> = exceptions.iter(&timetable).map(format_instant).collect();
/// assert_eq!(all, ["2027-12-24T09:00:00Z", "2027-12-26T09:00:00Z", "2027-12-26T18:00:00Z"]);
/// # Ok::<(), minutehand_recurrence::Refused>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceptions {
    /// Excluded days, as civil seconds from the first one up to the one after the last: in order, and
    /// apart from each other.
    excluded: Vec<[i64; 2]>,
    /// The seconds of the further occurrences in order. None is on an excluded day.
    extra: Vec<i64>,
    /// Which of the further occurrences are within the timetable.
    from: usize,
    to: usize,
}

impl Exceptions {
    /// The exceptions of a rule in a zone; `None` is UTC. Days come as the first and the last day of a
    /// series. Of a further occurrence, the fraction of a second is cut. On an excluded day there is
    /// none.
    #[must_use]
    pub fn new(
        zone: Option<&Zone>,
        days: impl IntoIterator<Item = [NaiveDate; 2]>,
        extra: impl IntoIterator<Item = DateTime<Utc>>,
    ) -> Self {
        let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp();
        let days = days.into_iter().map(|[first, last]| [midnight(first), midnight(last) + DAY]);
        let mut days: Vec<_> = days.filter(|[from, until]| from < until).collect();
        days.sort_unstable();
        let mut excluded: Vec<[i64; 2]> = Vec::with_capacity(days.len());
        for [from, until] in days {
            match excluded.last_mut() {
                Some([_, end]) if *end >= from => *end = until.max(*end),
                Some(_) | None => excluded.push([from, until]),
            }
        }
        let mut found = Self { excluded, extra: Vec::new(), from: 0, to: 0 };
        let mut extra: Vec<_> = extra.into_iter().map(|at| at.timestamp()).collect();
        extra.sort_unstable();
        extra.dedup();
        extra.retain(|second| found.excluded_until(zone, *second).is_none());
        found.to = extra.len();
        found.extra = extra;
        found
    }

    /// Compiles a rule with these exceptions from `since` on, after `used` occurrences of its count.
    /// Returns the timetable, and the exceptions with those further occurrences that are within it.
    ///
    /// # Errors
    ///
    /// [`Refused::NeverOccurs`] if the rule matches no instant, or if all instants that it matches are
    /// excluded.
    pub fn applied_to(
        &self,
        rule: &Rule,
        start: Start,
        since: DateTime<Utc>,
        used: u32,
    ) -> Result<(Timetable, Self), Refused> {
        let whole = Timetable::unending(rule, start, start.at())?.ending(rule.end);
        let of_whole = self.between(start.at(), rule.end);
        if let (Some(first), None) = (whole.iter().next(), of_whole.iter(&whole).next()) {
            let first = format_instant(first);
            let why = format!(
                "each of its occurrences, from {first} on, is on an excluded date; exclude fewer dates"
            );
            return Err(Refused::NeverOccurs { why });
        }
        let timetable = Timetable::unending(rule, start, since)?.ending(rule.end);
        let left = self.between(since.max(start.at()), rule.end);
        let Some(count) = rule.count else { return Ok((timetable, left)) };
        let nth = left.nth(&timetable, i64::from(count.saturating_sub(used)));
        Ok(match nth {
            Nth::NoneIsWanted => (timetable.never(), Self { to: left.from, ..left }),
            Nth::At(at) => {
                (timetable.ending(Some(at)), left.between(DateTime::<Utc>::MIN_UTC, Some(at)))
            }
            Nth::FewerThan => (timetable, left),
        })
    }

    /// The further occurrences that are within the timetable, as places in the list of all.
    #[must_use]
    pub const fn places(&self) -> [usize; 2] {
        [self.from, self.to]
    }

    /// The same with other further occurrences within the timetable.
    #[must_use]
    pub fn with_places(self, [from, to]: [usize; 2]) -> Self {
        let to = to.min(self.extra.len());
        Self { from: from.min(to), to, ..self }
    }

    /// The number of excluded days, and that of further occurrences.
    #[must_use]
    pub fn counts(&self) -> [usize; 2] {
        let days: i64 = self.excluded.iter().map(|[from, until]| (until - from) / DAY).sum();
        [usize::try_from(days).unwrap_or(usize::MAX), self.extra.len()]
    }

    /// Whether the rule yields an instant and its day is excluded.
    #[must_use]
    pub fn excludes(&self, timetable: &Timetable, at: DateTime<Utc>) -> bool {
        self.excluded_until(timetable.zone(), at.timestamp()).is_some()
            && timetable.at_or_after(at) == Some(at)
    }

    /// Whether an instant is that of a further occurrence, which the rule does not yield.
    #[must_use]
    pub fn adds(&self, timetable: &Timetable, at: DateTime<Utc>) -> bool {
        let is_extra = self.live().binary_search(&at.timestamp()).is_ok();
        is_extra && at.timestamp_subsec_nanos() == 0 && timetable.at_or_after(at) != Some(at)
    }

    /// The first occurrence at or after an instant, or `None` if there is none.
    #[must_use]
    pub fn at_or_after(&self, timetable: &Timetable, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let by_rule = self.not_excluded(timetable, timetable.at_or_after(at));
        by_rule.into_iter().chain(self.extra_from(first_second(at))).min()
    }

    /// The first occurrence after an instant, or `None` if there is none.
    #[must_use]
    pub fn after(&self, timetable: &Timetable, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let by_rule = self.not_excluded(timetable, timetable.after(at));
        by_rule.into_iter().chain(self.extra_from(at.timestamp() + 1)).min()
    }

    /// All occurrences in order.
    pub fn iter(&self, timetable: &Timetable) -> impl Iterator<Item = DateTime<Utc>> {
        let first = self.at_or_after(timetable, DateTime::<Utc>::MIN_UTC);
        std::iter::successors(first, |at| self.after(timetable, *at))
    }

    /// The number of occurrences from one instant (inclusive) to another (exclusive).
    #[must_use]
    pub fn count_between(
        &self,
        timetable: &Timetable,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> u64 {
        let live = self.live();
        let place = |at| live.partition_point(|second| *second < first_second(at));
        let extra = live.get(place(from)..place(to)).unwrap_or_default();
        let instants = extra.iter().filter_map(|second| instant(*second));
        let added = instants.filter(|at| timetable.at_or_after(*at) != Some(*at)).count();
        let excluded = self.count_excluded(timetable, from, to);
        let by_rule = timetable.count_between(from, to).saturating_sub(excluded);
        by_rule.saturating_add(u64::try_from(added).unwrap_or(u64::MAX))
    }

    /// The smallest distance between two occurrences. It is the distance by the rule, or a smaller one from
    /// or to a further occurrence.
    #[must_use]
    pub fn smallest_gap(&self, timetable: &Timetable) -> Option<TimeDelta> {
        let gap = timetable.smallest_gap()?;
        let extra = self.live().iter().filter_map(|second| instant(*second));
        let around = extra.flat_map(|at| {
            let after = self.after(timetable, at).map(|next| next - at);
            let near = at.checked_sub_signed(gap).and_then(|near| timetable.at_or_after(near));
            // Bounded: the occurrences of the rule are about that far apart.
            let before = std::iter::successors(near, |at| timetable.after(*at));
            let before = before.take_while(|before| *before < at);
            let before = before.filter(|at| !self.excludes(timetable, *at)).last();
            after.into_iter().chain(before.map(|before| at - before))
        });
        around.chain([gap]).min()
    }

    fn live(&self) -> &[i64] {
        self.extra.get(self.from..self.to).unwrap_or_default()
    }

    /// The same with those further occurrences that are in a time, both ends included.
    fn between(&self, from: DateTime<Utc>, until: Option<DateTime<Utc>>) -> Self {
        let from = self.extra.partition_point(|second| *second < first_second(from));
        let until = until.map_or(i64::MAX, |until| until.timestamp());
        let to = self.extra.partition_point(|second| *second <= until).min(self.to);
        let from = from.max(self.from).min(to);
        Self { excluded: self.excluded.clone(), extra: self.extra.clone(), from, to }
    }

    /// The first further occurrence that is not before a second.
    fn extra_from(&self, second: i64) -> Option<DateTime<Utc>> {
        let live = self.live();
        let next = live.get(live.partition_point(|extra| *extra < second))?;
        instant(*next)
    }

    /// An occurrence of the rule, or the first one after it that is not excluded.
    fn not_excluded(
        &self,
        timetable: &Timetable,
        mut found: Option<DateTime<Utc>>,
    ) -> Option<DateTime<Utc>> {
        // Bounded: each round leaves a series of excluded days, or passes a clock change in one.
        while let Some(at) = found {
            let Some(until) = self.excluded_until(timetable.zone(), at.timestamp()) else { break };
            found = timetable.at_or_after(instant(until)?);
        }
        found
    }

    /// Until which second the day of a second is excluded at least; `None` if it is not.
    fn excluded_until(&self, zone: Option<&Zone>, second: i64) -> Option<i64> {
        let segment = segment_at(zone, second);
        let civil = second + segment.offset;
        let place = self.excluded.partition_point(|[_, until]| *until <= civil);
        let [from, until] = self.excluded.get(place)?;
        (*from <= civil).then(|| (until - segment.offset).min(segment.end))
    }

    /// The number of occurrences of the rule on excluded days.
    fn count_excluded(&self, timetable: &Timetable, from: DateTime<Utc>, to: DateTime<Utc>) -> u64 {
        // A clock differs from UTC by less than a day.
        let first = self.excluded.partition_point(|[_, until]| until + DAY <= from.timestamp());
        let days = self.excluded.iter().skip(first);
        let mut total = 0;
        for [first, until] in days.take_while(|[first, _]| first - DAY <= to.timestamp()) {
            let mut at = first - DAY;
            // Bounded by the clock changes in the days.
            while at < until + DAY {
                let segment = segment_at(timetable.zone(), at);
                let begin = (first - segment.offset).max(segment.start);
                let end = (until - segment.offset).min(segment.end);
                if let (true, Some(begin), Some(end)) = (begin < end, instant(begin), instant(end))
                {
                    total += timetable.count_between(begin.max(from), end.min(to));
                }
                at = segment.end;
            }
        }
        total
    }

    /// Finds the n-th occurrence from the beginning of the timetable on.
    fn nth(&self, timetable: &Timetable, n: i64) -> Nth {
        let Some(first) = self.iter(timetable).next().filter(|_| n > 0) else {
            return if n > 0 { Nth::FewerThan } else { Nth::NoneIsWanted };
        };
        let count = |from: i64, to: i64| {
            let count = |(from, to)| self.count_between(timetable, from, to);
            let counted = instant(from).zip(instant(to)).map_or(0, count);
            i64::try_from(counted).unwrap_or(i64::MAX)
        };
        let Some((second, before)) = nth_second(first.timestamp(), n, count) else {
            return Nth::FewerThan;
        };
        // A second has one occurrence of the rule and a further one at most.
        let from = instant(second).and_then(|at| self.at_or_after(timetable, at));
        let is_second = n - before > 1;
        let found =
            from.and_then(|at| if is_second { self.after(timetable, at) } else { Some(at) });
        found.map_or(Nth::FewerThan, Nth::At)
    }
}

/// The n-th occurrence.
enum Nth {
    NoneIsWanted,
    At(DateTime<Utc>),
    FewerThan,
}

fn segment_at(zone: Option<&Zone>, second: i64) -> OffsetSegment {
    zone.map_or(OffsetSegment::fixed(0), |zone| zone.segment_at(second))
}

fn instant(second: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(second, 0)
}

/// The first whole second at or after an instant.
fn first_second(at: DateTime<Utc>) -> i64 {
    at.timestamp() + i64::from(at.timestamp_subsec_nanos() > 0)
}

/// All exceptions as text: the same for the same exceptions, in every later version.
impl fmt::Display for Exceptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for [from, until] in &self.excluded {
            write!(f, "-{}..{} ", from / DAY, until / DAY)?;
        }
        for second in &self.extra {
            write!(f, "+{second} ")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Recurrence, WrittenDate};

    fn at(text: &str) -> DateTime<Utc> {
        WrittenDate::parse(text).unwrap().instant(None).unwrap()
    }

    fn day(text: &str) -> NaiveDate {
        at(text).date_naive()
    }

    fn rule(json: &Value) -> Rule {
        Rule::canonical(&Recurrence::from_json(json).unwrap()).unwrap()
    }

    /// The first occurrences of a rule that starts in 2027, as day and time.
    fn found(json: &Value, days: &[[&str; 2]], extra: &[&str]) -> Vec<String> {
        let rule = rule(json);
        let days = days.iter().map(|series| series.map(day));
        let local = |text: &&str| WrittenDate::parse(text).unwrap().instant(rule.zone()).unwrap();
        let exceptions = Exceptions::new(rule.zone(), days, extra.iter().map(local));
        let start = at("2027-01-01T09:00");
        let (timetable, exceptions) =
            exceptions.applied_to(&rule, Start::Given(start), start, 0).unwrap();
        let first = exceptions.iter(&timetable).take(4);
        first.map(|at| format_instant(at)[5..16].to_owned()).collect()
    }

    #[test]
    fn days_are_left_out_and_instants_added() {
        let daily = json!({"frequency": "day"});
        // The start, too.
        assert_eq!(
            found(&daily, &[["2027-01-01", "2027-01-01"], ["2027-01-03", "2027-01-04"]], &[]),
            ["01-02T09:00", "01-05T09:00", "01-06T09:00", "01-07T09:00"]
        );
        // An instant of the rule is one occurrence; an excluded day has none; the start bounds all.
        assert_eq!(
            found(
                &daily,
                &[["2027-01-02", "2027-01-02"]],
                &[
                    "2026-12-31T12:00",
                    "2027-01-01T09:00",
                    "2027-01-01T18:30",
                    "2027-01-02T10:00",
                    "2027-01-03T08:00"
                ]
            ),
            ["01-01T09:00", "01-01T18:30", "01-03T08:00", "01-03T09:00"]
        );
    }

    #[test]
    fn a_count_has_the_extra_instants_and_not_the_excluded_ones() {
        let thrice = json!({"frequency": "day", "count": 3});
        assert_eq!(
            found(&thrice, &[["2027-01-02", "2027-01-02"]], &["2027-01-03T18:00"]),
            ["01-01T09:00", "01-03T09:00", "01-03T18:00"]
        );
        // Those after the last one are not reached.
        assert_eq!(
            found(&thrice, &[], &["2027-01-02T18:00", "2027-01-03T18:00"]),
            ["01-01T09:00", "01-02T09:00", "01-02T18:00"]
        );
        let until = json!({"frequency": "day", "endTime": "2027-01-02T12:00:00Z"});
        assert_eq!(
            found(&until, &[], &["2027-01-02T12:00", "2027-01-02T12:01"]),
            ["01-01T09:00", "01-02T09:00", "01-02T12:00"]
        );
    }

    #[test]
    fn a_day_is_one_of_the_zone() {
        let evening = json!({"frequency": "day", "timeZone": "America/New_York",
            "schedule": {"hours": [20], "minutes": [0]}});
        // 20:00 in New York is the next day in UTC.
        assert_eq!(
            found(&evening, &[["2027-01-02", "2027-01-02"]], &["2027-01-03T09:00"])[..3],
            ["01-02T01:00", "01-03T14:00", "01-04T01:00"]
        );
    }

    #[test]
    fn a_rule_without_any_occurrence_is_refused() {
        let rule = rule(&json!({"frequency": "day", "endTime": "2027-01-03T12:00:00Z"}));
        let start = Start::Given(at("2027-01-01T09:00"));
        let excluded = |last: &str, extra: &[&str]| {
            let exceptions = Exceptions::new(
                None,
                [[day("2027-01-01"), day(last)]],
                extra.iter().map(|text| at(text)),
            );
            // Late, so that nothing is left in any case.
            exceptions.applied_to(&rule, start, at("2027-02-01"), 0).map(drop)
        };
        assert_eq!(excluded("2027-01-02", &[]), Ok(()));
        assert_eq!(
            excluded("2027-01-03", &[]).unwrap_err().to_string(),
            "The recurrence never occurs: each of its occurrences, from 2027-01-01T09:00:00Z on, is \
             on an excluded date; exclude fewer dates."
        );
        assert!(excluded("2027-01-02", &["2027-01-03T12:00"]).is_ok());
    }

    #[test]
    fn the_smallest_gap_is_also_that_of_a_further_instant() {
        let gap = |days: &[[&str; 2]], extra: &[&str]| {
            let rule = rule(&json!({"frequency": "day"}));
            let days = days.iter().map(|series| series.map(day));
            let exceptions = Exceptions::new(None, days, extra.iter().map(|text| at(text)));
            let start = at("2027-01-01T09:00");
            let (timetable, exceptions) =
                exceptions.applied_to(&rule, Start::Given(start), start, 0).unwrap();
            exceptions.smallest_gap(&timetable).unwrap().num_minutes()
        };
        assert_eq!(gap(&[], &[]), 24 * 60);
        assert_eq!(gap(&[], &["2027-01-02T09:00"]), 24 * 60);
        assert_eq!(gap(&[], &["2027-01-02T09:20"]), 20);
        assert_eq!(gap(&[], &["2027-01-02T08:30"]), 30);
        assert_eq!(gap(&[], &["2027-01-02T12:00", "2027-01-02T12:01"]), 1);
        // What is excluded is not near.
        assert_eq!(gap(&[["2027-01-02", "2027-01-02"]], &["2027-01-01T23:00"]), 14 * 60);
    }

    /// The occurrences of a rule with exceptions, one by one.
    fn by_hand(
        timetable: &Timetable,
        days: &[[NaiveDate; 2]],
        extra: &[DateTime<Utc>],
        until: DateTime<Utc>,
    ) -> Vec<DateTime<Utc>> {
        let is_excluded = |at: &DateTime<Utc>| {
            let today = timetable.local(*at).0.date();
            days.iter().any(|[first, last]| (*first..=*last).contains(&today))
        };
        let by_rule = timetable.iter().take_while(|at| *at <= until);
        let mut all: Vec<_> = by_rule.chain(extra.iter().copied()).collect();
        all.retain(|at| !is_excluded(at));
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn every_question_agrees_with_the_occurrences_one_by_one() {
        // In each of these times, a clock changes over midnight, or near it.
        for (zone, month) in [
            ("UTC", "2027-03"),
            ("Europe/Berlin", "2027-10"),
            ("Asia/Beirut", "2022-10"),
            ("Asia/Beirut", "2022-03"),
            ("America/St_Johns", "2010-11"),
            ("Pacific/Apia", "2011-12"),
            ("Australia/Lord_Howe", "2027-04"),
        ] {
            for json in [
                json!({"frequency": "minute", "interval": 7, "timeZone": zone}),
                json!({"frequency": "hour", "schedule": {"minutes": [0, 30]}, "timeZone": zone}),
                json!({"frequency": "day", "schedule": {"hours": [0, 2, 23], "minutes": [30]},
                    "timeZone": zone}),
            ] {
                agree(&json, &format!("{month}-01T00:17:00.5"));
            }
        }
    }

    fn agree(json: &Value, start: &str) {
        let (rule, start) = (rule(json), at(start));
        let date = |n: i64| (start + TimeDelta::days(n)).date_naive();
        let days =
            [[date(2), date(2)], [date(6), date(8)], [date(9), date(9)], [date(29), date(31)]];
        let extra: Vec<_> = (0..36)
            .map(|n| start + TimeDelta::minutes(1_237 * n) - TimeDelta::milliseconds(500))
            .filter(|at| *at > start)
            .collect();
        let exceptions = Exceptions::new(rule.zone(), days, extra.iter().copied());
        let all = exceptions.applied_to(&rule, Start::Given(start), start, 0).unwrap();
        let until = start + TimeDelta::days(33);
        let (timetable, exceptions) = all;
        let expected = by_hand(&timetable, &days, &extra, until);
        let found: Vec<_> = exceptions
            .iter(&timetable)
            .take_while(|at| *at <= expected[expected.len() - 1])
            .collect();
        let other = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert_eq!((other, found.len()), (None, expected.len()), "{json}");
        for pair in expected.windows(2).step_by(5) {
            let [low, high] = [pair[0], pair[1]];
            let between = low + (high - low) / 2;
            assert_eq!(exceptions.at_or_after(&timetable, low), Some(low), "{json}");
            assert_eq!(exceptions.after(&timetable, low), Some(high), "{json}");
            assert_eq!(exceptions.at_or_after(&timetable, between), Some(high), "{json}");
            let before = expected.iter().filter(|at| **at < high).count();
            let counted = exceptions.count_between(&timetable, start, high);
            assert_eq!(counted, u64::try_from(before).unwrap(), "{json} {high}");
        }
        // A count ends with its n-th occurrence, from the start or from a later time on.
        for (used, since) in [(0, start), (3, start + TimeDelta::days(5))] {
            let counted = Rule { count: Some(60), ..rule };
            let (timetable, left) =
                exceptions.applied_to(&counted, Start::Given(start), since, used).unwrap();
            let wanted: Vec<_> = expected.iter().copied().filter(|at| *at >= since).collect();
            let wanted = &wanted[..wanted.len().min(60 - used as usize)];
            let found: Vec<_> = left.iter(&timetable).take(61).collect();
            if wanted.len() == 60 - used as usize {
                assert_eq!(found, wanted, "{json}");
            }
            // It is restored from the line of the timetable and the places.
            let line = timetable.to_string();
            let places = left.places();
            let whole = Exceptions::new(rule.zone(), days, extra.iter().copied());
            let restored = whole.with_places(places);
            let again: Vec<_> = restored.iter(&line.parse().unwrap()).take(61).collect();
            assert_eq!(again, found, "{json}");
        }
    }

    #[test]
    fn a_count_that_is_used_up_has_no_occurrence() {
        let rule = rule(&json!({"frequency": "day", "count": 3}));
        let start = at("2027-01-01T09:00");
        let exceptions = Exceptions::new(None, [], [at("2027-01-05T12:00")]);
        let (timetable, left) =
            exceptions.applied_to(&rule, Start::Given(start), start, 3).unwrap();
        assert_eq!(left.iter(&timetable).next(), None);
    }

    #[test]
    fn the_text_tells_exceptions_apart_and_stays() {
        let days = [[day("2027-12-27"), day("2028-01-02")], [day("2027-12-24"), day("2027-12-24")]];
        let exceptions = Exceptions::new(None, days, [at("2027-03-01T09:00")]);
        // Kept for ever: a timer holds a hash of it.
        assert_eq!(exceptions.to_string(), "-21176..21177 -21179..21186 +1803891600 ");
        let same = [
            [day("2027-12-29"), day("2028-01-02")],
            days[1],
            [day("2027-12-27"), day("2027-12-30")],
        ];
        assert_eq!(Exceptions::new(None, same, [at("2027-03-01T09:00"); 2]), exceptions);
        assert_eq!(exceptions.counts(), [8, 1]);
    }
}
