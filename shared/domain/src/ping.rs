//! Pings: what a job owes that expects them, and what a ping pays.
//!
//! Each occurrence of such a job owes a ping within a [window](OwedPing). A [`PingBook`] remembers which were
//! paid or started, and the last pings. It is stored beside the key of the job's address, so that one read
//! decides what a ping does.

mod book;

use chrono::{DateTime, Timelike as _, Utc};
use minutehand_recurrence::named;

pub use crate::ping_window::{OWED_MAX, OwedPing, PingWindow};
pub use book::{PingBook, PingEffect, PingEntry};

use crate::completion::{EndedBy, Ending};
use crate::ids::{guid_of_version, unhex};
use crate::schedule::Schedule;

/// The most characters of the text of a ping that are kept.
pub const PING_CHARS_MAX: usize = 1_024;
/// The most bytes of the body of a ping that are read. What follows is not looked at.
pub const PING_BYTES_MAX: usize = 100 * 1_000;
/// The bytes of a UUID.
const UUID_BYTES: usize = 16;
/// The digits of the five parts of a UUID.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];

named! {
    /// What a ping says. The names are stored.
    pub enum PingKind {
        /// The work is done.
        Success = "success",
        /// The work begins.
        Start = "start",
        /// The work failed.
        Failure = "fail",
        /// Something to remember.
        Log = "log",
    }
}

/// A UUID, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uuid(String);

impl Uuid {
    /// Reads a UUID with its dashes, in any case.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let is_one = parts.iter().map(|part| part.len()).eq(UUID_PARTS);
        let digits = unhex(&parts.concat()).filter(|bytes| bytes.len() == UUID_BYTES);
        digits.filter(|_| is_one).map(|_| Self(text.to_ascii_lowercase()))
    }

    /// A UUID of version 4 from random bits.
    #[must_use]
    pub fn of_bits(bits: u128) -> Self {
        Self(guid_of_version(0x4, bits))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ping {
    /// When it came.
    pub at: DateTime<Utc>,
    /// What it says.
    pub kind: PingKind,
    /// Tells the work from other work of the job, if it says so.
    pub rid: Option<Uuid>,
    /// What was sent with it: the beginning.
    pub text: String,
}

impl Ping {
    /// A ping with the beginning of a text. A number other than 0 with which a program ended says most if there
    /// is no text.
    #[must_use]
    pub fn new(
        at: DateTime<Utc>,
        kind: PingKind,
        rid: Option<Uuid>,
        exit_status: Option<u8>,
        body: &str,
    ) -> Self {
        let body: String = body.trim().chars().take(PING_CHARS_MAX).collect();
        // Stores differ in what they make of it.
        let body = body.replace('\0', "\u{fffd}");
        let text = match exit_status {
            Some(status @ 1..) if body.is_empty() => format!("exit status {status}"),
            Some(_) | None => body,
        };
        Self { at, kind, rid, text }
    }
}

impl Schedule {
    /// The window of an occurrence; `None` if the job expects no pings.
    #[must_use]
    pub fn owed_ping(&self, nominal_at: DateTime<Utc>) -> Option<OwedPing> {
        Some(self.policies.pings?.around(nominal_at, self.before(nominal_at)))
    }

    /// The occurrences in whose windows an instant is, the oldest first.
    #[must_use]
    pub fn owed_at(&self, now: DateTime<Utc>) -> Vec<OwedPing> {
        let Some(window) = self.policies.pings else { return Vec::new() };
        let earliest = now.checked_sub_signed(window.grace.delta()).unwrap_or(now);
        let Some(first) = self.at_or_after(earliest) else { return Vec::new() };
        let mut before = self.before(first);
        let coming = std::iter::successors(Some(first), |at| self.after(*at));
        let owed = coming.map(|at| {
            let owed = window.around(at, before);
            before = Some(at);
            owed
        });
        // Bounded: a job with more is refused, except for one whose occurrences stand closer by the clock than by
        // the calendar.
        owed.take(2 * OWED_MAX).take_while(|owed| owed.from <= now).collect()
    }
}

/// A time of day as people of the job's zone read it; of UTC, if that is not known.
#[must_use]
pub fn time_of_day(schedule: Option<&Schedule>, instant: DateTime<Utc>) -> String {
    let local = schedule.map(|schedule| schedule.timetable.local(instant).0);
    let local = local.unwrap_or_else(|| instant.naive_utc());
    let minutes = format!("{:02}:{:02}", local.hour(), local.minute());
    match local.second() {
        0 => minutes,
        seconds => format!("{minutes}:{seconds:02}"),
    }
}

impl Ending {
    /// What history says of an occurrence that a ping has started or ended, whose deadline was at this time of day.
    #[must_use]
    pub fn ping_message(&self, until: &str) -> String {
        let text = self.text.trim();
        let body = if text.is_empty() { String::new() } else { format!(" Body: {text}") };
        match self.by {
            EndedBy::Success => format!("Expect Action - A ping came.{body}"),
            EndedBy::Failure => format!("Expect Action - A ping reported a failure.{body}"),
            EndedBy::Deadline => missing_message(until),
            EndedBy::Cancel if text.is_empty() => "Expect Action - It was cancelled.".to_owned(),
            EndedBy::Cancel => format!("Expect Action - It was cancelled by {text}."),
        }
    }
}

/// What history says of an occurrence whose ping did not come.
#[must_use]
pub fn missing_message(until: &str) -> String {
    format!("Expect Action - No ping came until {until}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration::Span;
    use crate::policies::Policies;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2027-01-01T{text}Z").parse().unwrap()
    }

    fn schedule(early: u64, grace: u64, line: &str) -> Schedule {
        let pings = PingWindow { early: Span::seconds(early), grace: Span::seconds(grace) };
        let schedule: Schedule = line.parse().unwrap();
        Schedule { policies: Policies { pings: Some(pings), ..schedule.policies }, ..schedule }
    }

    const HOURLY: &str = "1 every=1hour start=2027-01-01T00:00:00Z";
    const TEN_MINUTES: &str = "1 every=10minute start=2027-01-01T00:00:00Z";

    #[test]
    fn an_occurrence_is_owed_from_before_its_instant_until_its_grace_is_over() {
        let hourly = schedule(300, 600, HOURLY);
        for (now, owed) in [
            ("00:54:59", &[][..]),
            ("00:55:00", &["01:00:00"]),
            ("01:10:00", &["01:00:00"]),
            ("01:10:01", &[]),
            // There is none before the first one.
            ("00:00:00", &["00:00:00"]),
        ] {
            let found: Vec<_> = hourly.owed_at(at(now)).iter().map(|it| it.nominal_at).collect();
            assert_eq!(found, owed.iter().map(|it| at(it)).collect::<Vec<_>>(), "{now}");
        }
        let owed = hourly.owed_ping(at("01:00:00")).unwrap();
        assert_eq!((owed.from, owed.until), (at("00:55:00"), at("01:10:00")));
    }

    #[test]
    fn the_time_before_is_at_most_half_of_the_gap() {
        let often = schedule(600, 1_200, TEN_MINUTES);
        let owed = often.owed_ping(at("01:00:00")).unwrap();
        assert_eq!((owed.from, owed.until), (at("00:55:00"), at("01:20:00")));
        let owed: Vec<_> = often.owed_at(at("01:05:00")).iter().map(|it| it.nominal_at).collect();
        assert_eq!(owed, ["00:50:00", "01:00:00", "01:10:00"].map(at));
    }

    #[test]
    fn a_uuid_has_dashes_and_any_case() {
        let text = "0123ABCD-4567-4890-8bcd-ef0123456789";
        assert_eq!(Uuid::read(text).unwrap().as_str(), text.to_lowercase());
        for wrong in ["", "0123abcd456748908bcdef0123456789", &text[1..], &text.replace('A', "g")] {
            assert_eq!(Uuid::read(wrong), None, "{wrong}");
        }
        let made = Uuid::of_bits(u128::MAX);
        assert_eq!(made.as_str(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(Uuid::read(made.as_str()), Some(made));
    }

    #[test]
    fn a_ping_keeps_the_beginning_of_its_text() {
        let ping =
            |exit, body: &str| Ping::new(at("01:00:00"), PingKind::Failure, None, exit, body);
        assert_eq!(ping(Some(3), " \n").text, "exit status 3");
        assert_eq!(ping(Some(0), "").text, "");
        assert_eq!(ping(Some(3), " disk full\n").text, "disk full");
        assert_eq!(ping(None, &"ü".repeat(5_000)).text.chars().count(), PING_CHARS_MAX);
    }

    #[test]
    fn a_time_is_that_of_the_zone() {
        let paris = schedule(1, 1, "1 every=1day zone=Europe/Paris start=2027-01-01T01:30:00Z");
        assert_eq!(time_of_day(Some(&paris), at("01:40:00")), "02:40");
        assert_eq!(time_of_day(None, at("01:40:00")), "01:40");
        assert_eq!(time_of_day(Some(&schedule(1, 1, HOURLY)), at("01:40:07")), "01:40:07");
    }
}
