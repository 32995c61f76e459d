//! For how long history is kept.
//!
//! A record says when it expires, and that is decided when it is written. So a change of the setting
//! changes nothing of what is written: after 60 days were made 7, a record may still be there after 30
//! days; after 7 days were made 60, one of 30 days ago is gone. The workers therefore note until when each
//! shorter setting was in force, and [`HistoryPast::known_since`] tells from when on history is complete.
//! Nothing older is taken for not done because it has no record.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

/// How long a job that is over is kept, whatever the history.
pub const JOBS_KEPT_FOR: TimeDelta = TimeDelta::days(60);

/// A message is forgotten this long before its record expires: two clocks differ, and an attempt takes a
/// while.
const MARGIN: TimeDelta = TimeDelta::days(1);

/// For how many days history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum HistoryDays {
    /// 7 days.
    Seven,
    /// 15 days.
    Fifteen,
    /// 30 days.
    Thirty,
    /// 60 days.
    #[default]
    Sixty,
}

impl HistoryDays {
    /// Every choice, the shortest first.
    pub const ALL: [Self; 4] = [Self::Seven, Self::Fifteen, Self::Thirty, Self::Sixty];

    /// The number of days.
    #[must_use]
    pub const fn days(self) -> u32 {
        match self {
            Self::Seven => 7,
            Self::Fifteen => 15,
            Self::Thirty => 30,
            Self::Sixty => 60,
        }
    }

    /// The time for which history is kept after an attempt ended.
    #[must_use]
    pub fn span(self) -> TimeDelta {
        TimeDelta::days(self.days().into())
    }

    /// For how long a message or a dead letter is kept at most. One that comes back finds the record of
    /// what it asks for.
    #[must_use]
    pub fn messages_kept_for(self) -> TimeDelta {
        self.span() - MARGIN
    }

    /// When history of an instant expires.
    #[must_use]
    pub fn kept_until(self, at: DateTime<Utc>) -> DateTime<Utc> {
        at.checked_add_signed(self.span()).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// History that ended after this instant is answered.
    #[must_use]
    pub fn answered_since(self, now: DateTime<Utc>) -> DateTime<Utc> {
        back(now, self.span())
    }

    /// From when on an attempt without a record was not made, if the setting never was another one.
    #[must_use]
    pub fn known_since(self, now: DateTime<Utc>) -> DateTime<Utc> {
        back(now, self.messages_kept_for())
    }
}

impl fmt::Display for HistoryDays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.days())
    }
}

/// A number of days for which history cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give 7, 15, 30 or 60")]
pub struct NoHistoryDays;

impl FromStr for HistoryDays {
    type Err = NoHistoryDays;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_it = |choice: &Self| text == choice.to_string();
        Self::ALL.into_iter().find(is_it).ok_or(NoHistoryDays)
    }
}

/// Until when shorter settings were in force: at most one instant for each of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryPast(Vec<(HistoryDays, DateTime<Utc>)>);

impl HistoryPast {
    /// After a sign of life under a setting. Settings that no record depends on any more are dropped. The
    /// longest setting needs no note: what was written under it is kept as long as any other asks for.
    #[must_use]
    pub fn and(&self, days: HistoryDays, now: DateTime<Utc>) -> Self {
        let matters = |(other, until): &(HistoryDays, DateTime<Utc>)| {
            *other != days && *until > HistoryDays::Sixty.answered_since(now)
        };
        let mut noted: Vec<_> = self.0.iter().copied().filter(matters).collect();
        if days != HistoryDays::Sixty {
            noted.push((days, now));
        }
        noted.sort_unstable();
        Self(noted)
    }

    /// What ended after this instant has its record still, if it is within the setting.
    #[must_use]
    pub fn complete_since(&self, days: HistoryDays, now: DateTime<Utc>) -> DateTime<Utc> {
        let gone = |(other, until): &(HistoryDays, DateTime<Utc>)| {
            (*other < days).then(|| other.answered_since(now).min(*until))
        };
        let gone_until = self.0.iter().filter_map(gone).max();
        days.answered_since(now).max(gone_until.unwrap_or(DateTime::<Utc>::MIN_UTC))
    }

    /// From when on an attempt without a record was not made.
    #[must_use]
    pub fn known_since(&self, days: HistoryDays, now: DateTime<Utc>) -> DateTime<Utc> {
        let since = self.complete_since(days, now);
        since.checked_add_signed(MARGIN).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// As text: days, a slash and a second for each, with spaces between.
impl fmt::Display for HistoryPast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.0.iter().map(|(days, until)| format!("{days}/{}", until.timestamp()));
        f.write_str(&written.collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for HistoryPast {
    type Err = NoHistoryDays;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let one = |text: &str| {
            let (days, until) = text.split_once('/').ok_or(NoHistoryDays)?;
            let until = until.parse().ok().and_then(|until| DateTime::from_timestamp(until, 0));
            Ok((days.parse()?, until.ok_or(NoHistoryDays)?))
        };
        text.split_whitespace().map(one).collect::<Result<_, _>>().map(Self)
    }
}

fn back(now: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    now.checked_sub_signed(by).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(day * 86_400, 0).unwrap()
    }

    #[test]
    fn only_four_numbers_of_days_are_settings() {
        for days in HistoryDays::ALL {
            assert_eq!(days.to_string().parse(), Ok(days));
            assert_eq!(days.messages_kept_for(), TimeDelta::days(i64::from(days.days()) - 1));
        }
        for text in ["", "0", "8", "+7", "07", "7 ", "61", "seven"] {
            assert_eq!(text.parse::<HistoryDays>(), Err(NoHistoryDays), "{text}");
        }
        assert_eq!(HistoryDays::default().days(), 60);
    }

    #[test]
    fn what_was_written_under_a_shorter_setting_is_not_known_under_a_longer_one() {
        use HistoryDays::{Fifteen, Seven, Sixty};
        let never = HistoryPast::default();
        assert_eq!(never.and(Sixty, day(100)), never);
        assert_eq!(never.complete_since(Sixty, day(100)), day(40));
        // 7 days until day 100, 60 days from then on.
        let past = never.and(Seven, day(90)).and(Seven, day(100)).and(Sixty, day(100));
        assert_eq!(past.to_string(), "7/8640000");
        for (now, since) in [(100, 93), (103, 96), (107, 100), (120, 100), (159, 100), (161, 101)] {
            assert_eq!(past.complete_since(Sixty, day(now)), day(since), "{now}");
            assert_eq!(past.known_since(Sixty, day(now)), day(since + 1), "{now}");
        }
        // The setting itself reaches less far back.
        assert_eq!(past.complete_since(Seven, day(120)), day(113));
        // Two shorter ones, one after the other, and another reading.
        let both = past.and(Fifteen, day(110)).and(Sixty, day(112));
        assert_eq!(both.to_string(), "7/8640000 15/9504000");
        assert_eq!(both.complete_since(Sixty, day(112)), day(100));
        assert_eq!(both.complete_since(Sixty, day(130)), day(110));
        assert_eq!(both.to_string().parse(), Ok(both.clone()));
        // What nothing depends on is forgotten.
        assert_eq!(both.and(Sixty, day(165)).to_string(), "15/9504000");
        assert_eq!(both.and(Sixty, day(171)), never);
        for damaged in ["7", "7/x", "8/1", "7/1 15"] {
            assert!(damaged.parse::<HistoryPast>().is_err(), "{damaged}");
        }
    }
}
