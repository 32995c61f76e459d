//! Claims, and records, that wait at the same time.

use chrono::TimeDelta;
use futures_util::future::join_all;
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Then};
use minutehand_domain::cause::Cause;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Attempts as _;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, Recorded};
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::postgres::PgDatabase;
use minutehand_store_sql::script::{ScriptOutcome, Value};
use minutehand_testkit::conformance::records;
use minutehand_testkit::postgres::PostgresPlaces;

use crate::world::{connect, on, script};

const JOBS: u32 = 100;

fn request(job: u32, claim: u32) -> ClaimRequest {
    let now = records::now();
    let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at: now });
    let collection_uid = format!("{:032x}", 7);
    let job = JobRef { uid: format!("{job:032x}"), collection_uid, key: "j".to_owned() };
    let claim_id = format!("{claim:032x}");
    let claim = Claim { job, attempt, claim_id, lease_until: now + TimeDelta::seconds(100) };
    ClaimRequest { claim, now }
}

/// How many transactions wrote the rows as they are.
async fn transactions(database: &PgDatabase) -> usize {
    let read = script(vec![on("SELECT DISTINCT xmin::text FROM attempts", &[])]);
    match database.read(read).await.unwrap() {
        ScriptOutcome::Done(rows) => rows[0].len(),
        unmet @ ScriptOutcome::Unmet { .. } => panic!("{unmet:?}"),
    }
}

#[tokio::test]
async fn claims_and_records_that_wait_together_are_groups_and_each_is_answered_by_itself() {
    let Some(places) = PostgresPlaces::find() else { return };
    let place = places.place();
    let databases = [connect(&place).await, connect(&place).await];
    let stores = databases.clone().map(SqlStore::new);
    // Each process claims each attempt twice, one of them in the opposite order.
    let mut requests = Vec::new();
    for n in 0..2 * JOBS {
        requests.push((0, request(n % JOBS, 2 * n)));
        requests.push((1, request((2 * JOBS - 1 - n) % JOBS, 2 * n + 1)));
    }
    let claim = async |(process, request): &(usize, ClaimRequest)| {
        stores[*process].claim(request).await.unwrap()
    };
    let claimed = join_all(requests.iter().map(claim)).await;
    let won = claimed.iter().filter(|it| **it == Claimed::Won).count();
    let held = claimed.iter().filter(|it| matches!(it, Claimed::Held { .. })).count();
    assert_eq!((won, held), (100, 300));
    let count = transactions(&databases[0]).await;
    assert!(count < 100, "{count} transactions for 100 claims");

    let record = Record {
        started_at: records::now(),
        ended_at: records::now(),
        outcome: Outcome::Failed,
        cause: Some(Cause::http(500)),
        message: "done\0".to_owned(),
        repeat_count: 1,
        body_bytes: 0,
        then: Some(Then::Nothing),
    };
    let write = async |(process, request): &(usize, ClaimRequest)| {
        stores[*process].record(&request.claim, &record).await.unwrap()
    };
    let recorded = join_all(requests.iter().map(write)).await;
    for (claimed, recorded) in claimed.iter().zip(&recorded) {
        let is_kept = *recorded == Recorded::Kept;
        assert_eq!(is_kept, *claimed == Claimed::Won, "{claimed:?}: {recorded:?}");
    }
    let count = transactions(&databases[0]).await;
    assert!(count < 100, "{count} transactions for 100 records");
    let again = stores[1].claim(&request(5, 9_999)).await.unwrap();
    assert_eq!(again, Claimed::Ended(record));
}

#[tokio::test]
async fn after_an_error_each_script_of_a_group_is_performed_alone() {
    let Some(places) = PostgresPlaces::find() else { return };
    let database = connect(&places.place()).await;
    let store = SqlStore::new(database.clone());
    // One attempt is refused, and a group with it.
    let refuse = "ALTER TABLE attempts ADD CHECK (number <> 77)";
    database.perform(script(vec![on(refuse, &[])])).await.unwrap();
    let requests = (0..JOBS).map(|n| {
        let mut request = request(n, n);
        request.claim.attempt.number = if n == 50 { 77 } else { 1 };
        request
    });
    let requests: Vec<ClaimRequest> = requests.collect();
    let claimed = join_all(requests.iter().map(|request| store.claim(request))).await;
    for (n, claimed) in claimed.into_iter().enumerate() {
        assert_eq!(claimed.is_err(), n == 50, "{n}: {claimed:?}");
    }
    let count = script(vec![on("SELECT count(*) FROM attempts", &[])]);
    let ScriptOutcome::Done(rows) = database.read(count).await.unwrap() else { panic!("a read") };
    assert_eq!(rows[0][0][0], Value::Integer(99));
}
