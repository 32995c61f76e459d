//! Measures claims and records on a PostgreSQL that waits for its disk: one after the other, and many at the same
//! time, with statements that have names and without. Prints one table.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::expect_used, reason = "a bench stops at an unexpected result")]

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record, Then};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::Attempts as _;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, Recorded};
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgOptions};
use minutehand_testkit::conformance::records;
use minutehand_testkit::postgres::PostgresServer;
use tokio::task::JoinSet;

/// Attempts of a measurement, for each that is under way.
const ATTEMPTS: u32 = 200;
/// How many are under way at the same time.
const IN_FLIGHT: [u32; 3] = [1, 8, 64];
/// Each is measured so often.
const TIMES: u32 = 2;

#[tokio::main]
async fn main() {
    let settings =
        |_: &std::path::Path| vec!["fsync=on".to_owned(), "full_page_writes=on".to_owned()];
    let Some(server) = PostgresServer::start_with(settings) else { return };
    println!("statements  in flight   claims/s  records/s");
    let mut job = 0;
    for has_named_statements in [false, true].repeat(usize::try_from(TIMES).expect("few")) {
        let address = PgAddress::read(&server.address("127.0.0.1")).expect("an address");
        let options = PgOptions { has_named_statements, ..PgOptions::default() };
        let database = PgDatabase::connect(address, options).await.expect("a database");
        let store = SqlStore::new(database);
        let name = if has_named_statements { "named" } else { "unnamed" };
        for in_flight in IN_FLIGHT {
            let claims: Vec<Claim> = (job..job + in_flight * ATTEMPTS).map(claim).collect();
            job += in_flight * ATTEMPTS;
            let claimed = each(&store, in_flight, &claims, claim_one).await;
            let recorded = each(&store, in_flight, &claims, record_one).await;
            println!("{name:>10}  {in_flight:>9} {claimed:>10.0} {recorded:>10.0}");
        }
    }
}

/// Does something with each claim, so many at the same time. Returns how many a second.
async fn each<F: Future<Output = ()> + Send + 'static>(
    store: &SqlStore,
    in_flight: u32,
    claims: &[Claim],
    work: fn(SqlStore, Claim) -> F,
) -> f64 {
    let since = Instant::now();
    let mut working = JoinSet::new();
    for claim in claims {
        if working.len() == usize::try_from(in_flight).expect("few") {
            working.join_next().await.expect("one").expect("an answer");
        }
        working.spawn(work(store.clone(), claim.clone()));
    }
    working.join_all().await;
    f64::from(u32::try_from(claims.len()).expect("few")) / since.elapsed().as_secs_f64()
}

/// The claim of an attempt of a job, under an id that is spread as random ones are.
fn claim(n: u32) -> Claim {
    let uid = u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let nominal_at = records::now();
    Claim {
        job: JobRef {
            uid: format!("{uid:032x}"),
            collection_uid: records::collection("jc").collection.uid,
            key: format!("job-{n}"),
        },
        attempt: Attempt::first(0, Occurrence::Scheduled { nominal_at }),
        claim_id: format!("{uid:032x}"),
        lease_until: nominal_at + TimeDelta::seconds(100),
    }
}

async fn claim_one(store: SqlStore, claim: Claim) {
    let now: DateTime<Utc> = records::now();
    let claimed = store.claim(&ClaimRequest { claim, now }).await.expect("an answer");
    assert_eq!(claimed, Claimed::Won);
}

async fn record_one(store: SqlStore, claim: Claim) {
    let started_at = records::now();
    let record = Record {
        started_at,
        ended_at: started_at + TimeDelta::milliseconds(20),
        outcome: Outcome::Succeeded,
        message: format!(
            "Http Action - Response from host 'example.org': 'OK' {}",
            "x".repeat(150)
        ),
        repeat_count: 1,
        cause: None,
        body_bytes: 0,
        then: Some(Then::Nothing),
    };
    assert_eq!(store.record(&claim, &record).await.expect("an answer"), Recorded::Kept);
}
