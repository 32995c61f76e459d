//! The names of frequencies and weekdays.

use serde::de::{Deserialize, Deserializer, Error};

/// The unit of a recurrence's interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Frequency {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Frequency {
    /// All frequencies, the shortest period first.
    pub const ALL: [Self; 6] =
        [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year];

    /// Returns the canonical name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// Returns the name as Azure Scheduler writes it in messages.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Minute => "Minute",
            Self::Hour => "Hour",
            Self::Day => "Day",
            Self::Week => "Week",
            Self::Month => "Month",
            Self::Year => "Year",
        }
    }

    /// Returns the adverb, which is the other accepted spelling.
    const fn adverb(self) -> &'static str {
        match self {
            Self::Minute => "minutely",
            Self::Hour => "hourly",
            Self::Day => "daily",
            Self::Week => "weekly",
            Self::Month => "monthly",
            Self::Year => "yearly",
        }
    }

    /// Reads the name or the adverb, in any case.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(|frequency| is(frequency.name()) || is(frequency.adverb()))
    }

    /// Returns the largest allowed interval.
    pub(crate) const fn interval_max(self) -> u32 {
        match self {
            Self::Minute | Self::Hour => 1_000,
            Self::Day => 548,
            Self::Week => 78,
            Self::Month => 18,
            Self::Year => 100,
        }
    }
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// All weekdays, Monday first.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// Returns the canonical name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monday => "monday",
            Self::Tuesday => "tuesday",
            Self::Wednesday => "wednesday",
            Self::Thursday => "thursday",
            Self::Friday => "friday",
            Self::Saturday => "saturday",
            Self::Sunday => "sunday",
        }
    }

    /// Returns the name as a sentence writes it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Monday => "Monday",
            Self::Tuesday => "Tuesday",
            Self::Wednesday => "Wednesday",
            Self::Thursday => "Thursday",
            Self::Friday => "Friday",
            Self::Saturday => "Saturday",
            Self::Sunday => "Sunday",
        }
    }

    /// Returns the place in the week: Monday is 0.
    pub(crate) const fn place(self) -> u32 {
        self as u32
    }

    /// Reads a name in any case.
    pub(crate) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|weekday| weekday.name().eq_ignore_ascii_case(text))
    }
}

impl<'de> Deserialize<'de> for Weekday {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <&str>::deserialize(deserializer)?;
        Self::read(name).ok_or_else(|| D::Error::custom("not a weekday"))
    }
}
