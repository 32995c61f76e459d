//! The names of frequencies and weekdays.

use serde::de::{Deserialize, Deserializer, Error};

use crate::named;

named! {
    /// The unit of a recurrence's interval: its name, and that of Azure Scheduler's messages.
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Frequency: pub(crate) fn title {
        Minute = "minute": "Minute",
        Hour = "hour": "Hour",
        Day = "day": "Day",
        Week = "week": "Week",
        Month = "month": "Month",
        Year = "year": "Year",
    }
}

impl Frequency {
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

named! {
    /// A day of the week: its name, and that in a sentence.
    #[derive(PartialOrd, Ord)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum Weekday: pub(crate) fn title {
        Monday = "monday": "Monday",
        Tuesday = "tuesday": "Tuesday",
        Wednesday = "wednesday": "Wednesday",
        Thursday = "thursday": "Thursday",
        Friday = "friday": "Friday",
        Saturday = "saturday": "Saturday",
        Sunday = "sunday": "Sunday",
    }
}

impl Weekday {
    /// Returns the place in the week: Monday is 0.
    pub(crate) const fn place(self) -> u32 {
        self as u32
    }
}

impl<'de> Deserialize<'de> for Weekday {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <&str>::deserialize(deserializer)?;
        Self::read_name(name).ok_or_else(|| D::Error::custom("not a weekday"))
    }
}
