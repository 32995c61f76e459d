//! The events of jobs and collections, for clients that listen.
//!
//! Workers and the API tell [`Live`] each event, and it keeps the last ones. A stream looks there a few times a
//! second, so a slow stream, or one that is resumed after a moment, misses no event and delays no other stream.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::named;

/// How many streams may be open, and how many of one token.
pub(crate) const STREAMS_MAX: usize = 64;
pub(crate) const STREAMS_OF_TOKEN_MAX: usize = 2;
/// How many events are kept for streams that are resumed.
const KEPT_MAX: usize = 2_000;

named! {
    /// What happened to a job or a collection.
    #[derive(Hash)]
    pub enum Happened {
        /// An attempt of the job began.
        Started = "started",
        /// An attempt of the job ended.
        Ended = "ended",
        /// An attempt of the job has to wait.
        Waiting = "waiting",
        /// A user, or the scheduler, changed it.
        Changed = "changed",
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveEvent {
    /// What.
    pub what: Happened,
    /// In which collection.
    pub collection: LiveCollection,
    /// The name of the job in lower case; `None` if it is about the collection, or any of its jobs.
    pub job: Option<String>,
}

/// The collection of an event, by what its sender knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveCollection {
    /// By its id.
    Uid(String),
    /// By its path.
    Path(CollectionPlace),
}

/// The last events, and the streams that are open.
#[derive(Debug)]
pub struct Live {
    /// Tells the numbers of this process from those of another.
    epoch: String,
    told: Mutex<Told>,
    streams: Mutex<HashMap<Option<String>, usize>>,
}

#[derive(Debug, Default)]
struct Told {
    /// The number of the first event that is kept.
    first: u64,
    events: VecDeque<LiveEvent>,
    is_closed: bool,
}

/// What a stream has not sent yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unsent {
    pub(crate) events: Vec<LiveEvent>,
    /// The number of the next event.
    pub(crate) next: u64,
    /// Whether some are no longer kept.
    pub(crate) has_missed: bool,
    pub(crate) is_closed: bool,
}

impl Live {
    /// Nothing has happened yet. The id tells this process from others, and from itself before a restart.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { epoch: id.to_owned(), told: Mutex::default(), streams: Mutex::default() }
    }

    /// Tells what happened.
    pub fn tell(&self, event: LiveEvent) {
        let mut told = lock(&self.told);
        told.events.push_back(event);
        if told.events.len() > KEPT_MAX {
            told.events.pop_front();
            told.first += 1;
        }
    }

    /// Ends all streams, after they have sent what was told.
    pub fn close(&self) {
        lock(&self.told).is_closed = true;
    }

    /// How many streams are open.
    #[must_use]
    pub fn listeners(&self) -> usize {
        lock(&self.streams).values().sum()
    }

    /// A place for a stream of a token, or of a caller without one; the reason if there is none.
    pub(crate) fn admit(self: &Arc<Self>, token: Option<&str>) -> Result<StreamPlace, String> {
        let token = token.map(str::to_owned);
        let mut streams = lock(&self.streams);
        if streams.values().sum::<usize>() >= STREAMS_MAX {
            return Err(format!("All {STREAMS_MAX} streams of this server are taken"));
        }
        let of_token = streams.entry(token.clone()).or_default();
        if token.is_some() && *of_token >= STREAMS_OF_TOKEN_MAX {
            return Err(format!("This token has {STREAMS_OF_TOKEN_MAX} streams already"));
        }
        *of_token += 1;
        drop(streams);
        Ok(StreamPlace { live: self.clone(), token })
    }

    /// The number of the next event.
    pub(crate) fn next(&self) -> u64 {
        let told = lock(&self.told);
        told.first + told.events.len() as u64
    }

    /// The id of what has been sent until an event.
    pub(crate) fn id(&self, next: u64) -> String {
        format!("{}-{next}", self.epoch)
    }

    /// The number in an id of this process.
    pub(crate) fn read_id(&self, id: &str) -> Option<u64> {
        id.strip_prefix(self.epoch.as_str())?.strip_prefix('-')?.parse().ok()
    }

    /// What was told from an event on.
    pub(crate) fn since(&self, from: u64) -> Unsent {
        let told = lock(&self.told);
        let next = told.first + told.events.len() as u64;
        let skipped = usize::try_from(from.saturating_sub(told.first)).unwrap_or(usize::MAX);
        Unsent {
            events: told.events.iter().skip(skipped).cloned().collect(),
            next,
            has_missed: from < told.first || from > next,
            is_closed: told.is_closed,
        }
    }
}

/// The place of a stream, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    live: Arc<Live>,
    token: Option<String>,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut streams = lock(&self.live.streams);
        if let Some(count) = streams.get_mut(&self.token) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                streams.remove(&self.token);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(job: &str) -> LiveEvent {
        let collection = LiveCollection::Uid("c".to_owned());
        LiveEvent { what: Happened::Ended, collection, job: Some(job.to_owned()) }
    }

    #[test]
    fn a_stream_gets_what_it_has_not_sent_and_learns_what_it_missed() {
        let live = Live::new("e");
        for job in ["a", "b"] {
            live.tell(event(job));
        }
        let unsent = |events: &[&str], next, has_missed, is_closed| Unsent {
            events: events.iter().map(|job| event(job)).collect(),
            next,
            has_missed,
            is_closed,
        };
        assert_eq!(live.since(0), unsent(&["a", "b"], 2, false, false));
        assert_eq!(live.since(1), unsent(&["b"], 2, false, false));
        assert_eq!((live.next(), live.since(2)), (2, unsent(&[], 2, false, false)));
        // Of a process before this one.
        assert_eq!(live.since(9), unsent(&[], 2, true, false));
        assert_eq!((live.id(7), live.read_id("e-7")), ("e-7".to_owned(), Some(7)));
        for id in ["", "e", "e-", "e-x", "f-7", "7"] {
            assert_eq!(live.read_id(id), None, "{id}");
        }
        for n in 0..KEPT_MAX {
            live.tell(event(&n.to_string()));
        }
        let all = live.since(1);
        assert_eq!((all.events.len(), all.has_missed), (KEPT_MAX, true));
        assert!(!live.since(2).has_missed);
        live.close();
        assert!(live.since(2).is_closed);
    }

    #[test]
    fn streams_are_few_and_give_their_places_back() {
        let live = Arc::new(Live::new("e"));
        let two = [live.admit(Some("t")).unwrap(), live.admit(Some("t")).unwrap()];
        assert_eq!(live.admit(Some("t")).unwrap_err(), "This token has 2 streams already");
        let others: Vec<_> = (2..STREAMS_MAX).map(|_| live.admit(None).unwrap()).collect();
        assert_eq!(live.listeners(), STREAMS_MAX);
        let refused = live.admit(Some("other")).unwrap_err();
        assert_eq!(refused, "All 64 streams of this server are taken");
        drop(two);
        assert_eq!(live.listeners(), STREAMS_MAX - 2);
        live.admit(Some("t")).map(drop).unwrap();
        drop(others);
        assert_eq!(live.listeners(), 0);
    }
}
