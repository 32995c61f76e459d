//! Lookups of names: shared, bounded and fair.
//!
//! A name whose server is silent takes the system ten seconds or more. Three rules keep such names
//! from delaying other attempts:
//!
//! - all attempts that need a name at the same time wait for one lookup of it;
//! - a name that failed is not looked up again for [`FAILURE_MEMORY`];
//! - names that were resolved before have [places](Places) of their own. However many new names are
//!   silent, a job that has called its target before can call it again;
//! - a collection begins a lookup only while it holds less than a small [share](Share) of the places
//!   that are free: few if it is alone, and dozens of collections leave some free. Lookups without a
//!   place wait in lines, collections take turns, and the wait is no part of the time for a connection.
//!
//! A lookup that has begun is not cancelled: the system cannot do that. Its place is free when it has
//! ended. A lookup that waits for a place and that no attempt wants any more ends when its turn comes.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::firing::{Place, Places, Share};
use tokio::sync::watch;
use tokio::time::Instant;

use super::out_of::OutOf;
use super::resolve::{NoAddress, Resolver};

/// The maximum number of lookups of new names at once. Each has a thread.
const NEW_NAMES_MAX: usize = 192;

/// The maximum number of lookups at once of names that were resolved before.
const RESOLVED_NAMES_MAX: usize = 64;

/// How long a name that failed is not looked up again.
pub(super) const FAILURE_MEMORY: Duration = Duration::from_secs(5);

/// The maximum number of names that are remembered because they failed.
const FAILURES_MAX: usize = 4_096;

/// Half of the number of names that are remembered because they were resolved.
const RESOLVED_MAX: usize = 4_096;

tokio::task_local! {
    /// The collection of the attempt that a task makes. The HTTP client opens connections by itself,
    /// and tells its connector nothing but the URL.
    pub(crate) static COLLECTION: String;
}

/// How a lookup ended.
#[derive(Clone)]
enum Found {
    Addresses(Arc<[IpAddr]>),
    OutOf(OutOf),
    Unresolved,
}

impl Found {
    fn new(resolved: io::Result<Vec<IpAddr>>) -> Self {
        match resolved {
            Ok(addresses) => Self::Addresses(addresses.into()),
            Err(error) => OutOf::of(&error).map_or(Self::Unresolved, Self::OutOf),
        }
    }
}

/// What a lookup tells those that wait for it; `None` until it has ended.
type Told = watch::Sender<Option<Found>>;

/// A collection, and a name that its attempts need.
type Wanted = (String, String);

/// Whether a name was resolved before.
#[derive(Debug, Clone, Copy)]
enum Kind {
    New,
    Resolved,
}

/// The lookups of the process.
#[derive(Clone)]
pub(super) struct Lookups(Arc<Inner>);

struct Inner {
    resolver: Arc<dyn Resolver>,
    state: Mutex<State>,
}

struct State {
    new: Places<Wanted>,
    resolved: Places<Wanted>,
    /// Lookups that have no place yet.
    waiting: HashMap<Wanted, Told>,
    /// Lookups that have begun, by name.
    running: HashMap<String, Told>,
    /// Names that failed, and until when they are remembered.
    failed: HashMap<String, Instant>,
    names: ResolvedNames,
}

/// A lookup that has a place.
struct Begun {
    name: String,
    kind: Kind,
    place: Place,
    told: Told,
}

impl Lookups {
    pub(super) fn new(resolver: Arc<dyn Resolver>) -> Self {
        let state = Mutex::new(State {
            new: Places::new(NEW_NAMES_MAX, Share::part_of_free(32)),
            resolved: Places::new(RESOLVED_NAMES_MAX, Share::part_of_free(8)),
            waiting: HashMap::new(),
            running: HashMap::new(),
            failed: HashMap::new(),
            names: ResolvedNames::default(),
        });
        Self(Arc::new(Inner { resolver, state }))
    }

    /// Returns the addresses of a name, for the attempt that this task makes.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
        let collection = COLLECTION.try_with(Clone::clone).unwrap_or_default();
        let Some(mut told) = self.join(&collection, name) else {
            return Err(NoAddress::Unresolved);
        };
        let found = told.wait_for(Option::is_some).await.map(|found| found.clone());
        match found {
            Ok(Some(Found::Addresses(addresses))) => Ok(addresses.to_vec()),
            Ok(Some(Found::OutOf(what))) => Err(what.into()),
            Ok(Some(Found::Unresolved) | None) | Err(_) => Err(NoAddress::Unresolved),
        }
    }

    /// Joins the lookup of a name, or begins one; `None` if the name failed a short time ago.
    fn join(&self, collection: &str, name: &str) -> Option<watch::Receiver<Option<Found>>> {
        let mut state = self.state();
        if state.has_failed(name) {
            return None;
        }
        if let Some(told) = state.running.get(name) {
            return Some(told.subscribe());
        }
        // A collection does not wait for a lookup that waits for a place of another one.
        let wanted = (collection.to_owned(), name.to_owned());
        if let Some(told) = state.waiting.get(&wanted) {
            return Some(told.subscribe());
        }
        let (told, receiver) = watch::channel(None);
        let kind = state.names.kind(name);
        match state.places(kind).arrive(collection, wanted.clone()) {
            Some((place, (_, name))) => self.begin(&mut state, Begun { name, kind, place, told }),
            None => drop(state.waiting.insert(wanted, told)),
        }
        Some(receiver)
    }

    fn begin(&self, state: &mut State, begun: Begun) {
        state.running.insert(begun.name.clone(), begun.told.clone());
        tokio::spawn(self.clone().run(begun));
    }

    /// Looks a name up, tells the result, and gives the place to the next lookups in turn.
    async fn run(self, begun: Begun) {
        let Begun { name, kind, place, told } = begun;
        let found = Found::new(self.0.resolver.resolve(&name).await);
        let mut state = self.state();
        state.end(&name, &found);
        state.places(kind).leave(place);
        self.start_waiting(&mut state, kind);
        drop(state);
        told.send_replace(Some(found));
    }

    /// Starts what waits, as far as there are places for it.
    fn start_waiting(&self, state: &mut State, kind: Kind) {
        // Each turn takes one of those that wait.
        while let Some((place, wanted)) = state.places(kind).start_next() {
            let told = state.waiting.remove(&wanted);
            let (_, name) = wanted;
            match told {
                Some(told) if told.receiver_count() > 0 => {
                    if state.has_failed(&name) {
                        told.send_replace(Some(Found::Unresolved));
                    } else if let Some(other) = state.running.get(&name) {
                        tokio::spawn(pass_on(other.subscribe(), told));
                    } else {
                        self.begin(state, Begun { name, kind, place, told });
                        continue;
                    }
                }
                // No attempt wants it any more.
                Some(_) | None => {}
            }
            state.places(kind).leave(place);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells what another lookup of the same name finds.
async fn pass_on(mut other: watch::Receiver<Option<Found>>, told: Told) {
    let found = other.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
    told.send_replace(Some(found.unwrap_or(Found::Unresolved)));
}

impl State {
    const fn places(&mut self, kind: Kind) -> &mut Places<Wanted> {
        match kind {
            Kind::New => &mut self.new,
            Kind::Resolved => &mut self.resolved,
        }
    }

    fn has_failed(&self, name: &str) -> bool {
        self.failed.get(name).is_some_and(|until| Instant::now() < *until)
    }

    /// Ends the lookup of a name.
    fn end(&mut self, name: &str, found: &Found) {
        self.running.remove(name);
        match found {
            Found::Addresses(_) => {
                self.failed.remove(name);
                self.names.insert(name.to_owned());
            }
            Found::Unresolved => {
                self.names.remove(name);
                self.remember_failure(name);
            }
            // It says nothing about the name.
            Found::OutOf(_) => {}
        }
    }

    fn remember_failure(&mut self, name: &str) {
        let now = Instant::now();
        if self.failed.len() >= FAILURES_MAX {
            self.failed.retain(|_, until| now < *until);
        }
        if self.failed.len() < FAILURES_MAX {
            self.failed.insert(name.to_owned(), now + FAILURE_MEMORY);
        }
    }
}

/// The names that were resolved lately, at least the latest [`RESOLVED_MAX`].
#[derive(Default)]
struct ResolvedNames {
    recent: HashSet<String>,
    older: HashSet<String>,
}

impl ResolvedNames {
    fn kind(&self, name: &str) -> Kind {
        let is_known = self.recent.contains(name) || self.older.contains(name);
        if is_known { Kind::Resolved } else { Kind::New }
    }

    fn insert(&mut self, name: String) {
        if self.recent.len() >= RESOLVED_MAX && !self.recent.contains(&name) {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(name);
    }

    fn remove(&mut self, name: &str) {
        self.recent.remove(name);
        self.older.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::future::Future;

    use async_trait::async_trait;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::sync::oneshot;

    use super::*;

    type Answer = io::Result<Vec<IpAddr>>;

    /// A resolver whose answers a test gives, one after the other.
    struct Scripted(UnboundedSender<(String, oneshot::Sender<Answer>)>);

    #[async_trait]
    impl Resolver for Scripted {
        async fn resolve(&self, name: &str) -> Answer {
            let (reply, answer) = oneshot::channel();
            self.0.send((name.to_owned(), reply)).unwrap();
            answer.await.unwrap()
        }
    }

    /// The lookups that have begun, in their order.
    struct Begun {
        incoming: UnboundedReceiver<(String, oneshot::Sender<Answer>)>,
        open: HashMap<String, oneshot::Sender<Answer>>,
    }

    impl Begun {
        async fn next(&mut self) -> String {
            let (name, reply) = self.incoming.recv().await.unwrap();
            assert!(self.open.insert(name.clone(), reply).is_none(), "twice at once: {name}");
            name
        }

        /// How many have begun and were not taken by [`Self::next`].
        fn all(&mut self) -> usize {
            let mut n = 0;
            while let Ok((name, reply)) = self.incoming.try_recv() {
                assert!(self.open.insert(name.clone(), reply).is_none(), "twice at once: {name}");
                n += 1;
            }
            n
        }

        fn none(&mut self) {
            assert!(self.incoming.try_recv().is_err());
        }

        fn answer(&mut self, name: &str, answer: Answer) {
            self.open.remove(name).unwrap().send(answer).unwrap();
        }
    }

    fn scripted() -> (Lookups, Begun) {
        let (sender, incoming) = unbounded_channel();
        (Lookups::new(Arc::new(Scripted(sender))), Begun { incoming, open: HashMap::new() })
    }

    fn home() -> Vec<IpAddr> {
        vec![IpAddr::from([127, 0, 0, 1])]
    }

    /// Begins to wait for a name as an attempt of a collection does.
    fn want(
        lookups: &Lookups,
        collection: &str,
        name: &str,
    ) -> tokio::task::JoinHandle<Result<Vec<IpAddr>, NoAddress>> {
        let (lookups, name) = (lookups.clone(), name.to_owned());
        let wanted = async move { lookups.addresses(&name).await };
        tokio::spawn(COLLECTION.scope(collection.to_owned(), wanted))
    }

    /// Lets all tasks run until they wait. The clock of these tests stands still.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    async fn found(
        wanted: impl Future<Output = Result<Result<Vec<IpAddr>, NoAddress>, tokio::task::JoinError>>,
    ) -> Option<Vec<IpAddr>> {
        wanted.await.unwrap().ok()
    }

    #[tokio::test(start_paused = true)]
    async fn one_lookup_serves_all_that_wait() {
        let (lookups, mut begun) = scripted();
        let wanted: Vec<_> = (0..100).map(|n| want(&lookups, &format!("c{n}"), "a.test")).collect();
        assert_eq!(begun.next().await, "a.test");
        settle().await;
        begun.none();
        begun.answer("a.test", Ok(home()));
        for wanted in wanted {
            assert_eq!(found(wanted).await, Some(home()));
        }
        // Addresses are not remembered: the system does that as its name servers say.
        let again = want(&lookups, "c", "a.test");
        assert_eq!(begun.next().await, "a.test");
        begun.answer("a.test", Ok(vec![]));
        assert_eq!(found(again).await, Some(vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_collection_with_silent_names_holds_up_no_other() {
        let (lookups, mut begun) = scripted();
        let silent: Vec<_> =
            (0..2_500).map(|n| want(&lookups, "noisy", &format!("{n}.slow"))).collect();
        settle().await;
        let n_running = begun.all();
        assert_eq!(n_running, 6);
        // Even a name that the noisy collection waits for.
        for name in ["a.fast", "2499.slow"] {
            let wanted = want(&lookups, "other", name);
            assert_eq!(begun.next().await, name);
            begun.answer(name, Ok(home()));
            assert_eq!(found(wanted).await, Some(home()));
        }
        for silent in silent {
            silent.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_collections_with_silent_names_hold_up_no_other() {
        let (lookups, mut begun) = scripted();
        let mut silent = Vec::new();
        for collection in 0..70 {
            for n in 0..25 {
                let name = format!("{n}.{collection}.slow");
                silent.push(want(&lookups, &format!("noisy{collection}"), &name));
            }
            settle().await;
            assert!(begun.all() > 0, "collection {collection} begins a lookup, too");
            let wanted = want(&lookups, &format!("quiet{collection}"), "a.fast");
            assert_eq!(begun.next().await, "a.fast");
            begun.answer("a.fast", Ok(home()));
            assert_eq!(found(wanted).await, Some(home()));
            lookups.state().names = ResolvedNames::default();
        }
        for silent in silent {
            silent.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_names_hold_up_no_name_that_was_resolved_before() {
        let (lookups, mut begun) = scripted();
        let before = want(&lookups, "c", "a.fast");
        assert_eq!(begun.next().await, "a.fast");
        begun.answer("a.fast", Ok(home()));
        assert_eq!(found(before).await, Some(home()));
        // As many collections as places, and more.
        let silent: Vec<_> = (0..2 * NEW_NAMES_MAX)
            .map(|n| want(&lookups, &format!("noisy{n}"), &format!("{n}.slow")))
            .collect();
        settle().await;
        assert_eq!(begun.all(), NEW_NAMES_MAX);
        for collection in ["c", "noisy0"] {
            let wanted = want(&lookups, collection, "a.fast");
            assert_eq!(begun.next().await, "a.fast");
            begun.answer("a.fast", Ok(home()));
            assert_eq!(found(wanted).await, Some(home()));
        }
        // A new name has to wait for its turn, but not for all names of another collection.
        let more = ["second.slow", "third.slow"].map(|name| want(&lookups, "noisy0", name));
        let new = want(&lookups, "c", "new.fast");
        settle().await;
        begun.none();
        let mut order = Vec::new();
        for n in 0..NEW_NAMES_MAX + 2 {
            begun.answer(&format!("{n}.slow"), Err(io::ErrorKind::TimedOut.into()));
            order.push(begun.next().await);
        }
        assert_eq!(order[NEW_NAMES_MAX..], ["second.slow", "new.fast"]);
        settle().await;
        begun.none();
        begun.answer("new.fast", Ok(home()));
        assert_eq!(found(new).await, Some(home()));
        for unwanted in silent.into_iter().chain(more) {
            unwanted.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_failed_or_was_forgotten_is_new() {
        let (lookups, mut begun) = scripted();
        let answers = [
            (Ok(home()), true),
            (Err(io::Error::from_raw_os_error(libc::EMFILE)), true),
            (Err(io::ErrorKind::TimedOut.into()), false),
        ];
        for (answer, is_known) in answers {
            let wanted = want(&lookups, "c", "a.test");
            begun.next().await;
            begun.answer("a.test", answer);
            let _ = wanted.await.unwrap();
            assert_eq!(matches!(lookups.state().names.kind("a.test"), Kind::Resolved), is_known);
        }
        let mut names = ResolvedNames::default();
        for n in 0..10 * RESOLVED_MAX {
            names.insert(n.to_string());
        }
        assert!(names.recent.len() + names.older.len() <= 2 * RESOLVED_MAX);
        let is_known = |n: usize| matches!(names.kind(&n.to_string()), Kind::Resolved);
        assert!(!is_known(0) && is_known(9 * RESOLVED_MAX) && is_known(10 * RESOLVED_MAX - 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lookup_that_is_not_wanted_any_more_is_not_begun() {
        let (lookups, mut begun) = scripted();
        let silent: Vec<_> = (0..30).map(|n| want(&lookups, "c", &format!("{n}.slow"))).collect();
        settle().await;
        let n_running = begun.all();
        assert_eq!(lookups.state().waiting.len(), 30 - n_running);
        let wanted = want(&lookups, "c", "wanted.test");
        settle().await;
        for silent in silent {
            silent.abort();
        }
        settle().await;
        // A lookup that has begun keeps its place until it ends.
        assert_eq!(lookups.state().new.held(), n_running);
        begun.answer("0.slow", Ok(home()));
        assert_eq!(begun.next().await, "wanted.test");
        begun.answer("wanted.test", Ok(home()));
        assert_eq!(found(wanted).await, Some(home()));
        settle().await;
        begun.none();
        let state = lookups.state();
        assert_eq!((state.waiting.len(), state.new.waiting()), (0, 0));
        assert_eq!(state.new.held(), n_running - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lookup_that_waits_uses_what_another_collection_found() {
        let (lookups, mut begun) = scripted();
        let silent: Vec<_> = (0..30).map(|n| want(&lookups, "c", &format!("{n}.slow"))).collect();
        let waiting: Vec<_> =
            ["shared", "failed"].map(|name| want(&lookups, "c", name)).into_iter().collect();
        settle().await;
        let n_running = begun.all();
        let of_other = ["shared", "failed"].map(|name| want(&lookups, "other", name));
        settle().await;
        assert_eq!(begun.all(), 2);
        begun.answer("failed", Err(io::ErrorKind::NotFound.into()));
        for silent in &silent {
            silent.abort();
        }
        settle().await;
        begun.answer("0.slow", Ok(home()));
        settle().await;
        begun.answer("shared", Ok(home()));
        let mut results = Vec::new();
        for wanted in waiting.into_iter().chain(of_other) {
            results.push(found(wanted).await);
        }
        assert_eq!(results, [Some(home()), None, Some(home()), None]);
        begun.none();
        assert_eq!(lookups.state().new.held(), n_running - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_failed_is_remembered_for_a_short_time() {
        let (lookups, mut begun) = scripted();
        let wanted = want(&lookups, "c", "a.test");
        assert_eq!(begun.next().await, "a.test");
        begun.answer("a.test", Err(io::ErrorKind::NotFound.into()));
        assert_eq!(found(wanted).await, None);
        assert_eq!(found(want(&lookups, "other", "a.test")).await, None);
        settle().await;
        begun.none();
        tokio::time::advance(FAILURE_MEMORY).await;
        let wanted = want(&lookups, "c", "a.test");
        assert_eq!(begun.next().await, "a.test");
        begun.answer("a.test", Ok(home()));
        assert_eq!(found(wanted).await, Some(home()));
        assert!(lookups.state().failed.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn to_run_out_of_files_is_no_failure_of_the_name() {
        let (lookups, mut begun) = scripted();
        for _ in 0..2 {
            let wanted = want(&lookups, "c", "a.test");
            begun.next().await;
            begun.answer("a.test", Err(io::Error::from_raw_os_error(libc::EMFILE)));
            let failure = wanted.await.unwrap().unwrap_err();
            assert!(matches!(failure, NoAddress::OutOf(OutOf("open files"))), "{failure}");
        }
    }
}
