//! The book of a job that expects pings: what was started and paid, and the last pings.
//!
//! Stored as lines: `1`, then `s {occurrence} {generation} {deadline} {rid} {start}` for each start without an end, `t {occurrence}` for what was paid or started and would still be owed, and for each of the last pings
//! `p {instant} {kind} {rid} {occurrence} {hash} {text}`. Instants are in ticks, and `-` stands for nothing.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

use super::{OwedPing, Ping, PingKind, Uuid};
use crate::ids::fnv1a;
use crate::schedule::Schedule;
use crate::tick::{from_ticks, ticks};

/// The pings that are remembered.
const ENTRIES_MAX: usize = 10;
/// The starts without an end that are remembered.
const STARTS_MAX: usize = 40;
/// The most characters of a text that are remembered.
const ENTRY_CHARS_MAX: usize = 100;
/// A ping that comes again within this time is one.
const REPEATED: TimeDelta = TimeDelta::seconds(1);
const NOTHING: &str = "-";
/// The first line of a book.
const VERSION: &str = "1";

/// A ping that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingEntry {
    /// When it came.
    pub at: DateTime<Utc>,
    /// What it said.
    pub kind: PingKind,
    /// Its own id for the work, if it had one.
    pub rid: Option<Uuid>,
    /// The occurrence that it started or ended; `None` if nothing owed it.
    pub of: Option<DateTime<Utc>>,
    /// The beginning of its text, on one line.
    pub text: String,
    /// The hash of the text.
    hash: u32,
}

/// An occurrence whose work has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Started {
    nominal_at: DateTime<Utc>,
    /// The timing under which it was started. What is under way when the timing changes may end.
    generation: u64,
    at: DateTime<Utc>,
    until: DateTime<Utc>,
    rid: Option<Uuid>,
}

/// What is remembered of the pings of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PingBook {
    started: Vec<Started>,
    /// Of any timing: what is paid is not owed again because the timing has changed since.
    taken: Vec<DateTime<Utc>>,
    entries: Vec<PingEntry>,
}

/// What a ping does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingEffect {
    /// Nothing: it came a moment ago.
    Repeated,
    /// It is remembered, and changes nothing else.
    Noted,
    /// The work of an occurrence begins.
    Starts {
        /// The occurrence.
        nominal_at: DateTime<Utc>,
        /// Its deadline from now on.
        until: DateTime<Utc>,
    },
    /// It pays an occurrence.
    Pays {
        /// The occurrence.
        nominal_at: DateTime<Utc>,
        /// Until when it could be paid.
        until: DateTime<Utc>,
    },
    /// It ends an occurrence that was started.
    Ends {
        /// The occurrence.
        nominal_at: DateTime<Utc>,
        /// The timing under which it was started.
        generation: u64,
        /// When it was started.
        started_at: DateTime<Utc>,
    },
}

impl PingEffect {
    /// The occurrence that it concerns.
    #[must_use]
    pub const fn nominal_at(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Repeated | Self::Noted => None,
            Self::Starts { nominal_at, .. }
            | Self::Pays { nominal_at, .. }
            | Self::Ends { nominal_at, .. } => Some(nominal_at),
        }
    }
}

impl PingBook {
    /// The last pings, the newest first.
    pub fn entries(&self) -> impl Iterator<Item = &PingEntry> {
        self.entries.iter().rev()
    }

    /// What a ping does, and the book after it. `owing` is the schedule of the job with its generation; `None` if
    /// the job owes none now.
    #[must_use]
    pub fn taking(&self, ping: &Ping, owing: Option<(&Schedule, u64)>) -> (Self, PingEffect) {
        if self.is_repeated(ping) {
            return (self.clone(), PingEffect::Repeated);
        }
        let mut book = self.clone();
        book.started.retain(|start| start.until >= ping.at);
        if let Some((schedule, _)) = owing {
            book.taken.retain(|at| schedule.start(*at) >= ping.at);
        }
        let effect = book.effect(ping, owing.map(|(schedule, _)| schedule));
        let generation = owing.map(|(_, generation)| generation).unwrap_or_default();
        (book.noting(ping, effect, generation), effect)
    }

    /// The book without one occurrence, which turned out to have ended.
    #[must_use]
    pub fn without(&self, nominal_at: DateTime<Utc>) -> Self {
        let mut book = self.clone();
        book.started.retain(|start| start.nominal_at != nominal_at);
        if !book.taken.contains(&nominal_at) {
            book.taken.push(nominal_at);
        }
        book
    }

    /// Reads what was stored; `None` if it is not a book of this version.
    #[must_use]
    pub fn read(stored: &str) -> Option<Self> {
        let mut book = Self::default();
        let mut lines = stored.lines();
        if lines.next().is_some_and(|first| first != VERSION) {
            return None;
        }
        for line in lines {
            let (kind, rest) = line.split_once(' ')?;
            let mut words = rest.splitn(6, ' ');
            match kind {
                "s" => book.started.push(Started {
                    nominal_at: instant(words.next()?)?,
                    generation: words.next()?.parse().ok()?,
                    until: instant(words.next()?)?,
                    rid: read_id(words.next()?).ok()?,
                    at: instant(words.next()?)?,
                }),
                "t" => book.taken.push(instant(words.next()?)?),
                "p" => book.entries.push(PingEntry {
                    at: instant(words.next()?)?,
                    kind: PingKind::read_name(words.next()?)?,
                    rid: read_id(words.next()?).ok()?,
                    of: match words.next()? {
                        NOTHING => None,
                        of => Some(instant(of)?),
                    },
                    hash: words.next()?.parse().ok()?,
                    text: words.next()?.to_owned(),
                }),
                _ => return None,
            }
        }
        Some(book)
    }

    fn is_repeated(&self, ping: &Ping) -> bool {
        let hash = fnv1a(ping.text.as_bytes());
        self.entries.iter().any(|it| {
            (it.kind, &it.rid, it.hash) == (ping.kind, &ping.rid, hash)
                && (ping.at - it.at).abs() < REPEATED
        })
    }

    fn effect(&self, ping: &Ping, schedule: Option<&Schedule>) -> PingEffect {
        let ends = |start: &Started| PingEffect::Ends {
            nominal_at: start.nominal_at,
            generation: start.generation,
            started_at: start.at,
        };
        let is_free = |owed: &&OwedPing| !self.taken.contains(&owed.nominal_at);
        let owed = schedule.map(|schedule| schedule.owed_at(ping.at)).unwrap_or_default();
        let owed = owed.iter().find(is_free);
        match ping.kind {
            PingKind::Log => PingEffect::Noted,
            PingKind::Start => {
                let is_begun =
                    ping.rid.is_some() && self.started.iter().any(|it| it.rid == ping.rid);
                let owed = owed.filter(|_| !is_begun && self.started.len() < STARTS_MAX);
                let pings = schedule.and_then(|schedule| schedule.policies.pings);
                let grace = pings.map(|it| it.grace.delta()).unwrap_or_default();
                let after_start = ping.at.checked_add_signed(grace).unwrap_or(ping.at);
                owed.map_or(PingEffect::Noted, |it| PingEffect::Starts {
                    nominal_at: it.nominal_at,
                    // Who starts early does not lose the time that an end alone would have.
                    until: after_start.max(it.until),
                })
            }
            PingKind::Success | PingKind::Failure => {
                let same = ping.rid.is_some().then_some(&ping.rid);
                let bound = self.started.iter().find(|it| Some(&it.rid) == same);
                let unbound = self.started.iter().filter(|it| it.rid.is_none());
                let unbound = unbound.min_by_key(|it| it.nominal_at);
                let any = self.started.iter().min_by_key(|it| it.nominal_at);
                match (bound, unbound, owed) {
                    (Some(bound), ..) => ends(bound),
                    (None, Some(start), Some(owed)) if start.nominal_at < owed.nominal_at => {
                        ends(start)
                    }
                    (None, _, Some(OwedPing { nominal_at, until, .. })) => {
                        PingEffect::Pays { nominal_at: *nominal_at, until: *until }
                    }
                    (None, Some(start), None) => ends(start),
                    // An end without an id ends whatever has started.
                    (None, None, None) if ping.rid.is_none() => any.map_or(PingEffect::Noted, ends),
                    (None, None, None) => PingEffect::Noted,
                }
            }
        }
    }

    fn noting(&self, ping: &Ping, effect: PingEffect, generation: u64) -> Self {
        let mut book = self.clone();
        if let Some(nominal_at) = effect.nominal_at() {
            book = book.without(nominal_at);
            if let PingEffect::Starts { until, .. } = effect {
                let rid = ping.rid.clone();
                book.started.push(Started { nominal_at, generation, at: ping.at, until, rid });
            }
        }
        let line = ping.text.chars().take(ENTRY_CHARS_MAX);
        book.entries.push(PingEntry {
            at: ping.at,
            kind: ping.kind,
            rid: ping.rid.clone(),
            of: effect.nominal_at(),
            text: line.map(|c| if c.is_control() { ' ' } else { c }).collect(),
            hash: fnv1a(ping.text.as_bytes()),
        });
        let forgotten = book.entries.len().saturating_sub(ENTRIES_MAX);
        book.entries.drain(..forgotten);
        book
    }
}

/// As it is stored.
impl fmt::Display for PingBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = |rid: &Option<Uuid>| rid.as_ref().map_or(NOTHING, Uuid::as_str).to_owned();
        writeln!(f, "{VERSION}")?;
        for Started { nominal_at, generation, at, until, rid } in &self.started {
            let [nominal_at, at, until] = [nominal_at, at, until].map(|it| ticks(*it));
            writeln!(f, "s {nominal_at} {generation} {until} {} {at}", id(rid))?;
        }
        for at in &self.taken {
            writeln!(f, "t {}", ticks(*at))?;
        }
        for PingEntry { at, kind, rid, of, text, hash } in &self.entries {
            let of = of.map_or_else(|| NOTHING.to_owned(), |of| ticks(of).to_string());
            writeln!(f, "p {} {} {} {of} {hash} {text}", ticks(*at), kind.name(), id(rid))?;
        }
        Ok(())
    }
}

fn instant(word: &str) -> Option<DateTime<Utc>> {
    from_ticks(word.parse().ok()?)
}

/// An id, or none; an error if it is neither.
fn read_id(word: &str) -> Result<Option<Uuid>, ()> {
    if word == NOTHING { Ok(None) } else { Uuid::read(word).map(Some).ok_or(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration::Span;
    use crate::ping::PingWindow;
    use crate::policies::Policies;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2027-01-01T{text}Z").parse().unwrap()
    }

    /// Every ten minutes, 5 minutes early, 15 minutes of grace.
    fn schedule() -> Schedule {
        let schedule: Schedule = "1 every=10minute start=2027-01-01T00:00:00Z".parse().unwrap();
        let pings = PingWindow { early: Span::seconds(300), grace: Span::seconds(900) };
        Schedule { policies: Policies { pings: Some(pings), ..schedule.policies }, ..schedule }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is what a ping has")]
    fn id(n: u128) -> Option<Uuid> {
        Some(Uuid::of_bits(n))
    }

    fn take(book: &mut PingBook, time: &str, kind: PingKind, rid: Option<Uuid>) -> PingEffect {
        let ping = Ping::new(at(time), kind, rid, None, time);
        let (after, effect) = book.taking(&ping, Some((&schedule(), 3)));
        assert_eq!(PingBook::read(&after.to_string()), Some(after.clone()));
        *book = after;
        effect
    }

    fn pays(nominal: &str, until: &str) -> PingEffect {
        PingEffect::Pays { nominal_at: at(nominal), until: at(until) }
    }

    fn starts(nominal: &str, until: &str) -> PingEffect {
        PingEffect::Starts { nominal_at: at(nominal), until: at(until) }
    }

    fn ends(nominal: &str, started: &str) -> PingEffect {
        PingEffect::Ends { nominal_at: at(nominal), generation: 3, started_at: at(started) }
    }

    #[test]
    fn a_ping_pays_the_oldest_that_is_owed() {
        let mut book = PingBook::default();
        let mut success = |time| take(&mut book, time, PingKind::Success, None);
        assert_eq!(success("01:00:00"), pays("00:50:00", "01:05:00"));
        assert_eq!(success("01:00:02"), pays("01:00:00", "01:15:00"));
        assert_eq!(success("01:00:04"), PingEffect::Noted, "nothing is owed");
        assert_eq!(success("01:05:00"), pays("01:10:00", "01:25:00"));
        assert_eq!(success("01:40:00"), pays("01:30:00", "01:45:00"), "01:20 is over");
    }

    #[test]
    fn a_start_binds_by_its_id_and_its_deadline_counts_from_it() {
        let mut book = PingBook::default();
        let mut take = |time, kind, rid| take(&mut book, time, kind, rid);
        let (start, success, fail) = (PingKind::Start, PingKind::Success, PingKind::Failure);
        assert_eq!(take("01:01:00", start, id(1)), starts("00:50:00", "01:16:00"));
        assert_eq!(take("01:01:02", start, id(2)), starts("01:00:00", "01:16:02"));
        assert_eq!(take("01:02:00", start, id(1)), PingEffect::Noted, "it has begun");
        assert_eq!(take("01:12:00", fail, id(2)), ends("01:00:00", "01:01:02"));
        assert_eq!(take("01:12:02", success, id(3)), pays("01:10:00", "01:25:00"));
        assert_eq!(take("01:13:00", success, id(1)), ends("00:50:00", "01:01:00"));
        assert_eq!(take("01:13:02", success, id(1)), PingEffect::Noted, "it has ended");
    }

    #[test]
    fn without_ids_the_oldest_work_ends_first() {
        let mut book = PingBook::default();
        let mut take = |time, kind, rid| take(&mut book, time, kind, rid);
        let (start, success) = (PingKind::Start, PingKind::Success);
        assert_eq!(take("01:01:00", start, None), starts("00:50:00", "01:16:00"));
        assert_eq!(take("01:03:00", success, None), ends("00:50:00", "01:01:00"));
        assert_eq!(take("01:04:00", start, id(1)), starts("01:00:00", "01:19:00"));
        // It does not end what has an id while something else is owed.
        assert_eq!(take("01:06:00", success, None), pays("01:10:00", "01:25:00"));
        assert_eq!(take("01:07:00", success, None), ends("01:00:00", "01:04:00"));
        // After its deadline, a start is over.
        assert_eq!(take("01:16:00", start, None), starts("01:20:00", "01:35:00"));
        assert_eq!(take("01:35:01", success, None), pays("01:30:00", "01:45:00"));
    }

    #[test]
    fn a_start_never_shortens_the_grace_of_its_occurrence() {
        for (start, nominal, until) in [
            // Early, at the instant, late, and at the last moment.
            ("00:55:01", "01:00:00", "01:15:00"),
            ("01:00:00", "01:00:00", "01:15:00"),
            ("01:04:00", "01:00:00", "01:19:00"),
            ("01:15:00", "01:00:00", "01:30:00"),
        ] {
            // What is older is paid.
            let before = ["00:40:00", "00:50:00"].map(at);
            let book = before.into_iter().fold(PingBook::default(), |book, at| book.without(at));
            let ping = Ping::new(at(start), PingKind::Start, None, None, "");
            let (_, effect) = book.taking(&ping, Some((&schedule(), 3)));
            assert_eq!(effect, starts(nominal, until), "{start}");
        }
    }

    #[test]
    fn logs_and_what_comes_again_change_nothing() {
        let mut book = PingBook::default();
        assert_eq!(take(&mut book, "01:00:00", PingKind::Log, None), PingEffect::Noted);
        let before = book.clone();
        let again = Ping {
            at: at("01:00:00.9"),
            ..Ping::new(at("01:00:00"), PingKind::Log, None, None, "01:00:00")
        };
        let (after, effect) = before.taking(&again, Some((&schedule(), 3)));
        assert_eq!((after, effect), (before.clone(), PingEffect::Repeated));
        let other = Ping { rid: id(1), ..again.clone() };
        assert_eq!(before.taking(&other, Some((&schedule(), 3))).1, PingEffect::Noted);
        // A job that is off.
        let success = Ping { kind: PingKind::Success, ..again };
        assert_eq!(before.taking(&success, None).1, PingEffect::Noted);
        for n in 0..30 {
            take(&mut book, &format!("02:{n:02}:00"), PingKind::Log, None);
        }
        assert_eq!(book.entries().count(), ENTRIES_MAX);
        assert_eq!(book.entries().next().unwrap().at, at("02:29:00"));
    }

    #[test]
    fn what_is_paid_or_under_way_outlives_its_timing() {
        let mut book = PingBook::default();
        let schedule = schedule();
        let first = take(&mut book, "01:00:00", PingKind::Success, None);
        assert_eq!(first, pays("00:50:00", "01:05:00"));
        assert_eq!(
            take(&mut book, "01:01:00", PingKind::Start, id(1)),
            starts("01:00:00", "01:16:00")
        );
        let ping = Ping::new(at("01:02:00"), PingKind::Success, None, None, "");
        let ended = ends("01:00:00", "01:01:00");
        assert_eq!(book.taking(&ping, Some((&schedule, 4))).1, ended);
        assert_eq!(book.taking(&ping, None).1, ended, "it was disabled meanwhile");
        assert_eq!((PingBook::read("2"), PingBook::read("1\nx")), (None, None));
        assert_eq!(PingBook::read(""), Some(PingBook::default()));
    }
}
