//! Exports and imports between stores in memory: what is carried, and what a crash leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use minutehand_archive_objects::{Location, Objects};
use minutehand_carry::{bring, kind, read_line, sealed, to_line};
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::collection::{Collection, CollectionDefinition};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::JobRef;
use minutehand_embedded::Store;
use minutehand_ports::Sealer;
use minutehand_ports::store::{
    Brought, Carried, CloudServiceRecord, CollectionRecord, Found, JobRecord, LongRetry,
    ResourceGroup, TimerRecord,
};
use minutehand_sealer_aes::AesSealer;
use minutehand_store_dynamodb::{DynamoStore, ensure_table};
use minutehand_testkit::aws::AwsCall;
use tempfile::TempDir;

use super::export;
use super::import::{Backup, Import, Imported};
use super::place::Opened;
use super::secrets::Resealing;
use crate::serve::TABLE;

const COLLECTIONS: [&str; 2] = ["c1", "c2"];
const JOBS: u32 = 3;

fn at(minute: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + 60 * minute, 0).unwrap()
}

fn group() -> ResourceGroup {
    let segment = |text| PathSegment::new(text).unwrap();
    ResourceGroup { subscription: segment("Sub"), group: segment("grp") }
}

fn sealer() -> Arc<AesSealer> {
    Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()))
}

/// A store in memory, and a client of it that fails after so many writes.
struct Memory {
    store: Store,
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

impl Memory {
    async fn new() -> Self {
        let store = Store::in_memory().unwrap();
        ensure_table(&store.client(), TABLE).await.unwrap();
        Self { store, writes_left: Arc::new(AtomicI64::new(i64::MAX)) }
    }

    fn jobs(&self) -> DynamoStore {
        let config = self.store.client().config().to_builder();
        let config = config.interceptor(Failing(self.writes_left.clone()));
        DynamoStore::new(Client::from_conf(config.build()), TABLE)
    }

    /// All items, without secrets, which are sealed anew each time.
    async fn items(&self) -> BTreeMap<(String, String), String> {
        let scanned = self.store.client().scan().table_name(TABLE).send().await.unwrap();
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

    /// An installation with everything that is carried.
    async fn full(sealer: &AesSealer) -> Self {
        let memory = Self::new().await;
        for carried in everything(sealer) {
            assert_eq!(bring(&memory.jobs(), &carried).await.unwrap(), Brought::Kept);
        }
        memory
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
            job_count: 99,
            on_since: at(-5),
            sealed: Some(sealer.seal(uid, "of a collection").unwrap()),
            state_since: Some(at(-5)),
            label: None,
            version: 2,
        })));
        for n in 0..JOBS {
            all.push(Carried::Job {
                collection_uid: uid.to_owned(),
                job: Box::new(job(&format!("{uid}-{n}"), sealer)),
            });
        }
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

fn job(uid: &str, sealer: &AesSealer) -> JobRecord {
    JobRecord {
        uid: uid.to_owned(),
        name: Name::new(uid).unwrap(),
        document: r#"{"action":{"type":"Http"}}"#.to_owned(),
        sealed: Some(sealer.seal(uid, "of a job").unwrap()),
        version: 3,
        expires_at: None,
        earlier: Vec::new(),
        timer: TimerRecord {
            state: JobState::Enabled,
            timing: Timing { generation: 4, anchor: Some(at(0)), since: at(0), used: 2 },
            timetable: Some("1 every=1hour start=2027-01-15T08:00:00Z".to_owned()),
            counters: JobCounters { executions: 12, failures: 1, ..JobCounters::default() },
            due_at: Some(at(240)),
            is_spent: false,
        },
    }
}

fn objects(folder: &TempDir) -> Objects {
    let location = Location::Folder(folder.path().to_owned());
    Objects::open(&location, |_| None, minutehand_runtime::system_now).unwrap()
}

async fn exported(source: &Memory, sealer: &Arc<AesSealer>, folder: &TempDir) {
    let opened = Opened::of(Arc::new(source.jobs()), sealer.clone());
    export::write(&opened, &objects(folder), None, at(61)).await.unwrap();
}

async fn import(
    target: &Memory,
    [from, to]: [&Arc<AesSealer>; 2],
    folder: &TempDir,
) -> anyhow::Result<Imported> {
    let objects = objects(folder);
    let backup = Backup::choose(&objects, None).await?;
    let members = backup.check(&objects, at(61)).await?;
    let resealing = Resealing {
        from: Some(from.clone() as Arc<dyn Sealer>),
        to: Some(to.clone() as Arc<dyn Sealer>),
        wrong_key: "",
        no_key: "",
    };
    let store = target.jobs();
    let (objects, backup, store, resealing) = (&objects, &backup, &store, &resealing);
    Import { objects, backup, store, resealing, now: at(61) }.run(members, false).await
}

async fn carried(memory: &Memory) -> Vec<Carried> {
    let jobs = memory.jobs();
    let found: Vec<Found> = minutehand_carry::carried(&jobs, at(61)).try_collect().await.unwrap();
    let carried = found.into_iter().map(|found| match found {
        Found::Carried(carried) => carried,
        Found::Unreadable(key) => panic!("{key}"),
    });
    carried.collect()
}

#[tokio::test]
async fn an_export_carries_everything_as_it_is() {
    let sealer = sealer();
    let source = Memory::full(&sealer).await;
    let line = |it: &Carried| (kind(it), to_line(&mut it.clone()).unwrap().text);
    let mut expected: Vec<_> = everything(&sealer);
    let mut found = carried(&source).await;
    for all in [&mut expected, &mut found] {
        for it in all.iter_mut() {
            if let Some((uid, sealed)) = sealed(it) {
                *sealed = sealer.open(uid, sealed).unwrap().into_bytes();
            }
        }
    }
    let lines = |all: &[Carried]| all.iter().map(line).collect::<BTreeSet<_>>();
    assert_eq!(lines(&found), lines(&expected));
    let kinds: Vec<_> = found.iter().map(kind).collect();
    let first_job = kinds.iter().position(|kind| *kind == "jobs").unwrap();
    assert!(!kinds[first_job..].contains(&"collections"), "{kinds:?}");
    for it in &found {
        let (kind, line) = line(it);
        assert_eq!(read_line(kind, &line).unwrap(), *it, "{line}");
        assert!(read_line("moons", &line).is_err());
    }
}

#[tokio::test]
async fn what_arrives_is_off_has_the_next_generation_and_opens_with_the_new_key() {
    let (old, new, folder) = (sealer(), sealer(), tempfile::tempdir().unwrap());
    exported(&Memory::full(&old).await, &old, &folder).await;
    let target = Memory::new().await;
    let imported = import(&target, [&old, &new], &folder).await.unwrap();
    assert!(imported.to_string().contains("2 collections, 6 jobs, 2 retries"), "{imported}");
    let mut seen = BTreeMap::<_, u32>::new();
    for mut it in carried(&target).await {
        *seen.entry(kind(&it)).or_default() += 1;
        if let Some((uid, sealed)) = sealed(&mut it) {
            assert!(new.open(uid, sealed).unwrap().starts_with("of a "));
        }
        match it {
            Carried::CloudService(service) => assert_eq!(service.version, 5),
            Carried::Collection(record) => {
                assert!(!record.collection.definition.state.is_on());
                assert_eq!(record.job_count, JOBS);
            }
            Carried::Job { job, .. } => {
                let TimerRecord { timing, due_at, counters, .. } = job.timer;
                assert_eq!((timing.generation, timing.used, timing.since), (5, 2, at(0)));
                assert_eq!((due_at, counters.executions), (Some(at(120)), 12));
            }
            Carried::Retry(LongRetry { attempt, .. }) => {
                assert_eq!((attempt.generation, attempt.number), (5, 1));
                assert_eq!(attempt.due_at, at(300));
            }
        }
    }
    let expected = [("cloud-services", 1), ("collections", 2), ("jobs", 6), ("retries", 2)];
    assert_eq!(seen, BTreeMap::from(expected));
    let error = import(&target, [&old, &new], &folder).await.unwrap_err();
    assert!(error.to_string().contains("has collections already"), "{error}");
}

/// However many writes are done before an import breaks off, nothing can fire, and the same import ends
/// what it began. Another one is refused until then.
#[tokio::test]
async fn an_import_that_breaks_off_anywhere_goes_on() {
    let (old, new, folder) = (sealer(), sealer(), tempfile::tempdir().unwrap());
    exported(&Memory::full(&old).await, &old, &folder).await;
    let other = tempfile::tempdir().unwrap();
    let empty = Memory::new().await;
    exported(&empty, &old, &other).await;
    let whole = Memory::new().await;
    import(&whole, [&old, &new], &folder).await.unwrap();
    let expected = whole.items().await;
    let mut broken = 0;
    for writes in 0.. {
        let target = Memory::new().await;
        target.writes_left.store(writes, Ordering::SeqCst);
        if import(&target, [&old, &new], &folder).await.is_ok() {
            break;
        }
        broken += 1;
        for it in carried(&target).await {
            if let Carried::Collection(record) = it {
                assert!(!record.collection.definition.state.is_on());
            }
        }
        target.writes_left.store(i64::MAX, Ordering::SeqCst);
        let is_begun = writes > 0;
        if is_begun {
            let error = import(&target, [&old, &new], &other).await.unwrap_err();
            assert!(error.to_string().contains("was begun and has not ended"), "{error}");
        }
        let imported = import(&target, [&old, &new], &folder).await.unwrap();
        assert_eq!(imported.to_string().starts_with("ended the import"), is_begun, "{imported}");
        assert_eq!(target.items().await, expected, "after {writes} writes");
    }
    // The beginning, a cloud service, two collections, six jobs, two retries, and the end.
    assert_eq!(broken, 13);
}

#[tokio::test]
async fn a_collection_that_is_being_removed_or_has_another_name_is_refused() {
    let (old, new, folder) = (sealer(), sealer(), tempfile::tempdir().unwrap());
    let source = Memory::full(&old).await;
    exported(&source, &old, &folder).await;
    // The same installation: a copy of a collection must not stand beside it.
    let error = import(&source, [&old, &new], &folder).await.unwrap_err();
    assert!(error.to_string().contains("has collections already"), "{error}");
    let store = source.jobs();
    let name = Name::new("jobs-c1").unwrap();
    for name in [name, Name::new("jobs-c2").unwrap()] {
        let record =
            minutehand_ports::Collections::find(&store, &group(), &name).await.unwrap().unwrap();
        let deleted = minutehand_ports::Collections::delete(&store, &record, at(0), None).await;
        assert_eq!(deleted.unwrap(), minutehand_ports::store::Saved::Kept);
    }
    let error = import(&source, [&old, &new], &folder).await.unwrap_err();
    assert!(error.to_string().contains("their jobs are still being removed"), "{error}");
    for uid in COLLECTIONS {
        assert!(minutehand_ports::Removal::purge(&store, uid).await.unwrap());
    }
    import(&source, [&old, &new], &folder).await.unwrap();
    let jobs = carried(&source).await.into_iter().filter(|it| kind(it) == "jobs").count();
    assert_eq!(jobs, 6);
}
