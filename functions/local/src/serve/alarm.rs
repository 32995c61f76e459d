//! Wakes attempts at their instants, the collections in turn.
//!
//! Thousands of attempts may wait for one instant. If all of them woke at once, an attempt of another
//! collection would start only after every one of them was looked at, which takes half a second. So one
//! task waits for an instant and wakes a few attempts at a time.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use minutehand_ports::Clock;
use tokio::sync::oneshot;
use tokio::task::yield_now;

use crate::lock;

/// Attempts that are woken before others of this process have their turn: about as many as may start at
/// once. Between fewer, all that runs has its turn so often that a burst starts no faster than it ends.
const WOKEN_TOGETHER: usize = 256;

/// Wakes what waits for an instant.
pub(super) struct Alarm {
    clock: Arc<dyn Clock>,
    instants: Mutex<BTreeMap<DateTime<Utc>, Sleepers>>,
}

/// What waits for one instant.
#[derive(Default)]
struct Sleepers {
    by_collection: HashMap<Arc<str>, VecDeque<oneshot::Sender<()>>>,
    /// The collections that have some, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

impl Alarm {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, instants: Mutex::default() })
    }

    /// Waits for an instant, for an attempt of a collection.
    pub(super) async fn wait_until(self: Arc<Self>, collection: Arc<str>, at: DateTime<Utc>) {
        // Once, unless the clock is set back while attempts are woken.
        while self.clock.now() < at {
            let woken = Arc::clone(&self).enlist(Arc::clone(&collection), at);
            // It is always woken: the task that does so ends after the last one.
            let _ = woken.await;
        }
    }

    fn enlist(self: Arc<Self>, collection: Arc<str>, at: DateTime<Utc>) -> oneshot::Receiver<()> {
        let (sender, woken) = oneshot::channel();
        let mut instants = lock(&self.instants);
        let is_first = !instants.contains_key(&at);
        instants.entry(at).or_default().add(collection, sender);
        drop(instants);
        if is_first {
            tokio::spawn(self.ring(at));
        }
        woken
    }

    /// Waits for an instant, and wakes all that wait for it.
    async fn ring(self: Arc<Self>, at: DateTime<Utc>) {
        loop {
            self.clock.wait_until(at).await;
            let few = {
                let mut instants = lock(&self.instants);
                let few = instants.get_mut(&at).map(Sleepers::next_few).unwrap_or_default();
                if few.is_empty() {
                    instants.remove(&at);
                    return;
                }
                few
            };
            for sleeper in few {
                // One that has gone needs no waking.
                let _ = sleeper.send(());
            }
            yield_now().await;
        }
    }
}

impl Sleepers {
    fn add(&mut self, collection: Arc<str>, sleeper: oneshot::Sender<()>) {
        let of_collection = self.by_collection.entry(collection.clone()).or_default();
        if of_collection.is_empty() {
            self.turns.push_back(collection);
        }
        of_collection.push_back(sleeper);
    }

    /// The next few, one of each collection in turn.
    fn next_few(&mut self) -> Vec<oneshot::Sender<()>> {
        let mut few = Vec::new();
        while few.len() < WOKEN_TOGETHER
            && let Some(collection) = self.turns.pop_front()
        {
            let Some(of_collection) = self.by_collection.get_mut(&collection) else { continue };
            few.extend(of_collection.pop_front());
            if !of_collection.is_empty() {
                self.turns.push_back(collection);
            }
        }
        few
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use minutehand_testkit::ManualClock;
    use tokio::sync::mpsc;

    use super::*;

    /// The collections of attempts that wait for an instant, in the order in which they wake.
    async fn woken(collections: &[&str]) -> Vec<String> {
        let clock = Arc::new(ManualClock::at(DateTime::UNIX_EPOCH));
        let alarm = Alarm::new(clock.clone());
        let at = clock.now() + TimeDelta::seconds(1);
        let (sender, mut awake) = mpsc::unbounded_channel();
        for collection in collections {
            let (alarm, sender, collection) =
                (alarm.clone(), sender.clone(), (*collection).to_owned());
            tokio::spawn(async move {
                alarm.wait_until(collection.as_str().into(), at).await;
                sender.send(collection).unwrap();
            });
        }
        drop(sender);
        while lock(&alarm.instants)
            .get(&at)
            .map_or(0, |it| it.by_collection.values().map(VecDeque::len).sum())
            < collections.len()
        {
            yield_now().await;
        }
        assert!(awake.is_empty());
        clock.advance(TimeDelta::seconds(1));
        let mut order = Vec::new();
        while let Some(collection) = awake.recv().await {
            order.push(collection);
        }
        // The task that woke them ends.
        while !lock(&alarm.instants).is_empty() {
            yield_now().await;
        }
        order
    }

    #[tokio::test]
    async fn the_collections_wake_in_turns() {
        let mut collections = vec!["burst"; 1_000];
        collections.push("other");
        let order = woken(&collections).await;
        assert_eq!(order.len(), 1_001);
        let turn = order.iter().position(|collection| collection == "other").unwrap();
        assert!(turn < WOKEN_TOGETHER, "{turn}");
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_while_attempts_wake_makes_the_others_wait_again() {
        let clock = Arc::new(ManualClock::at(DateTime::UNIX_EPOCH));
        let alarm = Alarm::new(clock.clone());
        let second = TimeDelta::seconds(1);
        let at = clock.now() + second;
        let (sender, mut awake) = mpsc::unbounded_channel();
        for _ in 0..3 {
            let (alarm, clock, sender) = (alarm.clone(), clock.clone(), sender.clone());
            tokio::spawn(async move {
                alarm.wait_until("c".into(), at).await;
                sender.send(clock.now()).unwrap();
                clock.advance(-second);
            });
            yield_now().await;
        }
        for _ in 0..3 {
            clock.advance(second);
            assert_eq!(awake.recv().await, Some(at));
        }
    }

    #[tokio::test]
    async fn an_instant_that_has_passed_is_not_waited_for() {
        let clock = Arc::new(ManualClock::at(DateTime::UNIX_EPOCH));
        let alarm = Alarm::new(clock.clone());
        alarm.clone().wait_until("c".into(), clock.now()).await;
        assert!(lock(&alarm.instants).is_empty());
    }
}
