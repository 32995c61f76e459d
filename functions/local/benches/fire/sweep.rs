//! A sweep with few and with many jobs, none of them due.
//!
//! The jobs are written past the services: only what the store keeps of them counts.

use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::{StreamExt as _, iter};
use minutehand_app::fire::{Dispatcher, Heartbeat, Sweeper};
use minutehand_domain::collection::Collection;
use minutehand_domain::document::accept_collection;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::timing::Timing;
use minutehand_ports::store::{
    CollectionRecord, JobRecord, PulseOf, ResourceGroup, SaveJob, Saved, TimerRecord,
};
use minutehand_ports::{Collections, Jobs};
use minutehand_runtime::SystemClock;
use minutehand_store_sql::sqlite::{Database, Durability};
use minutehand_store_sql::{SqlQueue, SqlStore};

use crate::disk::new_dir;
use crate::figures::Figures;

/// Passes, of which the best counts: the machine has other work.
const PASSES: u32 = 20;
/// Jobs that are created at the same time.
const IN_FLIGHT: usize = 256;

pub(crate) async fn measure(figures: &mut Figures, many: u64) {
    for stored in [1_000, many] {
        let dir = new_dir();
        let opened = Database::open(dir.path(), Durability::Normal);
        let (database, threads) = opened.expect("a database");
        let jobs = Arc::new(SqlStore::new(database.clone()));
        let start = Instant::now();
        fill(&jobs, stored).await;
        eprintln!("{stored} jobs stored in {:.1?}", start.elapsed());
        let (events, clock) = (Arc::new(()), Arc::new(SystemClock));
        let queue = SqlQueue::open(database.clone(), clock.clone()).await.expect("a queue");
        let dispatcher =
            Dispatcher::new(jobs.clone(), jobs.clone(), Arc::new(queue), events, clock.clone())
                .with_step(jobs.clone());
        let heartbeat = Arc::new(Heartbeat::new(jobs.clone(), clock.clone(), PulseOf::Sweepers));
        let (mut pass, mut next) = (f64::MAX, f64::MAX);
        for n in 0..PASSES {
            // One that has read the index remembers what is due next.
            let (dispatcher, heartbeat) = (dispatcher.clone(), heartbeat.clone());
            let sweeper = Sweeper::new(jobs.clone(), dispatcher, heartbeat, clock.clone());
            let start = Instant::now();
            let found = sweeper.pass(n, pending()).await;
            pass = pass.min(start.elapsed().as_secs_f64() * 1e3);
            assert!(found.failed == 0 && found.dispatched.timers == 0, "{found:?}");
            let start = Instant::now();
            assert!(sweeper.next_due_at().await.expect("an answer").is_some(), "it is empty");
            next = next.min(start.elapsed().as_secs_f64() * 1e3);
        }
        let figure = format!("{pass:.1} ms; the next timer {next:.1} ms");
        let bar = if stored == 1_000 { "" } else { "as with 1000" };
        figures.add(&format!("a sweep, none of {stored} jobs due"), figure, bar, "");
        database.close();
        threads.ended().await;
    }
}

/// Stores jobs that are due in years.
async fn fill(store: &SqlStore, jobs: u64) {
    let (collection, now) = (&collection(), minutehand_runtime::system_now());
    let _ = Collections::create(store, collection, None).await.expect("a collection");
    let asked = (0..jobs).map(|n| async move {
        let job = &job(n);
        let save = SaveJob { collection, job, timer_changes: true, entry: None };
        Jobs::create(store, save, None, now).await
    });
    let mut created = iter(asked).buffer_unordered(IN_FLIGHT);
    while let Some(created) = created.next().await {
        assert_eq!(created.expect("an answer"), Saved::Kept);
    }
}

fn collection() -> CollectionRecord {
    let segment = |text| PathSegment::new(text).expect("a segment");
    let document = serde_json::json!({"properties": {"sku": {"name": "Standard"}}});
    CollectionRecord {
        place: ResourceGroup { subscription: segment("s"), group: segment("g") },
        collection: Collection {
            uid: "0123456789abcdef0123456789abcdef".to_owned(),
            name: Name::new("jc").expect("a name"),
            definition: accept_collection(&document).expect("a collection"),
        },
        job_count: 0,
        on_since: minutehand_runtime::system_now(),
        sealed: None,
        state_since: None,
        label: None,
        version: 1,
    }
}

fn job(n: u64) -> JobRecord {
    let now = minutehand_runtime::system_now();
    let due_at: DateTime<Utc> = now + TimeDelta::days(3_650);
    let timing = Timing { generation: 1, anchor: Some(now), since: now, used: 0 };
    let anchor = minutehand_recurrence::format_instant(due_at);
    let timetable = format!("1 every=1day anchor={anchor} since={}", due_at.timestamp());
    JobRecord {
        uid: format!(
            "{:032x}",
            u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        ),
        name: Name::new(&format!("job-{n}")).expect("a name"),
        document:
            r#"{"action":{"type":"Http","request":{"uri":"http://example.org/","method":"GET"}}}"#
                .to_owned(),
        sealed: None,
        version: 1,
        expires_at: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Enabled,
            timing,
            timetable: Some(timetable),
            counters: JobCounters::default(),
            due_at: Some(due_at),
            is_spent: false,
        },
    }
}
