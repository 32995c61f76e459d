//! Jobs that expect pings: each occurrence is paid, failed, or left out, exactly one of them, and by what came.
//!
//! What the pings of a job do is computed again from when each was stored and what it said: which occurrence
//! it starts, pays or ends is what the documents of the jobs say. What a worker has claimed before is not to
//! be paid any more.
//!
//! Accepted: a ping that was decided while its job changed, or while a worker gave a claim back, may do what it
//! would have done before or after that. One that is stored after a worker has left its occurrence out pays it no
//! more: no occurrence is both left out and paid.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::completion::EndedBy;
use minutehand_domain::firing::Why;
use minutehand_domain::ping::{PingKind, Uuid};

use super::run::Executed;
use super::spec::Segment;
use super::{EVER, Judge, LAG_HARSH};
use crate::simulation::pings::{PingNote, PingWhat, Sent};
use crate::simulation::time::SECOND;

/// Without a sign for longer, a process counts as dead.
const OVERDUE: i64 = 20 * SECOND;
/// A ping that comes again within this time is one.
const REPEATED: i64 = SECOND;
/// The difference of two clocks, and what a sign takes.
const CLOCKS: i64 = SECOND / 4;

/// An occurrence that owes a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owed {
    nominal: i64,
    from: i64,
    until: i64,
}

/// What pings have done to an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// One has ended it, well or badly.
    Ended { is_success: bool },
    /// One has started it, and nothing has ended it.
    Started,
}

struct Started {
    nominal: i64,
    until: i64,
    rid: Option<Uuid>,
}

/// What is known of the pings of a job.
#[derive(Default)]
struct Book {
    sent: BTreeMap<usize, (i64, Sent)>,
    stored: Vec<Sent>,
    started: Vec<Started>,
    taken: BTreeSet<i64>,
    /// What workers have claimed, by generation, and when they have given it back.
    claimed: BTreeSet<(u64, i64)>,
    released: BTreeMap<(u64, i64), i64>,
    over: BTreeSet<i64>,
    /// What history says was left out.
    left_out: BTreeSet<i64>,
    done: BTreeMap<i64, Done>,
    /// Where more than one thing may have been done.
    open_to_both: BTreeSet<i64>,
}

impl Segment {
    /// The occurrences that are owed at an instant, the oldest first.
    fn owed_at(&self, clock: i64) -> Vec<Owed> {
        let Some((early, grace)) = self.spec.pings else { return Vec::new() };
        let near = self.occurrences(clock + early + 1).map(|(nominal, _)| nominal);
        let near = near.filter(|nominal| nominal + grace >= clock);
        let owed = near.filter_map(|nominal| self.owed(nominal));
        owed.filter(|it| (it.from..=it.until).contains(&clock)).collect()
    }

    fn owed(&self, nominal: i64) -> Option<Owed> {
        let (early, grace) = self.spec.pings?;
        let every = self.spec.every.unwrap_or(EVER);
        // The first one of a timing has none before it.
        let is_first = self.all().next() == Some(nominal);
        let early = if is_first { early } else { early.min(every / 2) };
        Some(Owed { nominal, from: nominal - early, until: nominal + grace })
    }
}

impl Book {
    fn is_repeated(&self, ping: &Sent) -> bool {
        self.stored.iter().any(|it| {
            (it.kind, &it.rid, &it.text) == (ping.kind, &ping.rid, &ping.text)
                && (it.clock - ping.clock).abs() < REPEATED
        })
    }

    /// A ping is stored, which came at an instant. Nothing is in force if the job owes no pings now.
    fn store(&mut self, ping: &Sent, since: i64, segment: Option<&Segment>, is_changing: bool) {
        self.started.retain(|it| it.until >= ping.clock);
        let owed = segment.map(|it| it.owed_at(ping.clock)).unwrap_or_default();
        let generations: &[u64] = segment.map_or(&[], |it| &it.generations);
        let was_claimed = |nominal: i64| {
            let mut all = generations.iter().filter_map(|it| self.released.get(&(*it, nominal)));
            all.any(|until| *until >= since || self.left_out.contains(&nominal))
        };
        let is_claimed =
            |nominal: i64| generations.iter().any(|it| self.claimed.contains(&(*it, nominal)));
        let taken_back = owed.iter().any(|it| was_claimed(it.nominal));
        let is_open = |nominal: &i64| self.open_to_both.contains(nominal);
        let may_concern = owed.iter().map(|it| it.nominal);
        let may_concern: Vec<i64> =
            may_concern.chain(self.started.iter().map(|it| it.nominal)).collect();
        if is_changing || taken_back || may_concern.iter().any(is_open) {
            self.open_to_both.extend(may_concern);
        }
        let is_free = |it: &&Owed| !self.taken.contains(&it.nominal) && !is_claimed(it.nominal);
        let owed = owed.iter().find(is_free).copied();
        let alive = self.started.iter().filter(|it| !self.over.contains(&it.nominal));
        let alive: Vec<_> = alive.map(|it| (it.nominal, it.rid.clone())).collect();
        match ping.kind {
            PingKind::Log => {}
            PingKind::Start => {
                let is_begun = ping.rid.is_some() && alive.iter().any(|it| it.1 == ping.rid);
                if let Some(owed) = owed.filter(|_| !is_begun) {
                    let grace = owed.until - owed.nominal;
                    // An early start never shortens it.
                    let (nominal, until) = (owed.nominal, owed.until.max(ping.clock + grace));
                    self.started.push(Started { nominal, until, rid: ping.rid.clone() });
                    self.taken.insert(nominal);
                    self.done.insert(nominal, Done::Started);
                }
            }
            PingKind::Success | PingKind::Failure => {
                let oldest = |is_it: &dyn Fn(&Option<Uuid>) -> bool| {
                    alive.iter().filter(|it| is_it(&it.1)).map(|it| it.0).min()
                };
                let bound = ping.rid.as_ref().and_then(|_| oldest(&|rid| *rid == ping.rid));
                let unnamed = oldest(&|rid| rid.is_none());
                let any = oldest(&|_| ping.rid.is_none());
                let owed = owed.map(|it| it.nominal);
                let ends = match (bound, unnamed, owed) {
                    (Some(bound), ..) => Some(bound),
                    (None, Some(started), Some(owed)) => Some(started.min(owed)),
                    (None, started, owed) => owed.or(started).or(any),
                };
                if let Some(nominal) = ends {
                    self.started.retain(|it| it.nominal != nominal);
                    self.taken.insert(nominal);
                    let is_success = ping.kind == PingKind::Success;
                    self.done.insert(nominal, Done::Ended { is_success });
                }
            }
        }
    }
}

impl Judge<'_> {
    /// Checks what became of each occurrence that owed a ping.
    pub(super) fn pings(&mut self) {
        let mut books: BTreeMap<&str, Book> = BTreeMap::new();
        let mut bad = Vec::new();
        for PingNote { at, uid, what } in &self.run.pings {
            let book = books.entry(uid.as_str()).or_insert_with(|| self.book_of(uid));
            match what {
                PingWhat::Sent(sent) => {
                    book.sent.insert(sent.number, (*at, sent.clone()));
                }
                PingWhat::Stored(number) => {
                    let (since, ping) = book.sent[number].clone();
                    if book.is_repeated(&ping) {
                        bad.push(format!("a ping counts twice: {number} of {uid}"));
                    }
                    let in_force = self.segments.iter().rfind(|it| {
                        it.uid == *uid
                            && it.begins_at <= *at
                            && it.ends_at.is_none_or(|end| end > *at)
                    });
                    // A job that goes on with an occurrence owes the ping of that, too.
                    let goes_on = in_force.and_then(|it| self.last_of(it));
                    book.open_to_both.extend(goes_on.map(|(_, nominal)| nominal));
                    let is_changing = self.changes_of(uid, since - CLOCKS, *at);
                    book.store(&ping, since, in_force, is_changing);
                    book.stored.push(ping);
                }
                PingWhat::Answered(number, is_known) => {
                    let (since, ping) = &book.sent[number];
                    let is_stored = book.stored.iter().any(|it| it.number == *number);
                    let is_gone = self.gone.get(uid).is_some_and(|gone| *gone <= *at);
                    if *is_known && !is_stored && !book.is_repeated(ping) {
                        bad.push(format!(
                            "a ping is lost: {number} of {uid}, sent {}",
                            Self::at(*since)
                        ));
                    }
                    if !*is_known && !is_gone {
                        bad.push(format!("a ping whose key is not known: {number} of {uid}"));
                    }
                }
                PingWhat::Claimed { generation, nominal, clock } => {
                    book.claimed.insert((*generation, *nominal));
                    let of_job = self
                        .segments
                        .iter()
                        .filter(|it| it.uid == *uid && it.generations.contains(generation));
                    let until = of_job.filter_map(|it| it.owed(*nominal)).map(|it| it.until).min();
                    if until.is_some_and(|until| *clock < until) {
                        bad.push(format!(
                            "claimed before its grace is over: {} of {uid}",
                            Self::at(*nominal)
                        ));
                    }
                }
                PingWhat::Released { generation, nominal } => {
                    if book.claimed.remove(&(*generation, *nominal)) {
                        book.released.insert((*generation, *nominal), *at);
                    }
                }
                PingWhat::Over { nominal } => {
                    book.over.insert(*nominal);
                }
            }
        }
        self.owed_pings(&books, &mut bad);
        self.done_by_pings(&books, &mut bad);
        // Notices have retries that wait for long.
        if self.notices.is_empty() && !self.run.retrying.is_empty() {
            bad.push(format!("deadlines that are left: {:?}", self.run.retrying));
        }
        self.bad.extend(bad);
    }

    fn book_of(&self, uid: &str) -> Book {
        let rows = self.run.left_out.iter();
        let rows = rows.filter(|row| row.uid == uid && row.reason == "notWatched");
        // Each is of one occurrence.
        Book { left_out: rows.map(|row| row.first).collect(), ..Book::default() }
    }

    /// Checks each occurrence that owed a ping.
    fn owed_pings(&mut self, books: &BTreeMap<&str, Book>, bad: &mut Vec<String>) {
        let none = Book::default();
        for segment in &self.segments {
            let book = books.get(segment.uid.as_str()).unwrap_or(&none);
            let until = segment.ends_at.unwrap_or(EVER).min(self.horizon);
            for (nominal, _) in segment.occurrences(until) {
                self.excused.owed += 1;
                if book.open_to_both.contains(&nominal) {
                    *self.excused.causes.entry("its job changed").or_default() += 1;
                }
                if let Some(owed) = segment.owed(nominal) {
                    bad.extend(self.owed_is_wrong(segment, owed, book));
                }
            }
        }
    }

    /// Checks what pings have done, whatever timing has owed them.
    fn done_by_pings(&self, books: &BTreeMap<&str, Book>, bad: &mut Vec<String>) {
        for (uid, book) in books {
            let is_gone = self.gone.contains_key(*uid);
            let done = book.done.iter().filter(|(at, _)| !book.open_to_both.contains(at));
            for (nominal, done) in done.filter(|_| !is_gone) {
                let rows = self.rows_of(uid, *nominal);
                let is_right = match (done, rows.as_slice()) {
                    (Done::Ended { is_success }, [row]) => {
                        let by = if *is_success { EndedBy::Success } else { EndedBy::Failure };
                        row.ended_by == Some(by) && row.is_success == *is_success
                    }
                    (Done::Started, [row]) => row.ended_by == Some(EndedBy::Deadline),
                    _ => false,
                };
                if !is_right {
                    let rows: Vec<_> = rows.iter().map(|row| row.ended_by).collect();
                    let at = Self::at(*nominal);
                    bad.push(format!(
                        "not what pings did: {at} of {uid} is {rows:?} and not {done:?}"
                    ));
                }
            }
        }
    }

    fn rows_of(&self, uid: &str, nominal: i64) -> Vec<&Executed> {
        let all = self.executed.iter().filter(|((of, _, at, role, _), _)| {
            of == uid && *at == nominal && *role == super::Role::Main
        });
        all.map(|(_, row)| *row).collect()
    }

    /// Whether a job or its collection changed in a time.
    fn changes_of(&self, uid: &str, from: i64, until: i64) -> bool {
        let of_job = self.segments.iter().filter(|it| it.uid == uid);
        let mut ends = of_job.flat_map(|it| [Some(it.begins_at), it.ends_at]).flatten();
        ends.any(|at| (from..=until).contains(&at))
    }

    fn owed_is_wrong(&self, segment: &Segment, owed: Owed, book: &Book) -> Option<String> {
        let Owed { nominal, from, until } = owed;
        let of = format!("{} of {}", Self::at(nominal), segment.uid);
        let rows = self.rows_of(&segment.uid, nominal);
        let is_left_out = self.run.left_out.iter().any(|row| {
            row.uid == segment.uid
                && row.reason == "notWatched"
                && (row.first..=row.last).contains(&nominal)
        });
        let is_paid = book.done.contains_key(&nominal) || book.open_to_both.contains(&nominal);
        if rows.len() > 1 {
            return Some(format!("ended twice: {of}"));
        }
        let row = rows.first();
        if row.is_some() && is_left_out {
            return Some(format!("left out, and ended: {of}"));
        }
        let span = [from.max(segment.since), until];
        if is_left_out && self.was_surely_there(span) {
            return Some(format!("left out though it was watched: {of}"));
        }
        if let Some(row) = row
            && !is_paid
        {
            if row.is_success || row.ended_by.is_some() {
                return Some(format!("ended without a ping: {of}"));
            }
            if !self.may_have_been_there(span) {
                return Some(format!("failed though nothing took pings: {of}"));
            }
        }
        let is_off = self.offs.get(&segment.collection_uid).into_iter().flatten();
        let is_off = is_off.into_iter().any(|(off, on)| *off < until + LAG_HARSH && *on > from);
        let is_changed = segment.ends_at.is_some_and(|end| end < until + LAG_HARSH);
        if row.is_none() && !is_left_out && !is_off && !is_changed {
            return Some(format!("neither paid nor failed nor left out: {of}"));
        }
        let told =
            self.run.explained.iter().find(|it| it.of.uid == segment.uid && it.of.at == nominal);
        let is_true = told.is_none_or(|told| match (told.why, row) {
            (Why::NotWatched, _) => is_left_out,
            (Why::Fired { .. } | Why::FiredLate { .. }, Some(row)) => row.is_success,
            (Why::Failed { .. }, Some(row)) => !row.is_success,
            (_, Some(_)) => false,
            (_, None) => !is_left_out,
        });
        (!is_true).then(|| format!("explained wrong: {of}: {:?}", told.map(|it| it.why)))
    }

    /// Whether processes with the API gave their signs in all of a time, and a moment longer.
    fn was_surely_there(&self, [from, until]: [i64; 2]) -> bool {
        let times = self.run.api_lives.iter().flat_map(|life| {
            let begun = life.begun.into_iter();
            let signs = begun.chain(life.signs.iter().copied());
            let signs: Vec<i64> = signs.filter(|at| *at <= life.until).collect();
            let pairs = signs.windows(2).filter(|it| it[1] - it[0] <= OVERDUE - SECOND);
            pairs.map(|it| (it[0], it[1])).collect::<Vec<_>>()
        });
        covers(times.collect(), [from, until + SECOND])
    }

    /// Whether some process with the API may have been there at every instant of a time.
    fn may_have_been_there(&self, [from, until]: [i64; 2]) -> bool {
        let lives = self.run.api_lives.iter();
        let lives = lives.map(|life| (life.from - CLOCKS, life.until.saturating_add(CLOCKS)));
        covers(lives.collect(), [from + CLOCKS, until - CLOCKS])
    }
}

/// Whether times cover a time.
fn covers(mut times: Vec<(i64, i64)>, [from, until]: [i64; 2]) -> bool {
    times.sort_unstable();
    let mut at = from;
    for (begins, ends) in times {
        if begins <= at {
            at = at.max(ends);
        }
    }
    at >= until
}
