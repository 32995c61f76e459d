//! Recurrence rules in, instants out.
//!
//! The rules are those of Azure Scheduler (`frequency`, `interval`, `schedule`, `count`,
//! `endTime`), with real time zones. The crate is pure: no clock, no I/O, no state; the instant
//! that is *now* is a parameter, and so is everything else.
//!
//! # Three forms
//!
//! 1. [`Recurrence`]: as it was sent. Each value is checked by itself, names are made canonical,
//!    lists keep their order. `Display` is the JSON that is answered.
//! 2. [`Rule`]: canonical. Lists are sets, defaults are filled in, and the parts are known to go
//!    together. Two recurrences that mean the same are equal.
//! 3. [`Timetable`]: compiled with its start. It is `Copy`, and answers the questions; `Display`
//!    is one short line that parses back.
//!
//! ```
//! use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, written};
//!
//! let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
//! let json = serde_json::json!({
//!     "frequency": "day",
//!     "schedule": {"hours": [8, 17], "minutes": [30]},
//!     "timeZone": "America/New_York",
//! });
//! let sent = Recurrence::from_json(&json)?;
//! let rule = Rule::of(&sent)?;
//! let start = at("2026-10-31T00:00:00-04:00");
//! let timetable = Timetable::new(&rule, Some(start), start)?;
//!
//! assert_eq!(timetable.sentence(), "every day at 08:30 and 17:30 America/New_York time");
//! let next: Vec<_> = timetable.iter().skip(1).take(2).map(format_instant).collect();
//! // The clock goes back in the night between them.
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
//! The period (minute, hour, day, week from Monday, month, year) that contains the start is
//! number 0, and of all periods every `interval`-th is active. So the phase comes from the start,
//! however long ago it was:
//!
//! ```
//! # use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, written};
//! # let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
//! let json = serde_json::json!({"frequency": "day", "interval": 2});
//! let rule = Rule::of(&Recurrence::from_json(&json)?)?;
//! let now = at("2015-04-08T13:00:00Z");
//! let timetable = Timetable::new(&rule, Some(at("2015-04-07T14:00:00Z")), now)?;
//! assert_eq!(timetable.at_or_after(now).map(format_instant).as_deref(), Some("2015-04-09T14:00:00Z"));
//! # Ok::<(), minutehand_recurrence::Refused>(())
//! ```
//!
//! A month or year without a schedule keeps the start's day, clamped to the last of a shorter
//! month; a day that is *named* (`monthDays: [31]`) skips the months without it.
//!
//! # When the clock changes
//!
//! Minutes and hours without a schedule are elapsed time. Everything else is read on the clock of
//! the rule's zone:
//!
//! | the rule | a time that is skipped | a time that is shown twice |
//! |---|---|---|
//! | names hours (or leaves them to the start) | moves forward by the gap | fires the first time |
//! | means every hour: `minutes` alone, all 24 hours, frequency `hour` or `minute` | does not fire | fires both times |
//!
//! ```
//! # use minutehand_recurrence::{Recurrence, Rule, Timetable, WrittenDate, written};
//! # let at = |text| WrittenDate::parse(text).unwrap().instant(None).unwrap();
//! # let timetable = |json| {
//! #     let rule = Rule::of(&Recurrence::from_json(&json).unwrap()).unwrap();
//! #     let start = at("2027-01-01T00:00:00-05:00");
//! #     Timetable::new(&rule, Some(start), start).unwrap()
//! # };
//! let new_york = "America/New_York";
//! // 02:30 does not exist on 14 March 2027: it is 03:30 that day.
//! let daily = timetable(serde_json::json!({
//!     "frequency": "day", "schedule": {"hours": [2], "minutes": [30]}, "timeZone": new_york,
//! }));
//! let next = daily.at_or_after(at("2027-03-14T00:00:00-05:00"));
//! assert_eq!(next.map(format_instant).as_deref(), Some("2027-03-14T07:30:00Z"));
//!
//! // The day has 25 hours on 7 November 2027, and 23 on 14 March.
//! let quarters = timetable(serde_json::json!({
//!     "frequency": "day", "schedule": {"minutes": [0, 15, 30, 45]}, "timeZone": new_york,
//! }));
//! let of_day = |from, to| quarters.count_between(at(from), at(to));
//! assert_eq!(of_day("2027-11-07T00:00:00-04:00", "2027-11-08T00:00:00-05:00"), 100);
//! assert_eq!(of_day("2027-03-14T00:00:00-05:00", "2027-03-15T00:00:00-04:00"), 92);
//! ```
//!
//! Whatever the clock does, occurrences strictly increase.
//!
//! # What it costs
//!
//! The next occurrence costs the same however far the start is and however large the interval:
//! arithmetic leads to the period, a look at a set of bits to the occurrence, two looks at the
//! zone to its instant. Nothing is allocated. Only months that may lack the day are searched, and
//! a rule that no month satisfies is refused when it is compiled.

mod bind;
mod civil;
mod date;
mod days;
mod error;
mod grid;
mod months;
mod pattern;
mod rule;
mod sent;
mod sentence;
mod text;
mod timeline;
mod times;
mod timetable;
mod words;
pub mod zone;

pub use date::{DateError, WrittenDate, format_instant};
pub use error::Refused;
pub use rule::Rule;
pub use sent::{Recurrence, read_start_time};
pub use text::UnreadableTimetable;
pub use timeline::ClockChange;
pub use timetable::{Start, Timetable};
pub use words::{Frequency, Weekday};
