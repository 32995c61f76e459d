//! Moves between one file and PostgreSQL, where it is installed.

use minutehand_domain::work_item::JobRef;
use minutehand_ports::Pings as _;
use minutehand_ports::store::PingFreshness;
use minutehand_store_sql::postgres::{PgAddress, PgDatabase, PgOptions};
use minutehand_store_sql::sqlite::Database;
use minutehand_store_sql::{AnyDatabase, SqlStore};
use minutehand_testkit::postgres::PostgresServer;

use super::{COLLECTIONS, PINGED, Side, everything, moved, opened};

#[tokio::test]
async fn an_installation_goes_from_a_file_to_postgres_and_back_with_the_keys_of_its_pings() {
    let Some(server) = PostgresServer::start() else { return };
    let address = PgAddress::read(&server.address("127.0.0.1")).unwrap();
    let database = PgDatabase::connect(address, PgOptions::default()).await.unwrap();
    let (file, _threads) = Database::in_memory().unwrap();
    let mut from = Side::sql().full().await;
    let first_sealer = from.sealer.clone();
    let mut expected = everything(&first_sealer);
    for database in [AnyDatabase::from(database), AnyDatabase::from(file)] {
        let store = SqlStore::new(database);
        let (folder, key) = (tempfile::tempdir().unwrap(), Side::sql().sealer);
        from.export(&key, &folder).await;
        let target = Side::of(store.clone());
        target.import(Some(&key), &folder).await.unwrap();
        expected = expected.into_iter().map(moved).collect();
        assert_eq!(target.lines().await, opened(expected.clone(), &first_sealer));
        for collection_uid in COLLECTIONS {
            let uid = format!("{collection_uid}-{PINGED}");
            let found = store.find_ping(&format!("hash of {uid}"), PingFreshness::Now).await;
            let found = found.unwrap().unwrap();
            let job = JobRef { key: uid.clone(), uid, collection_uid: collection_uid.to_owned() };
            assert_eq!((found.job, found.number, found.book.as_str()), (job, 0, ""));
        }
        from = target;
    }
}
