//! Processes that die, are taken for dead, or end in good order, and what they held.

use std::sync::Arc;

use chrono::TimeDelta;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Then};
use minutehand_domain::firing::{TurnHolder, TurnOrder};
use minutehand_domain::limits::Concurrent;
use minutehand_domain::work_item::{JobRef, WorkItem};
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, Recorded, StoreError, TurnsWrite};
use minutehand_ports::{
    Attempts as _, Clock as _, Deliveries as _, DispatchQueue as _, QueueMessage, ReceiptHandle,
    Seats as _, TakenMessage, Turns as _,
};
use minutehand_store_sql::postgres::{PgAddress, PgClock, PgDatabase, PgOptions, ProcessName};
use minutehand_store_sql::script::{ScriptOutcome, Value};
use minutehand_store_sql::{SqlQueue, SqlStore};
use minutehand_testkit::postgres::{PgBouncer, PostgresPlaces, PostgresServer};

use crate::world::{connect, on, script};

const COLLECTION: &str = "c0000000000000000000000000000000";

/// A process with a store and a queue, on the clock of the database.
pub(crate) struct Process {
    database: PgDatabase,
    clock: PgClock,
    pub(crate) store: SqlStore,
    pub(crate) queue: SqlQueue,
}

impl Process {
    async fn on(database: PgDatabase) -> Self {
        let clock = PgClock::new(database.clone());
        let queue = SqlQueue::open(database.clone(), Arc::new(clock.clone())).await.unwrap();
        Self { store: SqlStore::new(database.clone()), database, clock, queue }
    }

    pub(crate) async fn connect(place: &str) -> Self {
        Self::on(connect(place).await).await
    }

    pub(crate) fn request(&self, job: u32, claim: u32) -> ClaimRequest {
        let now = self.clock.work_now();
        let nominal_at = now - TimeDelta::seconds(1);
        let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
        let uid = format!("{job:032x}");
        let job = JobRef { uid, collection_uid: COLLECTION.to_owned(), key: "j".to_owned() };
        let lease_until = now + TimeDelta::seconds(100);
        let claim = Claim { job, attempt, claim_id: format!("{claim:032x}"), lease_until };
        ClaimRequest { claim, now }
    }

    /// The same attempt, as another process asks for it.
    pub(crate) fn request_again(&self, claim: &Claim, claim_id: u32) -> ClaimRequest {
        let now = self.clock.work_now();
        let lease_until = now + TimeDelta::seconds(100);
        let claim_id = format!("{claim_id:032x}");
        ClaimRequest { claim: Claim { claim_id, lease_until, ..claim.clone() }, now }
    }

    pub(crate) async fn claims(&self, request: &ClaimRequest) -> Claimed {
        self.store.claim(request).await.unwrap()
    }

    async fn takes_seat(&self, claim: &Claim) -> bool {
        let limit = Concurrent::new(1).unwrap();
        self.store.take_seat(claim, limit, self.clock.work_now()).await.unwrap()
    }

    async fn takes_turn(&self, claim: &Claim, as_read: u64) -> bool {
        let Claim { job, attempt, claim_id, lease_until } = claim.clone();
        let holder = Some(TurnHolder { attempt, claim_id, lease_until });
        let order = TurnOrder { holder, waiting: Vec::new() };
        let write = TurnsWrite { job_uid: job.uid, as_read, order, left_out: None };
        self.store.write_turns(&write).await.unwrap()
    }

    pub(crate) async fn send(&self, name: &str) {
        let work_item = WorkItem::PurgeCollection { collection_uid: name.to_owned() };
        let now = self.clock.now();
        self.queue.send(&[QueueMessage { work_item, due_at: now }], now).await.unwrap();
    }

    pub(crate) async fn receives(&self) -> TakenMessage {
        self.queue.receive(1).await.unwrap().remove(0)
    }

    /// How often an attempt was claimed.
    pub(crate) async fn count_of_claims(&self, job: u32) -> i64 {
        let read = on(
            "SELECT claims FROM attempts WHERE encode(job_uid, 'hex') = ?1",
            &[&format!("{job:032x}")],
        );
        let ScriptOutcome::Done(rows) = self.database.read(script(vec![read])).await.unwrap()
        else {
            panic!("a read needs nothing");
        };
        match rows[0][0][0] {
            Value::Integer(count) => count,
            ref other => panic!("{other:?}"),
        }
    }

    /// The other processes take this number for dead.
    async fn ends_another(&self, process: i64) {
        let process = process.to_string();
        let ends = [
            "DELETE FROM signs WHERE process::text = ?1",
            "DELETE FROM processes WHERE id::text = ?1",
            "UPDATE attempts SET lease_until = 0, process = 0 WHERE process::text = ?1",
        ];
        let ends = ends.map(|sql| on(sql, &[&process])).to_vec();
        self.database.perform(script(ends)).await.unwrap();
    }
}

/// What a process has of everything that can be held.
struct Holding {
    claim: Claim,
    receipt: ReceiptHandle,
}

async fn holds_everything(process: &Process) -> Holding {
    let request = process.request(1, 1);
    assert_eq!(process.claims(&request).await, Claimed::Won);
    let claim = request.claim;
    assert!(process.takes_seat(&claim).await && process.takes_turn(&claim, 0).await);
    process.send("message").await;
    let taken = process.receives().await;
    assert_eq!(taken.receive_count, 1);
    Holding { claim, receipt: taken.receipt }
}

/// Whether everything is free for this process, and how often the message was delivered with it.
async fn takes_everything(process: &Process, Holding { claim, receipt }: &Holding) -> u32 {
    let taken = process.receives().await;
    assert_eq!(taken.receipt.id, receipt.id);
    let request = process.request_again(claim, 2);
    assert_eq!(process.claims(&request).await, Claimed::Won);
    assert!(process.takes_seat(&request.claim).await);
    let read = process.store.read_turns(&claim.job.uid, &claim.attempt).await.unwrap();
    assert_eq!(read.order.holder, None);
    assert!(process.takes_turn(&request.claim, read.number).await);
    taken.receive_count
}

#[tokio::test]
async fn a_process_that_gives_no_signs_is_ended_by_another_and_its_work_goes_on_at_once() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let (here, there) = (Process::connect(&place).await, Process::connect(&place).await);
    let held = holds_everything(&there).await;
    let request = here.request_again(&held.claim, 3);
    assert!(matches!(here.claims(&request).await, Claimed::Held { .. }));
    assert!(!here.takes_seat(&request.claim).await);
    // An attempt that waits for a ping belongs to no process.
    let pinged = there.request(2, 4);
    assert_eq!(there.claims(&pinged).await, Claimed::Won);
    let detach = "UPDATE attempts SET process = 0 WHERE encode(job_uid, 'hex') = ?1";
    let detach = on(detach, &[&pinged.claim.job.uid]);
    there.database.perform(script(vec![detach])).await.unwrap();
    let dead = there.database.process();
    drop(there);
    assert_eq!(takes_everything(&here, &held).await, 2, "it counts as a delivery");
    assert_eq!(here.count_of_claims(1).await, 2, "and among the claims that led to nothing");
    here.queue.finish(&[held.receipt]).await.unwrap();
    assert_eq!(here.queue.standing().await.unwrap().hidden, 1, "the old receipt is void");
    let processes = here.database.processes().await.unwrap();
    let ids: Vec<i64> = processes.iter().map(|it| it.id).collect();
    assert_eq!(ids, [here.database.process()], "{dead} is gone");
    assert_eq!(processes[0].attempts, 1);
    let again = here.request_again(&pinged.claim, 5);
    assert!(matches!(here.claims(&again).await, Claimed::Held { .. }), "it stays");
}

#[tokio::test]
async fn a_process_that_ends_in_good_order_gives_everything_back_and_it_counts_as_nothing() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let (here, there) = (Process::connect(&place).await, Process::connect(&place).await);
    let held = holds_everything(&there).await;
    there.database.end().await.unwrap();
    assert_eq!(takes_everything(&here, &held).await, 1);
    assert_eq!(here.count_of_claims(1).await, 1);
    assert_eq!(here.database.processes().await.unwrap().len(), 1);
    assert!(there.store.claim(&here.request(9, 9)).await.is_err(), "it is closed");
}

#[tokio::test]
async fn a_process_that_was_taken_for_dead_goes_on_under_a_new_number_and_starts_nothing_of_before()
{
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let (here, there) = (Process::connect(&place).await, Process::connect(&place).await);
    let old = there.request(1, 1);
    assert_eq!(there.claims(&old).await, Claimed::Won);
    there.store.may_act(&old.claim).await.unwrap();
    let before = there.database.process();
    here.ends_another(before).await;
    assert!(there.store.claim(&there.request(2, 2)).await.is_err(), "it takes nothing");
    // Its next sign, within a second, finds that the row is gone. Bounded by the time of the test.
    while there.database.process() == before {
        there.database.processes().await.unwrap();
    }
    assert!(there.database.process() > before);
    let refused = there.store.may_act(&old.claim).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    let now = there.clock.now();
    let record = Record {
        started_at: now,
        ended_at: now,
        outcome: Outcome::Succeeded,
        message: "done".to_owned(),
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: Some(Then::Nothing),
    };
    assert_eq!(there.store.record(&old.claim, &record).await.unwrap(), Recorded::Lost);
    let new = there.request(3, 3);
    assert_eq!(there.claims(&new).await, Claimed::Won);
    there.store.may_act(&new.claim).await.unwrap();
    assert_eq!(there.store.record(&new.claim, &record).await.unwrap(), Recorded::Kept);
}

#[tokio::test]
async fn processes_are_listed_with_their_names_also_behind_a_pooler() {
    let Some(server) = PostgresServer::start() else { return };
    let Some(pooler) = PgBouncer::start(&server) else { return };
    let process = ProcessName { name: "one".to_owned(), version: "1.2".to_owned() };
    let options = PgOptions { process: process.clone(), ..PgOptions::default() };
    let address = PgAddress::read(&pooler.address("tests")).unwrap();
    let database = PgDatabase::connect(address, options).await.unwrap();
    let here = Process::on(database).await;
    assert_eq!(here.claims(&here.request(1, 1)).await, Claimed::Won);
    let listed = here.database.processes().await.unwrap();
    let [it] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((it.id, &it.name, it.attempts), (here.database.process(), &process, 1));
    assert!(it.since <= it.seen_at && it.seen_at <= here.clock.now() + TimeDelta::seconds(1));
}

#[tokio::test]
async fn one_process_sweeps_and_when_it_dies_or_ends_another_one_does() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let (here, there) = (connect(&place).await, connect(&place).await);
    let mut first = here.sweeping();
    first.until_mine().await;
    let mut second = there.sweeping();
    // The first one renews, and the second one does not get it. Bounded by the time of the test.
    let read = || script(vec![on("SELECT value FROM meta WHERE name = 'swept_until'", &[])]);
    let (mut last, mut renewals) = (here.read(read()).await.unwrap(), 0);
    while renewals < 4 {
        let seen = here.read(read()).await.unwrap();
        renewals += u32::from(seen != last);
        last = seen;
        assert!(first.is_mine() && !second.is_mine());
    }
    first.end().await.unwrap();
    second.until_mine().await;
    let mut third = here.sweeping();
    drop(second);
    third.until_mine().await;
    assert!(third.is_mine(), "the lease of the dead one has ended");
}
