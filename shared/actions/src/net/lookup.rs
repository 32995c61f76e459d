//! Lookups of names: shared, bounded and fair.
//!
//! A name whose server is silent takes the system ten seconds or more. Three rules keep such names
//! from delaying other attempts:
//!
//! - all attempts that need a name at the same time wait for one lookup of it;
//! - a collection has at most [`LOOKUPS_PER_COLLECTION`] lookups at once, and all together
//!   [`LOOKUPS_MAX`]. The others wait, and that is no part of the time for a connection;
//! - a name that failed is not looked up again for [`FAILURE_MEMORY`].
//!
//! A lookup that has begun is not cancelled: the system cannot do that. Its place is free when it has
//! ended. A lookup that still waits for a place ends with the last attempt that wants it.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::out_of::OutOf;
use super::resolve::{NoAddress, Resolver};

/// The maximum number of lookups at once. Each has a thread.
pub(super) const LOOKUPS_MAX: usize = 256;

/// The maximum number of lookups of a collection at once.
pub(super) const LOOKUPS_PER_COLLECTION: usize = 8;

/// How long a name that failed is not looked up again.
pub(super) const FAILURE_MEMORY: Duration = Duration::from_secs(5);

/// The maximum number of names that are remembered because they failed.
const FAILURES_MAX: usize = 4_096;

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

/// The lookups of the process.
#[derive(Clone)]
pub(super) struct Lookups(Arc<Inner>);

struct Inner {
    resolver: Arc<dyn Resolver>,
    places: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Lookups that have no place yet, by collection and name.
    waiting: HashMap<(String, String), Told>,
    /// Lookups that have begun, by name.
    running: HashMap<String, Told>,
    /// Names that failed, and until when they are remembered.
    failed: HashMap<String, Instant>,
    /// The places of the collections that have lookups.
    of_collections: HashMap<String, Arc<Semaphore>>,
}

impl Lookups {
    pub(super) fn new(resolver: Arc<dyn Resolver>) -> Self {
        let places = Arc::new(Semaphore::new(LOOKUPS_MAX));
        Self(Arc::new(Inner { resolver, places, state: Mutex::default() }))
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
        if state.failed.get(name).is_some_and(|until| Instant::now() < *until) {
            return None;
        }
        if let Some(told) = state.running.get(name) {
            return Some(told.subscribe());
        }
        // A collection does not wait for a lookup that waits for a place of another one.
        let key = (collection.to_owned(), name.to_owned());
        if let Some(told) = state.waiting.get(&key) {
            return Some(told.subscribe());
        }
        let (told, receiver) = watch::channel(None);
        state.waiting.insert(key.clone(), told.clone());
        let place = state
            .of_collections
            .entry(key.0.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(LOOKUPS_PER_COLLECTION)));
        let place = Arc::clone(place);
        drop(state);
        tokio::spawn(self.clone().run(key, told, place));
        Some(receiver)
    }

    /// Waits for a place, looks a name up, and tells the result.
    async fn run(self, key: (String, String), told: Told, of_collection: Arc<Semaphore>) {
        let places = self.wait_for_places(&key, &told, &of_collection).await;
        if let Some(_places) = places {
            self.look_up(&key, &told).await;
        }
        drop(of_collection);
        self.state().forget_idle(&key.0);
    }

    /// A place of the collection and one of all; `None` if no attempt wants the lookup any more.
    async fn wait_for_places(
        &self,
        key: &(String, String),
        told: &Told,
        of_collection: &Arc<Semaphore>,
    ) -> Option<[OwnedSemaphorePermit; 2]> {
        loop {
            let places = async {
                let of_collection = Arc::clone(of_collection).acquire_owned().await.ok()?;
                Some([of_collection, Arc::clone(&self.0.places).acquire_owned().await.ok()?])
            };
            tokio::select! {
                biased;
                () = told.closed() => {
                    let mut state = self.state();
                    // An attempt may have joined in this instant.
                    if told.receiver_count() == 0 {
                        state.waiting.remove(key);
                        return None;
                    }
                }
                places = places => return places,
            }
        }
    }

    async fn look_up(&self, key: &(String, String), told: &Told) {
        let (_, name) = key;
        let other = {
            let mut state = self.state();
            state.waiting.remove(key);
            let other = state.running.get(name).map(watch::Sender::subscribe);
            if other.is_none() {
                state.running.insert(name.clone(), told.clone());
            }
            other
        };
        let found = if let Some(mut other) = other {
            let found = other.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
            found.unwrap_or(Found::Unresolved)
        } else {
            let found = Found::new(self.0.resolver.resolve(name).await);
            self.state().end(name, &found);
            found
        };
        told.send_replace(Some(found));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the lookup of a name.
    fn end(&mut self, name: &str, found: &Found) {
        self.running.remove(name);
        let now = Instant::now();
        if self.failed.len() >= FAILURES_MAX {
            self.failed.retain(|_, until| now < *until);
        }
        if matches!(found, Found::Unresolved) && self.failed.len() < FAILURES_MAX {
            self.failed.insert(name.to_owned(), now + FAILURE_MEMORY);
        } else {
            self.failed.remove(name);
        }
    }

    /// Forgets the places of a collection without lookups.
    fn forget_idle(&mut self, collection: &str) {
        let is_idle = |places: &Arc<Semaphore>| Arc::strong_count(places) == 1;
        if self.of_collections.get(collection).is_some_and(is_idle) {
            self.of_collections.remove(collection);
        }
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
        assert!(lookups.state().of_collections.len() <= 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_collection_with_silent_names_holds_up_no_other() {
        let (lookups, mut begun) = scripted();
        let silent: Vec<_> =
            (0..2_500).map(|n| want(&lookups, "noisy", &format!("{n}.slow"))).collect();
        for _ in 0..LOOKUPS_PER_COLLECTION {
            assert!(begun.next().await.contains("slow"));
        }
        settle().await;
        begun.none();
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
    async fn all_lookups_together_are_bounded() {
        let (lookups, mut begun) = scripted();
        let wanted: Vec<_> = (0..=LOOKUPS_MAX)
            .map(|n| want(&lookups, &format!("c{n}"), &format!("{n}.test")))
            .collect();
        let mut first = None;
        for _ in 0..LOOKUPS_MAX {
            let name = begun.next().await;
            first = first.or(Some(name));
        }
        settle().await;
        begun.none();
        begun.answer(&first.unwrap(), Ok(home()));
        begun.next().await;
        for wanted in wanted {
            wanted.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lookup_that_is_not_wanted_any_more_takes_no_place() {
        let (lookups, mut begun) = scripted();
        let running: Vec<_> = (0..LOOKUPS_PER_COLLECTION)
            .map(|n| want(&lookups, "c", &format!("{n}.test")))
            .collect();
        for _ in 0..LOOKUPS_PER_COLLECTION {
            begun.next().await;
        }
        let unwanted = want(&lookups, "c", "unwanted.test");
        settle().await;
        let wanted = want(&lookups, "c", "wanted.test");
        unwanted.abort();
        settle().await;
        assert!(!lookups.state().waiting.keys().any(|(_, name)| name == "unwanted.test"));
        begun.answer("0.test", Ok(home()));
        assert_eq!(begun.next().await, "wanted.test");
        begun.answer("wanted.test", Ok(home()));
        assert_eq!(found(wanted).await, Some(home()));
        // A lookup that has begun keeps its place until it ends.
        for running in running {
            running.abort();
        }
        settle().await;
        assert_eq!(lookups.0.places.available_permits(), LOOKUPS_MAX - LOOKUPS_PER_COLLECTION + 1);
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
