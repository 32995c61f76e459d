//! Computes when a recurring job runs: a recurrence rule goes in, instants come out.
//!
//! `domain` and the crates above it call it. It is pure, and never knows jobs, I/O or a clock: the
//! caller passes the time. Its only state is the time zones, which a process may replace once. The rules are those of Azure Scheduler (`frequency`, `interval`, `schedule`, `count`,
//! `endTime`), extended with time zones.
//!
//! # Three forms of a rule
//!
//! 1. [`Recurrence`]: the rule as the user wrote it. Each value is valid on its own, names are
//!    canonical, and lists keep their order. `Display` writes JSON.
//! 2. [`Rule`]: the canonical form. Lists are sets, defaults are filled in, and the parts fit
//!    together. Two recurrences with the same meaning have equal rules.
//! 3. [`Timetable`]: the rule compiled with its start. It is `Copy` and answers every question about
//!    occurrences. `Display` writes one short line, and `FromStr` reads that line back.
//!
//! [`Timetable::from_json_text`] takes all three steps at once. The steps one by one:
//!
//! ```
//! use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
//!
//! let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
//! let json = serde_json::json!({
//!     "frequency": "day",
//!     "schedule": {"hours": [8, 17], "minutes": [30]},
//!     "timeZone": "America/New_York",
//! });
//! let recurrence = Recurrence::from_json(&json)?;
//! let rule = Rule::canonical(&recurrence)?;
//! let start = at("2026-10-31T00:00:00-04:00");
//! let timetable = Timetable::new(&rule, Some(start), start)?;
//!
//! assert_eq!(timetable.sentence(), "every day at 08:30 and 17:30 America/New_York time");
//! let next: Vec<_> = timetable.iter().skip(1).take(2).map(format_instant).collect();
//! // In the night between these two, the clock goes back one hour.
//! assert_eq!(next, ["2026-10-31T21:30:00Z", "2026-11-01T13:30:00Z"]);
//!
//! assert_eq!(timetable.count_between(start, at("2027-10-31T00:00:00-04:00")), 2 * 365);
//! let line = timetable.to_string();
//! assert_eq!(line.parse(), Ok(timetable));
//! # Ok::<(), minutehand_recurrence::Refused>(())
//! ```
//!
//! # Periods and phases
//!
//! A rule counts periods: minutes, hours, days, weeks (from Monday), months or years. The period
//! that contains the start has number 0, and every `interval`-th period is active. The start
//! therefore fixes the phase, even if it is many years ago:
//!
//! ```
//! # use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
//! # let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
//! let json = serde_json::json!({"frequency": "day", "interval": 2});
//! let rule = Rule::canonical(&Recurrence::from_json(&json)?)?;
//! let now = at("2015-04-08T13:00:00Z");
//! let timetable = Timetable::new(&rule, Some(at("2015-04-07T14:00:00Z")), now)?;
//! assert_eq!(timetable.at_or_after(now).map(format_instant).as_deref(), Some("2015-04-09T14:00:00Z"));
//! # Ok::<(), minutehand_recurrence::Refused>(())
//! ```
//!
//! Without a schedule, a rule of months or years keeps the start's day and moves it to the last day
//! of a shorter month. A listed day (`monthDays: [31]`) skips the months that do not have it.
//!
//! # Clock changes
//!
//! A rule of minutes or hours without a schedule counts elapsed time. Every other rule reads the
//! clock of its zone:
//!
//! | The rule | A time that the clock skips | A time that the clock shows twice |
//! |---|---|---|
//! | names hours, or takes the hour from the start | moves forward by the length of the gap | fires the first time |
//! | means every hour: `minutes` alone, all 24 hours, frequency `hour` or `minute` | does not fire | fires both times |
//!
//! ```
//! # use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, format_instant};
//! # let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
//! # let timetable = |json| {
//! #     let rule = Rule::canonical(&Recurrence::from_json(&json).unwrap()).unwrap();
//! #     let start = at("2027-01-01T00:00:00-05:00");
//! #     Timetable::new(&rule, Some(start), start).unwrap()
//! # };
//! let new_york = "America/New_York";
//! // The clock skips 02:30 on 14 March 2027, so the job runs at 03:30 that day.
//! let daily = timetable(serde_json::json!({
//!     "frequency": "day", "schedule": {"hours": [2], "minutes": [30]}, "timeZone": new_york,
//! }));
//! let next = daily.at_or_after(at("2027-03-14T00:00:00-05:00"));
//! assert_eq!(next.map(format_instant).as_deref(), Some("2027-03-14T07:30:00Z"));
//!
//! // 7 November 2027 has 25 hours, and 14 March 2027 has 23.
//! let quarters = timetable(serde_json::json!({
//!     "frequency": "day", "schedule": {"minutes": [0, 15, 30, 45]}, "timeZone": new_york,
//! }));
//! let of_day = |from, to| quarters.count_between(at(from), at(to));
//! assert_eq!(of_day("2027-11-07T00:00:00-04:00", "2027-11-08T00:00:00-05:00"), 100);
//! assert_eq!(of_day("2027-03-14T00:00:00-05:00", "2027-03-15T00:00:00-04:00"), 92);
//! ```
//!
//! Occurrences strictly increase across every clock change.
//!
//! # Cost
//!
//! The next occurrence costs the same for a start long ago and for a large interval. Arithmetic
//! finds the period, a set of bits gives the occurrence, and two lookups in the zone give its
//! instant. Nothing is allocated. The only search is for months that have the wanted day, and a rule
//! that no month satisfies is refused when it is compiled.

mod bind;
mod civil;
mod date;
mod days;
mod error;
mod exceptions;
mod from_json;
mod grid;
mod instant;
mod line;
mod months;
mod named;
mod object;
mod pattern;
mod reader;
mod recurrence;
mod rule;
mod sentence;
mod timeline;
mod times;
mod timetable;
mod usual;
mod words;
pub mod zone;

pub use date::{DateError, WrittenDate};
pub use error::{Fix, Refused, meant, nearest, shortened};
pub use exceptions::Exceptions;
pub use instant::format_instant;
pub use line::UnreadableTimetable;
pub use recurrence::{Recurrence, read_start_time};
pub use rule::Rule;
pub use timeline::ClockChange;
pub use timetable::{Start, Timetable};
pub use words::{Frequency, Weekday};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
