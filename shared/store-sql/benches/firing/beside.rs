//! How long claims wait in a burst while something reads or removes much: nothing, a list of all jobs, an export,
//! a backup, and the removal of a day of history. Each goes on for as long as the burst does, again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::StreamExt as _;
use minutehand_carry::carried;
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::store::CollectionRecord;
use minutehand_store_sql::sqlite::back_up;
use minutehand_store_sql::{SqlQueue, SqlStore};
use minutehand_testkit::ManualClock;
use minutehand_testkit::conformance::records;

use super::{JOBS, dispatch_all, fire_all, list_all};

/// Attempts at the same time: few, so that a claim hardly waits for others.
const IN_FLIGHT: usize = 16;

/// What goes on beside a burst.
#[derive(Debug, Clone, Copy)]
enum Beside {
    Nothing,
    List,
    Export,
    Backup,
    Removal,
}

/// The store of a directory, its queue, and the clock of both.
pub(super) struct Bench<'a> {
    pub(super) dir: &'a Path,
    pub(super) store: &'a SqlStore,
    pub(super) queue: &'a SqlQueue,
    pub(super) clock: &'a ManualClock,
    pub(super) collection: &'a Arc<CollectionRecord>,
}

impl Bench<'_> {
    /// Fires all jobs once beside each, from an instant on.
    pub(super) async fn measure(&self, mut due_at: DateTime<Utc>) {
        use Beside::{Backup, Export, List, Nothing, Removal};
        println!("claims beside     times    median       p99       max  longest gap, in ms");
        for beside in [Nothing, List, Export, Backup, Removal, Nothing] {
            self.clock.advance(TimeDelta::hours(1));
            dispatch_all(self.store, due_at).await;
            let (is_over, times) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
            let going_on = tokio::spawn(self.go_on(beside, is_over.clone(), times.clone()));
            let waits = fire_all(self.store, self.queue, IN_FLIGHT).await;
            is_over.store(true, Relaxed);
            going_on.await.expect("it ends");
            print(beside, times.load(Relaxed), waits);
            due_at += TimeDelta::hours(1);
        }
    }

    fn go_on(
        &self,
        beside: Beside,
        is_over: Arc<AtomicBool>,
        times: Arc<AtomicU32>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (store, collection) = (self.store.clone(), self.collection.clone());
        let dir = self.dir.to_owned();
        async move {
            while !is_over.load(Relaxed) {
                match beside {
                    Beside::Nothing => return,
                    Beside::List => assert_eq!(list_all(&store, &collection).await, JOBS),
                    Beside::Export => {
                        // The collection is carried, too.
                        let found = carried(&store, records::now()).count().await;
                        assert!(found > usize::try_from(JOBS).expect("few"));
                    }
                    Beside::Backup => {
                        let from = dir.clone();
                        let backup = tokio::task::spawn_blocking(move || {
                            let target = tempfile::tempdir_in(&from).expect("a directory");
                            back_up(&from, target.path(), true).expect("a backup");
                        });
                        backup.await.expect("it ends");
                    }
                    Beside::Removal => {
                        // The history of the firings before the burst. What is left then is soon found.
                        let after = HistoryDays::default().kept_until(records::now());
                        let until = after + TimeDelta::hours(3);
                        let removed = store.remove_expired(until, records::now(), None).await;
                        if removed.expect("an answer") == 0 {
                            return;
                        }
                    }
                }
                times.fetch_add(1, Relaxed);
            }
        }
    }
}

/// When a claim was asked for, and when it was answered.
pub(super) type Wait = (Instant, Instant);

fn print(beside: Beside, times: u32, mut waits: Vec<Wait>) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    waits.sort_unstable_by_key(|(_, answered)| *answered);
    let gaps = waits.windows(2).map(|pair| match pair {
        [(_, before), (_, after)] => *after - *before,
        _ => Duration::ZERO,
    });
    let gap = ms(gaps.max().unwrap_or_default());
    let mut waits: Vec<Duration> =
        waits.iter().map(|(asked, answered)| *answered - *asked).collect();
    waits.sort_unstable();
    let at = |of_a_thousand| {
        let place = waits.len().saturating_sub(1) * of_a_thousand / 1_000;
        ms(waits.get(place).copied().unwrap_or_default())
    };
    println!(
        "{:>13} {times:>9} {:>9.2} {:>9.2} {:>9.2} {gap:>12.2}",
        format!("{beside:?}").to_lowercase(),
        at(500),
        at(990),
        at(1_000),
    );
}
