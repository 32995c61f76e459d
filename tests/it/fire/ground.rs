//! What a world stands on: the store of one machine, or a table of DynamoDB for what AWS costs.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use minutehand_app::fire::StoreOfFiring;
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::work_item::encode;
use minutehand_ports::store::{Advance, StoreError};
use minutehand_ports::{
    ApiSigns, Brakes, Browse, CloudServices, Collections, Deliveries, DispatchQueue, DispatchStep,
    HangingOrigins, Jobs, Pings, QueueError, QueueMessage, ReceiptHandle, SettleStep, Settled,
    Settlement, StepError,
};
use minutehand_store_dynamodb::{DynamoStore, Meter, ensure_table};
use minutehand_store_sql::queue::RECEIVE_MAX;
use minutehand_store_sql::sqlite::{Database, Durability, Threads};
use minutehand_store_sql::{AnyDatabase, SqlQueue, SqlStore};
use minutehand_testkit::SetClock;
use minutehand_testkit::dynamodb::LocalDynamo;
use tempfile::TempDir;
use tokio::sync::Mutex;

use super::transit::{Parcel, Transit};
use super::watch::{Watch, Watched};
use super::world::{instant, named, place};
use crate::postgres::shared_database;

const TABLE: &str = "minutehand";

/// When every message is due.
const LATER: &str = "9000-01-01";

/// A store with all of its ports.
pub(super) trait WholeStore:
    StoreOfFiring + Collections + CloudServices + Jobs + Browse
{
}

impl<S: StoreOfFiring + Collections + CloudServices + Jobs + Browse> WholeStore for S {}

/// The store of a world, and what there is beside it.
pub(super) enum Ground {
    /// A database of several processes, as on AWS.
    Shared(AnyDatabase),
    /// One machine.
    Machine(Machine),
    /// A table on AWS.
    Table(Table),
}

impl Ground {
    pub(super) async fn shared() -> Self {
        Self::Shared(shared_database().await)
    }

    /// The store, as a new process has it that keeps history for so many days.
    pub(super) fn store(&self, history: HistoryDays) -> Arc<dyn WholeStore> {
        match self {
            Self::Shared(database) => {
                Arc::new(SqlStore::new(database.clone()).with_history(history))
            }
            Self::Machine(machine) => machine.queue.store.clone(),
            Self::Table(table) => table.store.clone(),
        }
    }

    /// The store as one that takes pings.
    pub(super) fn pings(&self) -> Arc<dyn Pings> {
        match self {
            Self::Shared(database) => Arc::new(SqlStore::new(database.clone())),
            Self::Machine(machine) => machine.queue.store.clone(),
            Self::Table(table) => table.store.clone(),
        }
    }

    /// The signs of who takes pings, where there are any.
    pub(super) fn signs(&self) -> Option<Arc<dyn ApiSigns>> {
        match self {
            Self::Shared(database) => Some(Arc::new(SqlStore::new(database.clone()))),
            Self::Machine(machine) => Some(machine.queue.store.clone()),
            Self::Table(_) => None,
        }
    }

    /// The brakes that processes share on AWS.
    pub(super) fn brakes(&self) -> Option<Arc<dyn Brakes>> {
        match self {
            Self::Shared(_) | Self::Machine(_) => None,
            Self::Table(table) => Some(table.store.clone()),
        }
    }

    /// What knows which origins hang.
    pub(super) fn hanging(&self) -> Arc<dyn HangingOrigins> {
        match self {
            Self::Shared(_) | Self::Machine(_) => Arc::new(()),
            Self::Table(table) => table.store.clone(),
        }
    }

    /// The queue of one machine, which is in the database of the store.
    pub(super) fn queue(&self) -> Option<Arc<QueueInStore>> {
        match self {
            Self::Machine(machine) => Some(machine.queue.clone()),
            Self::Shared(_) | Self::Table(_) => None,
        }
    }
}

/// A machine with a data directory, and the one process on it.
pub(super) struct Machine {
    dir: TempDir,
    threads: Threads,
    queue: Arc<QueueInStore>,
}

impl Machine {
    pub(super) async fn new(transit: Arc<Transit>) -> Self {
        Self::open(tempfile::tempdir().unwrap(), transit).await
    }

    async fn open(dir: TempDir, transit: Arc<Transit>) -> Self {
        let (database, threads) = Database::open(dir.path(), Durability::Normal).unwrap();
        let clock = Arc::new(SetClock::at(instant(LATER)));
        let queue = SqlQueue::open(database.clone(), clock).await.unwrap();
        let store = Arc::new(SqlStore::new(database).alone());
        let queue = Arc::new(QueueInStore { store, queue, transit, passing_on: Mutex::default() });
        queue.pass_on().await;
        Self { dir, threads, queue }
    }

    /// The machine with the next process, after this one has ended.
    pub(super) async fn restart(self) -> Self {
        let Self { dir, threads, queue } = self;
        queue.store.database().close();
        threads.ended().await;
        while queue.transit.take().is_some() {}
        Self::open(dir, queue.transit.clone()).await
    }
}

/// The queue of one machine, which is in the database of the store. What is sent is received at once, and
/// waits in the transit until it is due.
pub(super) struct QueueInStore {
    store: Arc<SqlStore>,
    /// On its clock, everything is due.
    queue: SqlQueue,
    transit: Arc<Transit>,
    passing_on: Mutex<()>,
}

impl QueueInStore {
    /// Messages that are not deleted.
    pub(super) async fn len(&self) -> u64 {
        self.queue.standing().await.unwrap().hidden
    }

    pub(super) async fn finish(&self, receipt: ReceiptHandle) {
        self.queue.finish(&[receipt]).await.unwrap();
    }

    async fn pass_on(&self) {
        let _only_one = self.passing_on.lock().await;
        while self.queue.standing().await.unwrap().visible > 0 {
            for taken in self.queue.receive(RECEIVE_MAX).await.unwrap() {
                let text = encode(&taken.work_item.unwrap());
                let parcel = Parcel { text, receives: 0, receipt: Some(taken.receipt) };
                self.transit.put(taken.due_at, parcel);
            }
        }
    }
}

#[async_trait]
impl DispatchQueue for QueueInStore {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        self.queue.send(messages, now).await?;
        self.pass_on().await;
        Ok(())
    }
}

#[async_trait]
impl DispatchStep for QueueInStore {
    async fn dispatch(
        &self,
        messages: &[QueueMessage],
        moves: &[Advance],
        now: DateTime<Utc>,
    ) -> Result<Vec<Result<bool, StoreError>>, QueueError> {
        let dispatched = self.store.dispatch(messages, moves, now).await;
        self.pass_on().await;
        dispatched
    }
}

#[async_trait]
impl SettleStep for QueueInStore {
    async fn settle(&self, settlement: Settlement<'_>) -> Result<Settled, StepError> {
        let settled = self.store.settle(settlement).await;
        self.pass_on().await;
        settled
    }

    fn finishes_jobs(&self) -> bool {
        self.store.finishes_jobs()
    }
}

/// A table of DynamoDB.
pub(super) struct Table {
    pub(super) store: Arc<DynamoStore>,
    pub(super) meter: Arc<Meter>,
    pub(super) watch: Option<Arc<Watch>>,
    client: Client,
}

impl Table {
    pub(super) async fn new(watch: Option<Arc<Watch>>) -> Self {
        let mut client = LocalDynamo::in_memory().client();
        ensure_table(&client, TABLE).await.unwrap();
        if let Some(watch) = &watch {
            let config = client.config().to_builder().interceptor(Watched(watch.clone()));
            client = Client::from_conf(config.build());
        }
        let meter = Arc::new(Meter::default());
        let store = DynamoStore::new(client.clone(), TABLE).with_meter(meter.clone());
        Self { store: Arc::new(store), meter, watch, client }
    }

    /// Gives an attribute of the collection's switch another name, if the switch has it; whether it has.
    pub(super) async fn rename_in_switch(&self, from: &str, to: &str) -> bool {
        let found = Collections::find(self.store.as_ref(), &place(), &named("jc")).await.unwrap();
        let pk = format!("C#{}", found.unwrap().collection.uid);
        let key = [("pk", pk), ("sk", "C".to_owned())];
        let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
        let read = self.client.get_item().table_name(TABLE).set_key(Some(key.into()));
        let mut item = read.send().await.unwrap().item.unwrap();
        let Some(value) = item.remove(from) else {
            return false;
        };
        item.insert(to.to_owned(), value);
        self.client.put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
        true
    }
}
