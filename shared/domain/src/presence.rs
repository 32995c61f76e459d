//! Whether anything could take pings: the signs of the processes with the API.
//!
//! Each of them writes a sign as it begins and ends, and some between. A time is *watched* if one of them was
//! there. What was owed in another time is left out and not failed, since its ping may have been sent in vain.
//!
//! A process that dies gives no sign of its end. If another one begins before the next sign of the first is
//! overdue, it is not known yet whether that one lives: the time from its last sign to the beginning is in *doubt*
//! until it signs again, or does not. A process that lives looks for such doubts, and signs at once.
//!
//! Stored as one line of words: `{id}/{begun}/{last}` for a process, `-{from}/{until}` for a time without one,
//! `?{from}/{until}` for one in doubt, `+{end}` for the last end. Instants are in ticks.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

use crate::tick::{from_ticks, ticks};

/// How often a process with the API gives a sign, on the clock of work.
pub const SIGN_EVERY: TimeDelta = TimeDelta::seconds(10);
/// How often a process looks whether another one has begun that doubts it, on the clock of work.
pub const DOUBTS_EVERY: TimeDelta = TimeDelta::seconds(2);
/// The times without a process that are remembered.
const GAPS_MAX: usize = 200;

/// A time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    from: DateTime<Utc>,
    until: DateTime<Utc>,
}

impl Gap {
    fn touches(self, [from, until]: [DateTime<Utc>; 2]) -> bool {
        self.from <= until && self.until >= from
    }
}

/// A process that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    id: String,
    begun_at: DateTime<Utc>,
    last_at: DateTime<Utc>,
}

/// What the signs tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Presence {
    members: Vec<Member>,
    gaps: Vec<Gap>,
    doubts: Vec<Gap>,
    /// When the last process ended that said so.
    ended_at: Option<DateTime<Utc>>,
}

/// Whether something could take pings all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// It could.
    Yes,
    /// Not all the time.
    No,
    /// The next signs tell.
    Unknown,
}

impl Presence {
    /// A process begins. If it is alone, no other one lives. `overdue` is after how long without a sign a process
    /// is taken for dead.
    #[must_use]
    pub fn begins(&self, id: &str, is_alone: bool, now: DateTime<Utc>, overdue: TimeDelta) -> Self {
        let mut after = self.without_dead(now, overdue);
        if is_alone {
            after.ended_at = after.last_sign();
            after.members.clear();
        }
        if let Some(from) = after.last_sign().filter(|from| *from < now) {
            let gap = Gap { from, until: now };
            if after.members.is_empty() { after.gaps.push(gap) } else { after.doubts.push(gap) }
        }
        after.members.retain(|member| member.id != id);
        after.members.push(Member { id: id.to_owned(), begun_at: now, last_at: now });
        after.bounded()
    }

    /// A process is there. One that others took for dead begins again.
    #[must_use]
    pub fn signs(&self, id: &str, now: DateTime<Utc>, overdue: TimeDelta) -> Self {
        let mut after = self.without_dead(now, overdue);
        let Some(member) = after.members.iter_mut().find(|member| member.id == id) else {
            return self.begins(id, false, now, overdue);
        };
        member.last_at = member.last_at.max(now);
        let begun_at = member.begun_at;
        // It has been there all the time.
        after.doubts.retain(|doubt| begun_at >= doubt.until);
        after
    }

    /// Whether it is in doubt that a process lives. Its next sign tells.
    #[must_use]
    pub fn is_doubted(&self, id: &str) -> bool {
        let member = self.members.iter().find(|member| member.id == id);
        member.is_some_and(|it| self.doubts.iter().any(|doubt| it.begun_at < doubt.until))
    }

    /// A process ends.
    #[must_use]
    pub fn ends(&self, id: &str, now: DateTime<Utc>, overdue: TimeDelta) -> Self {
        let mut after = self.signs(id, now, overdue);
        after.members.retain(|member| member.id != id);
        after.ended_at = after.ended_at.max(Some(now));
        after
    }

    /// Whether a time was watched.
    #[must_use]
    pub fn watched(
        &self,
        span: [DateTime<Utc>; 2],
        now: DateTime<Utc>,
        overdue: TimeDelta,
    ) -> Watched {
        let known = self.without_dead(now, overdue);
        let [_, until] = span;
        let last = known.last_sign();
        if known.gaps.iter().any(|gap| gap.touches(span)) {
            return Watched::No;
        }
        // No process is there, since the last sign or end.
        if known.members.is_empty() {
            return if last.is_none_or(|last| last < until) { Watched::No } else { Watched::Yes };
        }
        let is_doubted = known.doubts.iter().any(|doubt| doubt.touches(span));
        if is_doubted || last.is_none_or(|last| last < until) {
            Watched::Unknown
        } else {
            Watched::Yes
        }
    }

    /// What is known once the processes without a sign are taken for dead.
    fn without_dead(&self, now: DateTime<Utc>, overdue: TimeDelta) -> Self {
        let mut known = self.clone();
        let is_dead = |member: &Member| now - member.last_at > overdue;
        let died_at = known.members.iter().filter(|it| is_dead(it)).map(|it| it.last_at).max();
        known.ended_at = known.ended_at.max(died_at);
        known.members.retain(|member| !is_dead(member));
        // Who could have dispelled a doubt would have done so.
        let (doubts, gaps): (Vec<Gap>, Vec<Gap>) =
            known.doubts.iter().partition(|doubt| now - doubt.until <= overdue);
        known.doubts = doubts;
        known.gaps.extend(gaps);
        known
    }

    /// The last sign or end of any process.
    fn last_sign(&self) -> Option<DateTime<Utc>> {
        self.members.iter().map(|member| member.last_at).max().max(self.ended_at)
    }

    fn bounded(mut self) -> Self {
        let forgotten = self.gaps.len().saturating_sub(GAPS_MAX);
        self.gaps.drain(..forgotten);
        self
    }
}

/// As it is stored.
impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Member { id, begun_at, last_at } in &self.members {
            write!(f, "{id}/{}/{} ", ticks(*begun_at), ticks(*last_at))?;
        }
        for (mark, gaps) in [('-', &self.gaps), ('?', &self.doubts)] {
            for Gap { from, until } in gaps {
                write!(f, "{mark}{}/{} ", ticks(*from), ticks(*until))?;
            }
        }
        match self.ended_at {
            Some(at) => write!(f, "+{}", ticks(at)),
            None => Ok(()),
        }
    }
}

impl Presence {
    /// Reads what was stored; `None` if it is not what this version writes.
    #[must_use]
    pub fn read(stored: &str) -> Option<Self> {
        let mut presence = Self::default();
        stored.split_whitespace().try_for_each(|word| presence.read_word(word))?;
        Some(presence)
    }

    fn read_word(&mut self, word: &str) -> Option<()> {
        let instant = |text: &str| from_ticks(text.parse().ok()?);
        let gap = |text: &str| {
            let (from, until) = text.split_once('/')?;
            Some(Gap { from: instant(from)?, until: instant(until)? })
        };
        if let Some(text) = word.strip_prefix('-') {
            self.gaps.push(gap(text)?);
        } else if let Some(text) = word.strip_prefix('?') {
            self.doubts.push(gap(text)?);
        } else if let Some(text) = word.strip_prefix('+') {
            self.ended_at = Some(instant(text)?);
        } else {
            let (id, times) = word.split_once('/')?;
            let Gap { from: begun_at, until: last_at } = gap(times)?;
            self.members.push(Member { id: id.to_owned(), begun_at, last_at });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERDUE: TimeDelta = TimeDelta::seconds(20);

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    /// Plays signs: `b` begins, `a` begins alone, `s` signs, `e` ends.
    fn played(signs: &[(char, &str, i64)]) -> Presence {
        let mut presence = Presence::default();
        for (what, id, second) in signs {
            let now = at(*second);
            presence = match what {
                'a' => presence.begins(id, true, now, OVERDUE),
                'b' => presence.begins(id, false, now, OVERDUE),
                's' => presence.signs(id, now, OVERDUE),
                _ => presence.ends(id, now, OVERDUE),
            };
            assert_eq!(Presence::read(&presence.to_string()), Some(presence.clone()));
        }
        presence
    }

    #[test]
    fn what_was_watched() {
        use Watched::{No, Unknown, Yes};

        let one = [('a', "p", 100), ('s', "p", 110), ('s', "p", 120)];
        let restarted = [&one[..], &[('e', "p", 123), ('a', "q", 128), ('s', "q", 138)]].concat();
        let killed = [&one[..], &[('a', "q", 128), ('s', "q", 138)]].concat();
        let hung = [&one[..], &[('s', "p", 150), ('s', "p", 160)]].concat();
        let two = [('b', "p", 100), ('b', "q", 105), ('s', "p", 110), ('s', "q", 115)];
        let other_goes_on = [&two[..], &[('e', "p", 118), ('s', "q", 125)]].concat();
        let both_end = [&two[..], &[('e', "p", 120), ('e', "q", 120), ('b', "r", 124)]].concat();
        let both_end = [&both_end[..], &[('s', "r", 134)]].concat();
        let joins = [&one[..], &[('b', "q", 126)]].concat();
        let joined = [&joins[..], &[('s', "p", 130)]].concat();
        let replaced = [&joins[..], &[('s', "q", 136), ('s', "q", 146)]].concat();
        for (what, signs, span, now, expected) in [
            ("within", &one[..], [101, 115], 120, Yes),
            ("the last sign is older", &one, [101, 125], 126, Unknown),
            ("and overdue", &one, [101, 125], 145, No),
            ("over a restart", &restarted, [110, 130], 138, No),
            ("before it", &restarted, [110, 122], 138, Yes),
            ("after it", &restarted, [129, 138], 138, Yes),
            ("while it is down", &restarted[..4], [110, 125], 126, No),
            ("over a kill", &killed, [110, 130], 138, No),
            ("before the last sign", &killed, [110, 119], 138, Yes),
            ("it stood still", &hung, [110, 155], 160, No),
            ("another one was there", &other_goes_on, [101, 125], 126, Yes),
            ("both ended together", &both_end, [110, 130], 134, No),
            ("before that", &both_end, [110, 119], 134, Yes),
            ("another one joins", &joins, [110, 124], 127, Unknown),
            ("and the first lives", &joined, [110, 129], 131, Yes),
            ("and the first was dead", &replaced, [110, 129], 147, No),
            ("after that", &replaced, [127, 140], 147, Yes),
        ] {
            let found = played(signs).watched(span.map(at), at(now), OVERDUE);
            assert_eq!(found, expected, "{what}");
        }
    }

    /// Each process that is doubted signs at once, as it does when it looks.
    #[test]
    fn beside_one_that_lives_nothing_is_in_doubt() {
        let one = [('b', "p", 100), ('s', "p", 110)];
        let joins = [&one[..], &[('b', "q", 118)]].concat();
        let third = [&joins[..], &[('s', "p", 120), ('b', "r", 121)]].concat();
        let (dies, ends) = (&joins, [&one[..], &[('e', "p", 118), ('b', "q", 119)]].concat());
        for (what, signs, doubted, signed_by, expected) in [
            ("another one joins", &joins, &["p"][..], &["p"][..], Watched::Yes),
            ("and a third", &third, &["p", "q"], &["p", "q"], Watched::Yes),
            ("one of them tells it", &third, &["p", "q"], &["q"], Watched::Yes),
            ("the first was killed", dies, &["p"], &["q"], Watched::No),
            ("the first has ended", &ends, &[], &["q"], Watched::No),
        ] {
            let mut presence = played(signs);
            let ids = ["p", "q", "r"].into_iter();
            let found: Vec<_> = ids.filter(|id| presence.is_doubted(id)).collect();
            assert_eq!(found, doubted, "{what}");
            for id in signed_by {
                presence = presence.signs(id, at(122), OVERDUE);
            }
            assert!(!presence.is_doubted("p") || expected == Watched::No, "{what}");
            // Only one of them goes on.
            presence = presence.signs("q", at(132), OVERDUE).signs("q", at(142), OVERDUE);
            let watched = presence.watched([at(105), at(130)], at(143), OVERDUE);
            assert_eq!(watched, expected, "{what}");
        }
    }

    #[test]
    fn the_last_gaps_are_remembered() {
        let mut signs = Vec::new();
        for n in 0..300 {
            signs.extend([('a', "p", 100 * n), ('e', "p", 100 * n + 1)]);
        }
        assert_eq!(played(&signs).gaps.len(), GAPS_MAX);
        assert_eq!((Presence::read("p"), Presence::read("-1")), (None, None));
    }
}
