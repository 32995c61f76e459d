//! Places: how many attempts may be under way, and which of those that wait is the next.
//!
//! An attempt holds a place from the delivery of its message until the message is deleted or put back;
//! a name that is looked up holds one of other places, under the same rules. There are only so many
//! places, because each needs a connection and memory. Attempts of one collection, or at one origin, must
//! not keep those of others waiting, even if their target takes a minute to fail. Three rules see to that:
//!
//! - **A bound that depends on what is free.** A collection may take a place only while it holds fewer
//!   than its [`Share`] of those that are free, for example seven times as many; the same is true for an
//!   origin. One alone then gets seven eighths of all. A second one beside it gets seven eighths of the
//!   rest, and so on: a collection that holds no place gets one at once, unless very many others are
//!   busy. Nothing is divided in advance, so a collection that is alone is as fast as without the rule.
//! - **A brake.** An origin that [hangs](super::brake) gets only [`HANGING_AT_ONCE`] places, whatever is free.
//! - **Turns.** What gets no place waits in a line of its collection, and there in one of its origin.
//!   A place that becomes free goes to the next collection in turn that may take it, and there to
//!   the next origin in turn.
//!
//! Where the origin of an attempt is known only after its job was read, the attempt first
//! [arrives](Places::arrive) with its collection alone, and [tells the origin](Places::try_origin)
//! later.
//!
//! The scheduler has no clock and no lock, and starts nothing. Whatever waits is a value of the
//! caller, for example a receipt.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::brake::{REMEMBERED_MAX, Unanswered};

/// How many places an origin that hangs gets.
pub const HANGING_AT_ONCE: usize = 8;

/// How much a collection or an origin may hold, compared with what is free.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    times: usize,
    of: usize,
}

impl Share {
    /// So many times as many places as are free. One alone can use most of the places.
    #[must_use]
    pub const fn times_free(times: usize) -> Self {
        Self { times, of: 1 }
    }

    /// An n-th part of the places that are free. Very many can be busy before nothing is free.
    #[must_use]
    pub const fn part_of_free(n: usize) -> Self {
        Self { times: 1, of: n }
    }

    /// Whether one that holds so many places may take another.
    const fn allows(self, held: usize, free: usize) -> bool {
        held * self.of < self.times * free
    }
}

/// A scheduler of places. `T` is what waits.
#[derive(Debug)]
pub struct Places<T> {
    share: Share,
    free: usize,
    held: usize,
    waiting: usize,
    collections: HashMap<Arc<str>, Collection<T>>,
    /// The origins that hold places, or did not answer.
    origins: HashMap<Arc<str>, Origin>,
    /// How many of them hang.
    hanging: usize,
    /// The collections in which something waits, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

/// A place that is held. It must be given back with [`Places::leave`] or [`Places::wait`].
#[derive(Debug)]
#[must_use = "a place that is not given back is lost"]
pub struct Place {
    collection: Arc<str>,
    origin: Option<Arc<str>>,
}

/// What an origin holds, and how it answers.
#[derive(Debug, Default)]
struct Origin {
    held: usize,
    unanswered: Unanswered,
}

impl Origin {
    /// Whether it may take another place, of so many that are free.
    const fn may_take(&self, share: Share, free: usize) -> bool {
        let is_braked = self.unanswered.hangs() && self.held >= HANGING_AT_ONCE;
        !is_braked && share.allows(self.held, free)
    }
}

/// What a collection holds, and what waits in it.
#[derive(Debug)]
struct Collection<T> {
    held: usize,
    /// By origin, in the order of their turns; `None` holds what has not told its origin.
    lines: VecDeque<Line<T>>,
}

#[derive(Debug)]
struct Line<T> {
    origin: Option<Arc<str>>,
    waiting: VecDeque<T>,
}

impl Place {
    /// The collection that holds it.
    #[must_use]
    pub fn collection(&self) -> Arc<str> {
        self.collection.clone()
    }
}

impl<T> Places<T> {
    /// A scheduler of so many places, of which each may have this share.
    #[must_use]
    pub fn new(places: usize, share: Share) -> Self {
        Self {
            share,
            free: places,
            held: 0,
            waiting: 0,
            collections: HashMap::new(),
            origins: HashMap::new(),
            hanging: 0,
            turns: VecDeque::new(),
        }
    }

    /// Asks for a place for an attempt of a collection. Without one, `T` waits.
    pub fn arrive(&mut self, collection: &str, it: T) -> Option<(Place, T)> {
        let (name, known) = match self.collections.get_key_value(collection) {
            Some((name, known)) => (name.clone(), Some(known)),
            None => (collection.into(), None),
        };
        // What has come before goes first.
        let waits = known.is_some_and(|known| known.lines.iter().any(|line| line.origin.is_none()));
        let held = known.map_or(0, |known| known.held);
        if waits || !self.share.allows(held, self.free) {
            self.push(&name, None, it);
            return None;
        }
        Some((self.take(name, None), it))
    }

    /// The origins that hang.
    pub fn hanging(&self) -> impl Iterator<Item = &str> {
        self.origins.iter().filter(|(_, it)| it.unanswered.hangs()).map(|(origin, _)| &**origin)
    }

    /// Whether places are so few that an origin may hold as many as it may, or an origin hangs. Otherwise
    /// [`try_origin`](Self::try_origin) does not refuse any.
    #[must_use]
    pub const fn is_scarce(&self) -> bool {
        self.hanging > 0 || !self.share.allows(self.held, self.free)
    }

    /// Tells the origin of an attempt that holds a place. False if that origin holds as many places
    /// as it may: then the attempt must not start, but [wait](Self::wait).
    pub fn try_origin(&mut self, place: &mut Place, origin: &str) -> bool {
        let is_told = place.origin.as_deref() == Some(origin);
        // The attempt holds its own place already.
        let may_take = |it: &Origin| it.may_take(self.share, self.free + 1);
        let may_start = is_told || self.origins.get(origin).is_none_or(may_take);
        if may_start {
            self.set_origin(place, origin);
        }
        may_start
    }

    /// Tells the origin of an attempt that has been claimed, and starts in any case.
    pub fn set_origin(&mut self, place: &mut Place, origin: &str) {
        if place.origin.as_deref() == Some(origin) {
            return;
        }
        self.forget_origin(place.origin.take());
        place.origin = Some(self.count_origin(origin));
    }

    /// Tells how the call of an attempt that holds a place has ended.
    pub fn ended(&mut self, place: &Place, is_answered: bool) {
        let Some(origin) = place.origin.as_ref().and_then(|it| self.origins.get_mut(it)) else {
            return;
        };
        if origin.unanswered.ended(is_answered) {
            if origin.unanswered.hangs() {
                self.hanging += 1;
            } else {
                self.hanging -= 1;
            }
        }
    }

    /// Gives a place back. Then [`start_next`](Self::start_next) may have a place for something that waits.
    pub fn leave(&mut self, place: Place) {
        let Place { collection, origin } = place;
        self.free += 1;
        self.held -= 1;
        self.forget_origin(origin);
        if let Some(known) = self.collections.get_mut(&collection) {
            known.held -= 1;
            if known.held == 0 && known.lines.is_empty() {
                self.collections.remove(&collection);
            }
        }
    }

    /// Gives a place back, and lets `T` wait for one at this origin, or at the one that was told.
    pub fn wait(&mut self, place: Place, origin: Option<&str>, it: T) {
        let collection = place.collection.clone();
        let origin = origin.map(Arc::from).or_else(|| place.origin.clone());
        self.push(&collection, origin, it);
        self.leave(place);
    }

    /// Gives the next place in turn to what waits for it. `None` if nothing waits, or nothing that
    /// waits may take one.
    pub fn start_next(&mut self) -> Option<(Place, T)> {
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let found = self.next_of(&name);
            let still = self.collections.get(&name).is_some_and(|known| !known.lines.is_empty());
            if still {
                self.turns.push_back(name.clone());
            }
            if let Some((origin, it)) = found {
                self.waiting -= 1;
                return Some((self.take(name, origin), it));
            }
        }
        None
    }

    /// How many places are held.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// How much waits.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes what is next in a collection out of its line, if it may have a place.
    fn next_of(&mut self, name: &Arc<str>) -> Option<(Option<Arc<str>>, T)> {
        let (share, free) = (self.share, self.free);
        let known = self.collections.get_mut(name)?;
        if !share.allows(known.held, free) {
            return None;
        }
        for _ in 0..known.lines.len() {
            let mut line = known.lines.pop_front()?;
            let origin = line.origin.as_ref().and_then(|origin| self.origins.get(origin));
            let may_take = origin.is_none_or(|it| it.may_take(share, free));
            let found = if may_take { line.waiting.pop_front() } else { None };
            let origin = line.origin.clone();
            if !line.waiting.is_empty() {
                known.lines.push_back(line);
            }
            if let Some(it) = found {
                return Some((origin, it));
            }
        }
        None
    }

    fn take(&mut self, collection: Arc<str>, origin: Option<Arc<str>>) -> Place {
        self.free -= 1;
        self.held += 1;
        let known = self.collections.entry(collection.clone()).or_default();
        known.held += 1;
        let origin = origin.map(|origin| self.count_origin(&origin));
        Place { collection, origin }
    }

    fn push(&mut self, collection: &Arc<str>, origin: Option<Arc<str>>, it: T) {
        self.waiting += 1;
        let known = self.collections.entry(collection.clone()).or_default();
        if known.lines.is_empty() {
            self.turns.push_back(collection.clone());
        }
        match known.lines.iter_mut().find(|line| line.origin == origin) {
            Some(line) => line.waiting.push_back(it),
            None => known.lines.push_back(Line { origin, waiting: [it].into() }),
        }
    }

    fn count_origin(&mut self, origin: &str) -> Arc<str> {
        if let Some((name, _)) = self.origins.get_key_value(origin) {
            let name = name.clone();
            if let Some(origin) = self.origins.get_mut(origin) {
                origin.held += 1;
            }
            return name;
        }
        let name: Arc<str> = origin.into();
        self.origins.insert(name.clone(), Origin { held: 1, ..Origin::default() });
        name
    }

    fn forget_origin(&mut self, origin: Option<Arc<str>>) {
        let Some(name) = origin else { return };
        let is_full = self.origins.len() > REMEMBERED_MAX;
        let Some(origin) = self.origins.get_mut(&name) else { return };
        origin.held -= 1;
        if origin.held == 0 && (origin.unanswered.is_none() || is_full) {
            self.hanging -= usize::from(origin.unanswered.hangs());
            self.origins.remove(&name);
        }
    }
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Self { held: 0, lines: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets so many attempts of a collection arrive. Returns the places that they get.
    fn arrive(places: &mut Places<usize>, collection: &str, n: usize) -> Vec<Place> {
        (0..n).filter_map(|it| Some(places.arrive(collection, it)?.0)).collect()
    }

    /// Gives places to what waits, while there are any. Returns the names of the collections.
    fn start(places: &mut Places<usize>) -> Vec<(Place, usize)> {
        std::iter::from_fn(|| places.start_next()).collect()
    }

    #[test]
    fn a_collection_alone_gets_all_places_but_an_eighth() {
        for (all, alone) in [(1, 1), (2, 2), (8, 7), (16, 14), (504, 441), (16_384, 14_336)] {
            let mut places = Places::new(all, Share::times_free(7));
            let held = arrive(&mut places, "a", 20_000);
            assert_eq!((held.len(), places.held()), (alone, alone), "{all}");
            assert_eq!(places.waiting(), 20_000 - alone);
        }
    }

    #[test]
    fn a_burst_of_one_collection_leaves_the_job_of_another_a_place_at_once() {
        let mut places = Places::new(16_384, Share::times_free(7));
        let _burst = arrive(&mut places, "noisy", 19_000);
        assert_eq!(arrive(&mut places, "quiet", 1).len(), 1);
        // Each further one gets most of the rest.
        let held = ["second", "third", "fourth"].map(|it| arrive(&mut places, it, 19_000).len());
        assert_eq!(held, [1_792, 224, 28]);
        assert_eq!(arrive(&mut places, "last", 1).len(), 1);
    }

    #[test]
    fn a_small_share_lets_very_many_be_busy_at_once() {
        let mut places = Places::new(192, Share::part_of_free(32));
        let held = arrive(&mut places, "alone", 2_500);
        assert_eq!(held.len(), 6);
        let mut busy = 1;
        while !arrive(&mut places, &busy.to_string(), 2_500).is_empty() {
            busy += 1;
        }
        assert!(busy > 75, "{busy}");
    }

    #[test]
    fn an_origin_that_many_collections_call_leaves_others_a_place() {
        let mut places = Places::new(64, Share::times_free(7));
        let mut held = Vec::new();
        let mut refused = 0;
        for n in 0..64 {
            let Some((mut place, _)) = places.arrive(&n.to_string(), n) else { continue };
            if places.try_origin(&mut place, "http://hangs") {
                held.push(place);
            } else {
                refused += 1;
                places.wait(place, Some("http://hangs"), n);
            }
        }
        assert_eq!((held.len(), refused, places.waiting()), (56, 8, 8));
        assert!(places.start_next().is_none(), "all that wait wait for this origin");
        let (mut place, _) = places.arrive("63", 64).expect("what waits is for another origin");
        assert!(places.try_origin(&mut place, "http://answers"));
        places.leave(place);
        // What waited for the origin goes on when one of its attempts has ended.
        places.leave(held.pop().unwrap());
        let started = start(&mut places);
        assert_eq!(started.len(), 1);
        assert_eq!(started[0].0.origin.as_deref(), Some("http://hangs"));
    }

    #[test]
    fn an_origin_that_hangs_holds_eight_places_until_it_answers() {
        let mut places = Places::new(1_000, Share::times_free(7));
        let arrive = |places: &mut Places<usize>, origin: &str| {
            let (mut place, it) = places.arrive("a", 0)?;
            if places.try_origin(&mut place, origin) {
                return Some(place);
            }
            places.wait(place, Some(origin), it);
            None
        };
        let held: Vec<Place> = (0..100).filter_map(|_| arrive(&mut places, "hangs")).collect();
        assert_eq!(held.len(), 100);
        assert!(!places.is_scarce());
        for place in held {
            places.ended(&place, false);
            places.leave(place);
        }
        assert!(places.is_scarce(), "each attempt tells its origin first");
        let hanging: Vec<Place> = (0..100).filter_map(|_| arrive(&mut places, "hangs")).collect();
        assert_eq!((hanging.len(), places.waiting()), (HANGING_AT_ONCE, 92));
        assert_eq!(places.hanging().collect::<Vec<_>>(), ["hangs"]);
        assert!(places.start_next().is_none());
        assert!(arrive(&mut places, "answers").is_some());
        // One that has ended makes room for one; an answer makes room for all.
        let mut hanging = hanging.into_iter();
        let mut end = |places: &mut Places<usize>, is_answered| {
            let place = hanging.next().unwrap();
            places.ended(&place, is_answered);
            places.leave(place);
            start(places).len()
        };
        assert_eq!(end(&mut places, false), 1);
        assert_eq!(end(&mut places, true), 91);
        assert!(!places.is_scarce());
    }

    #[test]
    fn what_waits_takes_turns_by_collection_and_by_origin_and_keeps_its_order() {
        let mut places = Places::new(8, Share::times_free(7));
        let mut held = arrive(&mut places, "other", 7);
        assert_eq!(held.len(), 7);
        let (place, _) = places.arrive("a", 0).unwrap();
        places.wait(place, Some("x"), 0);
        for n in 1..4 {
            places.push(&"a".into(), Some("x".into()), n);
        }
        places.push(&"a".into(), Some("y".into()), 10);
        places.push(&"b".into(), None, 20);
        places.push(&"b".into(), None, 21);
        let mut order = Vec::new();
        while places.waiting() > 0 {
            for (place, it) in start(&mut places) {
                order.push(it);
                held.push(place);
            }
            places.leave(held.remove(0));
        }
        assert_eq!(order, [0, 20, 10, 21, 1, 2, 3]);
    }

    #[test]
    fn an_origin_is_counted_once_and_forgotten_with_its_last_place() {
        let mut places = Places::new(10, Share::times_free(7));
        let (mut place, ()) = places.arrive("a", ()).unwrap();
        places.set_origin(&mut place, "x");
        places.set_origin(&mut place, "x");
        assert!(places.try_origin(&mut place, "x"));
        let held = |places: &Places<()>, name| places.origins.get(name).map(|it| it.held);
        assert_eq!(held(&places, "x"), Some(1));
        places.set_origin(&mut place, "y");
        assert_eq!((held(&places, "x"), held(&places, "y")), (None, Some(1)));
        places.leave(place);
        assert!(places.origins.is_empty() && places.collections.is_empty());
        assert_eq!((places.free, places.held()), (10, 0));
    }

    /// A generator of numbers that are random enough.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            usize::try_from(self.0 >> 33).unwrap() % n
        }
    }

    /// What is true after every step, whatever has happened.
    fn check(places: &Places<usize>, all: usize, held: &[Place], seed: u64) {
        assert_eq!(places.free + places.held, all, "seed {seed}");
        assert_eq!(places.held, held.len(), "seed {seed}");
        for (name, known) in &places.collections {
            let of_it = held.iter().filter(|place| place.collection == *name).count();
            assert_eq!(known.held, of_it, "seed {seed}: {name}");
            let waits = known.lines.iter().any(|line| !line.waiting.is_empty());
            assert_eq!(places.turns.contains(name), waits, "seed {seed}: {name}");
            // It is at its bound, or all of its origins are, if anything of it waits.
            let at_bound = |held: usize| !places.share.allows(held, places.free);
            let origins_at_bound = known.lines.iter().all(|line| {
                let origin = line.origin.as_ref().and_then(|it| places.origins.get(it));
                origin.is_some_and(|it| !it.may_take(places.share, places.free))
            });
            assert!(at_bound(known.held) || origins_at_bound, "seed {seed}: {name}");
        }
        for (name, origin) in &places.origins {
            let of_it = held.iter().filter(|place| place.origin.as_ref() == Some(name)).count();
            assert_eq!(origin.held, of_it, "seed {seed}: {name}");
        }
    }

    #[test]
    fn no_place_stays_free_that_something_may_take_and_everything_gets_its_turn() {
        for seed in 0..200 {
            let mut chance = Chance(seed);
            let (all, n_collections, n_origins) =
                (1 + chance.below(40), 1 + chance.below(6), 1 + chance.below(4));
            let share = [Share::times_free(7), Share::part_of_free(32)][chance.below(2)];
            let mut places = Places::new(all, share);
            let (mut held, mut begun, mut come) = (Vec::new(), 0, 0);
            for _ in 0..400 {
                if chance.below(5) < 3 {
                    let collection = format!("c{}", chance.below(n_collections));
                    come += 1;
                    if let Some((mut place, it)) = places.arrive(&collection, come) {
                        let origin = format!("o{}", chance.below(n_origins));
                        if places.try_origin(&mut place, &origin) {
                            begun += 1;
                            held.push(place);
                        } else {
                            places.wait(place, Some(&origin), it);
                        }
                    }
                } else if !held.is_empty() {
                    places.leave(held.swap_remove(chance.below(held.len())));
                }
                for (place, _) in start(&mut places) {
                    begun += 1;
                    held.push(place);
                }
                check(&places, all, &held, seed);
            }
            // When nothing more comes, everything that waits gets its turn.
            while !held.is_empty() {
                places.leave(held.swap_remove(chance.below(held.len())));
                let started = start(&mut places);
                begun += started.len();
                held.extend(started.into_iter().map(|(place, _)| place));
                check(&places, all, &held, seed);
            }
            assert_eq!((begun, places.waiting()), (come, 0), "seed {seed}");
            assert!(places.collections.is_empty() && places.turns.is_empty(), "seed {seed}");
        }
    }

    #[test]
    fn a_collection_without_a_place_waits_for_no_more_turns_than_there_are_others() {
        // As many busy collections as there are places, so that nothing is free.
        let mut places = Places::new(20, Share::times_free(7));
        let mut held: VecDeque<Place> = VecDeque::new();
        for n in 0..20 {
            held.extend(arrive(&mut places, &format!("busy{n}"), 100));
        }
        assert_eq!(places.held(), 20);
        assert!(places.arrive("quiet", 7).is_none());
        let mut turns = 0;
        loop {
            places.leave(held.pop_front().unwrap());
            let started = start(&mut places);
            turns += started.len();
            let is_begun = started.iter().any(|(place, _)| &*place.collection == "quiet");
            held.extend(started.into_iter().map(|(place, _)| place));
            if is_begun {
                break;
            }
        }
        assert!(turns <= 21, "{turns}");
    }
}
