//! Exports and imports between stores: what is carried, in every direction, and what a crash leaves.

mod database;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use minutehand_archive::{BackupAbout, SealedWith};
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{
    Backup, BackupPosition, Export, Import, ImportHow, Imported, MoveFailed, Resealing,
    StoreOfMoves, backup_entries, backup_page, bring, kind, sealed, to_line,
};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection::{Collection, CollectionDefinition, CollectionState};
use minutehand_domain::earlier_timing::EarlierTiming;
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    Brought, Carried, CloudServiceRecord, CollectionRecord, Found, JobRecord, LongRetry, PingKey,
    ResourceGroup, Saved, TimerRecord,
};
use minutehand_ports::{Collections, Removal, Sealer};
use minutehand_sealer_aes::AesSealer;
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_store_sql::SqlStore;
use minutehand_store_sql::sqlite::Database;
use minutehand_testkit::aws::AwsCall;
use minutehand_testkit::dynamodb::LocalDynamo;
use tempfile::TempDir;

const TABLE: &str = "jobs";
const COLLECTIONS: [&str; 2] = ["c1", "c2"];
const JOBS: u32 = 3;
/// The job that takes pings.
const PINGED: u32 = 1;

fn at(minute: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + 60 * minute, 0).unwrap()
}

/// When everything is exported and imported.
fn now() -> DateTime<Utc> {
    at(61)
}

fn group() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("Sub"), group: segment("grp") }
}

/// A store with nothing in it, and the key of its installation.
struct Side {
    store: Arc<dyn StoreOfMoves>,
    sealer: Arc<AesSealer>,
}

impl Side {
    fn of(store: impl StoreOfMoves + 'static) -> Self {
        let sealer = Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()));
        Self { store: Arc::new(store), sealer }
    }

    fn sql() -> Self {
        let (database, _threads) = Database::in_memory().unwrap();
        Self::of(SqlStore::new(database))
    }

    /// The same with everything that is carried.
    async fn full(self) -> Self {
        for carried in everything(&self.sealer) {
            assert_eq!(bring(&*self.store, &carried).await.unwrap(), Brought::Kept);
        }
        self
    }

    /// Everything that it has, with its secrets opened, as lines.
    async fn lines(&self) -> BTreeSet<String> {
        opened(self.carried().await, &self.sealer)
    }

    async fn carried(&self) -> Vec<Carried> {
        let found = minutehand_carry::carried(&*self.store, now());
        let found: Vec<Found> = found.try_collect().await.unwrap();
        let carried = found.into_iter().map(|found| match found {
            Found::Carried(carried) => carried,
            Found::Unreadable(key) => panic!("{key}"),
        });
        carried.collect()
    }

    /// Exports everything, with its secrets sealed by the key of a file.
    async fn export(&self, file: &Arc<AesSealer>, folder: &TempDir) {
        let objects = &objects(folder);
        let resealing = &Resealing::of_export(self.sealer.clone(), Some(file.clone()));
        let export = Export { store: &*self.store, objects, resealing, watcher: &() };
        let exported = export.run(about(SealedWith::KeyFile, None)).await.unwrap();
        assert!(exported.unreadable.is_empty(), "{exported:?}");
    }

    async fn import(
        &self,
        file: Option<&Arc<AesSealer>>,
        folder: &TempDir,
    ) -> Result<Imported, MoveFailed> {
        let objects = &objects(folder);
        let backup = &Backup::choose(objects, None, &()).await?;
        backup.check_key(file.is_some())?;
        let members = backup.check(objects, now(), &()).await?;
        let file = file.map(|file| file.clone() as Arc<dyn Sealer>);
        let resealing = &Resealing::of_import(file, self.sealer.clone());
        let store = &*self.store;
        let import = Import { objects, backup, store, resealing, watcher: &(), now: now() };
        import.run(members, ImportHow::default()).await
    }
}

fn about(sealed_with: SealedWith, schedule_of: Option<String>) -> BackupAbout {
    BackupAbout { at: now(), written_by: "a test".to_owned(), sealed_with, schedule_of }
}

fn objects(folder: &TempDir) -> Objects {
    let location = Location::Folder(folder.path().to_owned());
    Objects::open(&location, |_| None, minutehand_runtime::system_now).unwrap()
}

fn opened(all: Vec<Carried>, sealer: &AesSealer) -> BTreeSet<String> {
    let line = |mut it: Carried| {
        if let Some((uid, sealed)) = sealed(&mut it) {
            *sealed = sealer.open(&uid, sealed).unwrap().into_bytes();
        }
        format!("{}: {}", kind(&it), to_line(&mut it).unwrap().text)
    };
    all.into_iter().map(line).collect()
}

/// DynamoDB in memory, with a client that fails after so many writes.
struct Dynamo {
    database: LocalDynamo,
    writes_left: Arc<AtomicI64>,
}

#[derive(Debug)]
struct Failing(Arc<AtomicI64>);

impl Intercept for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let call = AwsCall::of(context.request());
        let is_write =
            ["TransactWriteItems", "PutItem", "DeleteItem"].contains(&call.action.as_str());
        if is_write && self.0.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Err("no more writes".into());
        }
        Ok(())
    }
}

impl Dynamo {
    async fn new() -> Self {
        let database = LocalDynamo::in_memory();
        ensure_table(&database.client(), TABLE).await.unwrap();
        Self { database, writes_left: Arc::new(AtomicI64::new(i64::MAX)) }
    }

    fn jobs(&self) -> DynamoStore {
        let config = self.database.client().config().to_builder();
        let config = config.interceptor(Failing(self.writes_left.clone()));
        DynamoStore::new(Client::from_conf(config.build()), TABLE)
    }

    fn side(&self) -> Side {
        Side::of(self.jobs())
    }

    /// All items, without secrets, which are sealed anew each time.
    async fn items(&self) -> BTreeMap<(String, String), String> {
        let scanned = self.database.client().scan().table_name(TABLE).send().await.unwrap();
        let items = scanned.items().iter().map(|item| {
            let key = |name: &str| item[name].as_s().unwrap().clone();
            let attributes: BTreeMap<_, _> = item
                .iter()
                .filter(|(name, _)| *name != "sealed")
                .map(|(name, value)| (name.clone(), format!("{value:?}")))
                .collect();
            ((key("pk"), key("sk")), format!("{attributes:?}"))
        });
        items.collect()
    }
}

fn everything(sealer: &AesSealer) -> Vec<Carried> {
    let mut all = vec![Carried::CloudService(CloudServiceRecord {
        place: group(),
        uid: "cs".to_owned(),
        label: "bGFiZWw=".to_owned(),
        description: "some text".to_owned(),
        region: "here".to_owned(),
        version: 5,
    })];
    for uid in COLLECTIONS {
        let name = Name::new(&format!("Jobs-{uid}")).unwrap();
        let definition = CollectionDefinition::default();
        all.push(Carried::Collection(Box::new(CollectionRecord {
            place: group(),
            collection: Collection { uid: uid.to_owned(), name, definition },
            job_count: JOBS,
            on_since: at(-5),
            sealed: Some(sealer.seal(uid, "of a collection").unwrap()),
            state_since: Some(at(-5)),
            label: None,
            version: 2,
        })));
        for n in 0..JOBS {
            all.push(Carried::Job {
                collection_uid: uid.to_owned(),
                job: Box::new(job(&format!("{uid}-{n}"), n, sealer)),
            });
        }
        let uid_of_job = format!("{uid}-{PINGED}");
        let place = PingKey::sealed_for(&uid_of_job);
        all.push(Carried::PingKey {
            key: PingKey {
                hash: format!("hash of {uid_of_job}"),
                sealed: sealer.seal(&place, "of pings").unwrap(),
            },
            job: JobRef {
                key: uid_of_job.clone(),
                uid: uid_of_job,
                collection_uid: uid.to_owned(),
            },
        });
        let uid_of_job = format!("{uid}-0");
        let first = Attempt::first(4, Occurrence::Scheduled { nominal_at: at(0) });
        all.push(Carried::Retry(LongRetry {
            job: JobRef {
                key: uid_of_job.clone(),
                uid: uid_of_job,
                collection_uid: uid.to_owned(),
            },
            attempt: Attempt { number: 1, due_at: at(300), is_long: true, ..first },
        }));
    }
    all
}

/// A job that is enabled, disabled, or has finished.
fn job(uid: &str, n: u32, sealer: &AesSealer) -> JobRecord {
    let state = [JobState::Enabled, JobState::Disabled, JobState::Completed][n as usize];
    let is_enabled = state == JobState::Enabled;
    let timetable = "1 every=1hour start=2027-01-15T08:00:00Z".to_owned();
    JobRecord {
        uid: uid.to_owned(),
        name: Name::new(uid).unwrap(),
        document: if n == PINGED {
            r#"{"action":{"type":"Expect","expect":{}}}"#.to_owned()
        } else {
            r#"{"action":{"type":"Http"},"x":1.50,"y":"\u00e4"}"#.to_owned()
        },
        sealed: is_enabled.then(|| sealer.seal(uid, "of a job").unwrap()),
        version: 3,
        expires_at: (state == JobState::Completed).then(|| at(86_400)),
        earlier: vec!["2 17987976000000000 off".parse().unwrap()],
        timer: TimerRecord {
            state,
            timing: Timing { generation: 4, anchor: Some(at(0)), since: at(0), used: 2 },
            timetable: (state != JobState::Disabled).then_some(timetable),
            counters: JobCounters {
                executions: 12,
                failures: 1,
                last_execution_at: Some(at(-1_000)),
                ..JobCounters::default()
            },
            due_at: is_enabled.then(|| at(240)),
            is_spent: state == JobState::Completed,
        },
    }
}

/// What a move makes of something: collections are off, jobs have the next generation, and are due at their
/// first occurrence after the import. Everything else stays.
fn moved(it: Carried) -> Carried {
    match it {
        Carried::CloudService(_) | Carried::PingKey { .. } => it,
        Carried::Collection(mut record) => {
            let state = &mut record.collection.definition.state;
            if state.is_on() {
                *state = CollectionState::Disabled;
                record.state_since = Some(now());
            }
            Carried::Collection(record)
        }
        Carried::Job { collection_uid, mut job } => {
            let TimerRecord { timing, timetable, .. } = &job.timer;
            job.earlier = EarlierTiming::ending(timing, timetable.clone()).after(job.earlier);
            job.timer.timing.generation += 1;
            if job.timer.state == JobState::Enabled {
                job.timer.due_at = Some(at(120));
            }
            Carried::Job { collection_uid, job }
        }
        Carried::Retry(LongRetry { job, mut attempt }) => {
            attempt.generation += 1;
            Carried::Retry(LongRetry { job, attempt })
        }
    }
}

#[tokio::test]
async fn what_is_brought_into_either_store_is_carried_as_it_is() {
    let dynamo = Dynamo::new().await;
    for side in [Side::sql(), dynamo.side()] {
        let side = side.full().await;
        assert_eq!(side.lines().await, opened(everything(&side.sealer), &side.sealer));
        let carried = side.carried().await;
        let kinds: Vec<_> = carried.iter().map(kind).collect();
        let first_job = kinds.iter().position(|kind| *kind == "jobs").unwrap();
        assert!(!kinds[first_job..].contains(&"collections"), "{kinds:?}");
    }
}

#[tokio::test]
async fn an_installation_goes_from_one_store_to_the_other_and_back() {
    let [away, home] = [Dynamo::new().await, Dynamo::new().await];
    for [source, away, home] in [
        [Side::sql(), away.side(), Side::sql()],
        [home.side(), Side::sql(), Dynamo::new().await.side()],
    ] {
        let source = source.full().await;
        let mut expected = everything(&source.sealer);
        let mut at_home = &source;
        for target in [&away, &home] {
            let (folder, file) = (tempfile::tempdir().unwrap(), Side::sql().sealer);
            at_home.export(&file, &folder).await;
            let imported = target.import(Some(&file), &folder).await.unwrap();
            assert_eq!((imported.jobs, imported.retries, imported.next), (6, 2, None));
            expected = expected.into_iter().map(moved).collect();
            assert_eq!(target.lines().await, opened(expected.clone(), &source.sealer));
            let again = target.import(Some(&file), &folder).await.unwrap_err();
            assert!(again.to_string().contains("has collections already"), "{again}");
            at_home = target;
        }
    }
}

#[tokio::test]
async fn a_daily_backup_becomes_an_installation_of_either_store_with_the_same_key() {
    let [one, other] = [Dynamo::new().await, Dynamo::new().await];
    for (source, target) in [(Side::sql(), one.side()), (other.side(), Side::sql())] {
        let (source, folder) = (source.full().await, tempfile::tempdir().unwrap());
        let failed = |why| MoveFailed::Store { doing: "read".to_owned(), why };
        let entries = backup_entries(&*source.store, now()).map_err(failed);
        let about = about(SealedWith::Installation, Some("an installation".to_owned()));
        objects(&folder).write_backup(about, entries, |_| {}).await.unwrap();
        let stranger = target.import(None, &folder).await.unwrap_err();
        assert!(stranger.to_string().contains('\''), "{stranger}");
        let target = Side { sealer: source.sealer.clone(), ..target };
        assert!(target.lines().await.is_empty(), "nothing was changed");
        target.import(None, &folder).await.unwrap();
        let expected = everything(&source.sealer).into_iter().map(moved).collect();
        assert_eq!(target.lines().await, opened(expected, &source.sealer));
    }
}

#[tokio::test]
async fn the_pages_of_a_backup_are_its_entries_if_each_is_read_by_another_process() {
    let dynamo = Dynamo::new().await;
    for side in [Side::sql().full().await, dynamo.side().full().await] {
        let store = &*side.store;
        let entries: Vec<_> = backup_entries(store, now()).try_collect().await.unwrap();
        let (mut read, mut position) = (Vec::new(), BackupPosition::default());
        while let Some((page, next)) = backup_page(store, now(), position).await.unwrap() {
            read.extend(page);
            position = BackupPosition::read(&next.to_text()).unwrap();
        }
        assert_eq!(read, entries);
        assert_eq!(read.len(), everything(&side.sealer).len());
    }
}

/// However many writes are done before an import breaks off, nothing can fire, and the same import ends
/// what it began. Another one is refused until then.
#[tokio::test]
async fn an_import_that_breaks_off_anywhere_goes_on() {
    let (source, file) = (Side::sql().full().await, Side::sql().sealer);
    let [folder, other] = [0; 2].map(|_| tempfile::tempdir().unwrap());
    source.export(&file, &folder).await;
    Side::sql().export(&file, &other).await;
    let whole = Dynamo::new().await;
    whole.side().import(Some(&file), &folder).await.unwrap();
    let expected = whole.items().await;
    let mut broken = 0;
    for writes in 0.. {
        let target = Dynamo::new().await;
        let side = target.side();
        target.writes_left.store(writes, Ordering::SeqCst);
        if side.import(Some(&file), &folder).await.is_ok() {
            break;
        }
        broken += 1;
        for it in side.carried().await {
            if let Carried::Collection(record) = it {
                assert!(!record.collection.definition.state.is_on());
            }
        }
        target.writes_left.store(i64::MAX, Ordering::SeqCst);
        let is_begun = writes > 0;
        if is_begun {
            let error = side.import(Some(&file), &other).await.unwrap_err();
            assert!(error.to_string().contains("was begun and has not ended"), "{error}");
        }
        let imported = side.import(Some(&file), &folder).await.unwrap();
        assert_eq!(imported.is_resumed, is_begun, "{imported:?}");
        assert_eq!(target.items().await, expected, "after {writes} writes");
    }
    // The beginning, a cloud service, two collections, six jobs, two retries, two keys, and the end.
    assert_eq!(broken, 15);
}

#[tokio::test]
async fn a_collection_that_is_being_removed_or_has_another_name_is_refused() {
    let dynamo = Dynamo::new().await;
    let (database, _threads) = Database::in_memory().unwrap();
    let (of_dynamo, of_sql) = (dynamo.jobs(), SqlStore::new(database.clone()));
    let removals: [&dyn Removal; 2] = [&of_dynamo, &of_sql];
    let sides = [dynamo.side(), Side::of(SqlStore::new(database))];
    for (side, removal) in sides.into_iter().zip(removals) {
        let (file, folder) = (Side::sql().sealer, tempfile::tempdir().unwrap());
        let side = side.full().await;
        side.export(&file, &folder).await;
        // The same installation: a copy of a collection must not stand beside it.
        let error = side.import(Some(&file), &folder).await.unwrap_err();
        assert!(error.to_string().contains("has collections already"), "{error}");
        let collections: &dyn Collections = &*side.store;
        for name in ["jobs-c1", "jobs-c2"] {
            let found = collections.find(&group(), &Name::new(name).unwrap()).await;
            let deleted = collections.delete(&found.unwrap().unwrap(), at(0), None).await;
            assert_eq!(deleted.unwrap(), Saved::Kept);
        }
        let error = side.import(Some(&file), &folder).await.unwrap_err();
        assert!(error.to_string().contains("their jobs are still being removed"), "{error}");
        for uid in COLLECTIONS {
            assert!(removal.purge(uid).await.unwrap());
        }
        side.import(Some(&file), &folder).await.unwrap();
        let jobs = side.carried().await.iter().filter(|it| kind(it) == "jobs").count();
        assert_eq!(jobs, 6);
    }
}
