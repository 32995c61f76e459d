//! The clock that a command counts with: that of the schedule.
//!
//! It is the clock of this machine, unless the server is on this machine and has a test clock
//! (`serve --clock-start`): then `now+2h` and `in 3 h` are meant by that one.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_client::MeAnswer;

use crate::output::times::read;

/// A server here whose clock differs by less has the clock of this machine.
const APART_MAX: TimeDelta = TimeDelta::seconds(2);

/// A test clock, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TestClock {
    /// What this machine showed then.
    seen_at: DateTime<Utc>,
    /// What the test clock showed.
    showed: DateTime<Utc>,
    /// How fast it runs.
    rate: f64,
}

impl TestClock {
    /// The test clock of a server that said so at an instant of this machine; `None` if it has none.
    pub(crate) fn of(server: &MeAnswer, seen_at: DateTime<Utc>) -> Option<Self> {
        let showed = read(&server.now)?;
        let rate = server.clock_rate;
        let is_real = (showed - seen_at).abs() <= APART_MAX && (rate - 1.0).abs() < f64::EPSILON;
        (!is_real).then_some(Self { seen_at, showed, rate })
    }

    /// What it shows when this machine shows this.
    pub(crate) fn at(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let since = (now - self.seen_at).to_std().unwrap_or_default();
        let since = Duration::try_from_secs_f64(since.as_secs_f64() * self.rate);
        let since = since.ok().and_then(|since| TimeDelta::from_std(since).ok());
        since.and_then(|since| self.showed.checked_add_signed(since)).unwrap_or(self.showed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        read(text).unwrap()
    }

    fn of(now: &str, clock_rate: f64) -> Option<TestClock> {
        let server = MeAnswer { now: now.to_owned(), clock_rate, may: Vec::new() };
        TestClock::of(&server, at("2027-03-01T12:00:00Z"))
    }

    #[test]
    fn a_clock_that_agrees_with_this_machine_is_no_test_clock() {
        for (now, rate, is_test) in [
            ("2027-03-01T12:00:01Z", 1.0, false),
            ("2027-03-01T11:59:58Z", 1.0, false),
            ("2027-03-01T12:00:03Z", 1.0, true),
            ("2027-03-01T12:00:00Z", 3600.0, true),
            ("soon", 1.0, false),
        ] {
            assert_eq!(of(now, rate).is_some(), is_test, "{now} {rate}");
        }
    }

    #[test]
    fn a_test_clock_goes_on_at_its_rate() {
        let clock = of("2030-01-01T00:00:00Z", 3_600.0).unwrap();
        for (now, shows) in [
            ("2027-03-01T12:00:00Z", "2030-01-01T00:00:00Z"),
            ("2027-03-01T12:00:24Z", "2030-01-02T00:00:00Z"),
            // This machine was set back.
            ("2027-03-01T11:00:00Z", "2030-01-01T00:00:00Z"),
        ] {
            assert_eq!(clock.at(at(now)), at(shows), "{now}");
        }
    }
}
