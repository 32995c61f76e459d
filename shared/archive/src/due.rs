//! Which days of an archive a run writes.
//!
//! A day is written when it is over, and once more when its first record is about to expire.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

/// How long after its end a day counts as over. Until then an attempt of it may still be recorded.
const CLOSING: TimeDelta = TimeDelta::hours(1);

/// How far an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchivedDays {
    /// The first day that is not written.
    pub written_until: Option<NaiveDate>,
    /// The first day that was not written a second time. What is before it may be deleted.
    pub checked_until: Option<NaiveDate>,
}

/// Consecutive days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpan {
    /// The first one; `None` for all before the last.
    pub from: Option<NaiveDate>,
    /// The day after the last.
    pub until: NaiveDate,
}

/// What a run has to do, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueDays {
    /// The days to write because they are over.
    pub over: Option<DaySpan>,
    /// The days to write a second time.
    pub again: Option<DaySpan>,
    /// The new [`ArchivedDays::checked_until`], if it changes.
    pub checked_until: Option<NaiveDate>,
}

impl ArchivedDays {
    /// What a run has to do at an instant, for a store that keeps history for this span.
    #[must_use]
    pub fn due(self, now: DateTime<Utc>, history: TimeDelta) -> DueDays {
        let Self { written_until, checked_until } = self;
        let over = open_day(now);
        // The first day of which nothing expires yet.
        let expiring = day_before(now, history).succ_opt().unwrap_or(NaiveDate::MAX);
        // A clock that was ahead has claimed days that were not over.
        let was_ahead = written_until.is_some_and(|until| until.pred_opt() > Some(over));
        let written_until = if was_ahead { checked_until } else { written_until };
        let later = |from: Option<NaiveDate>, until| {
            from.is_none_or(|from| from < until).then_some(DaySpan { from, until })
        };
        let again = later(checked_until, expiring);
        DueDays {
            over: later(written_until, over),
            // At the first time, everything was just written.
            again: again.filter(|_| written_until.is_some()),
            checked_until: again.map(|days| days.until),
        }
    }
}

/// The first day that is not over at an instant.
#[must_use]
pub fn open_day(now: DateTime<Utc>) -> NaiveDate {
    day_before(now, CLOSING)
}

/// The day of the instant that is so long before now.
#[must_use]
pub fn day_before(now: DateTime<Utc>, span: TimeDelta) -> NaiveDate {
    now.checked_sub_signed(span).unwrap_or(DateTime::<Utc>::MIN_UTC).date_naive()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(n: i64) -> NaiveDate {
        DateTime::from_timestamp(n * 86_400, 0).unwrap().date_naive()
    }

    /// What is due at an hour after the beginning of a day, with history of seven days.
    fn due(
        days: [Option<i64>; 2],
        now: i64,
        hour: i64,
    ) -> [Option<(Option<NaiveDate>, NaiveDate)>; 2] {
        let [written_until, checked_until] = days.map(|it| it.map(day));
        let now = DateTime::from_timestamp(now * 86_400 + hour * 3_600, 0).unwrap();
        let due = ArchivedDays { written_until, checked_until }.due(now, TimeDelta::days(7));
        [due.over, due.again].map(|it| it.map(|DaySpan { from, until }| (from, until)))
    }

    #[test]
    fn a_day_is_due_when_it_is_over_and_when_it_begins_to_expire() {
        let span = |from: Option<i64>, until| Some((from.map(day), day(until)));
        for (days, now, hour, expected) in [
            // A new archive gets all at once.
            ([None, None], 20, 2, [span(None, 20), None]),
            // The last hour of a day is waited for.
            ([Some(19), Some(13)], 20, 0, [None, span(Some(13), 14)]),
            ([Some(19), Some(14)], 20, 0, [None, None]),
            ([Some(19), Some(14)], 20, 1, [span(Some(19), 20), None]),
            ([Some(20), Some(14)], 20, 23, [None, None]),
            // After a while without an archive.
            ([Some(20), Some(14)], 40, 1, [span(Some(20), 40), span(Some(14), 34)]),
            // Days that were claimed by a clock that was ahead are written again from what is sure.
            ([Some(21), Some(14)], 20, 1, [None, None]),
            ([Some(40), Some(14)], 20, 1, [span(Some(14), 20), None]),
            ([Some(40), Some(34)], 20, 1, [None, None]),
            ([Some(40), None], 20, 1, [span(None, 20), None]),
        ] {
            assert_eq!(due(days, now, hour), expected, "{days:?} on day {now} at {hour}");
        }
    }

    #[test]
    fn what_was_just_written_for_the_first_time_counts_as_checked() {
        let now = DateTime::from_timestamp(20 * 86_400, 0).unwrap();
        let due = ArchivedDays::default().due(now, TimeDelta::days(7));
        assert_eq!((due.again, due.checked_until), (None, Some(day(14))));
        assert_eq!(ArchivedDays::default().due(now, TimeDelta::MAX).over.unwrap().from, None);
    }
}
