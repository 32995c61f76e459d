//! The daily backup of the archiver, over the table and a place of an archive: what it writes, in one part
//! and in many, when it fails, and with which requests.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{TryStreamExt as _, stream};
use minutehand_archive::{BackupAbout, SealedWith};
use minutehand_archive_objects::{ArchiveError, Location, Objects};
use minutehand_archiver::{BackupFailed, Event, Function, RequestFailed};
use minutehand_carry::{Backup, carried, read_line};
use minutehand_ports::Clock;
use minutehand_ports::store::Found;
use minutehand_testkit::aws::AwsCall;
use serde_json::{Value, json};

use super::world::{TestClock, World};
use crate::template::Template;

const SECRET: &str = "correct horse battery staple";
const DAY: TimeDelta = TimeDelta::days(1);

pub(super) fn objects(folder: &Path) -> Objects {
    Objects::open(&Location::Folder(folder.to_owned()), |_| None, minutehand_runtime::system_now)
        .unwrap()
}

fn backup() -> Event {
    serde_json::from_value(json!({"backup": true})).unwrap()
}

/// As the rule of each hour asks.
fn due() -> Event {
    serde_json::from_value(json!({"backup": "due"})).unwrap()
}

/// An installation with jobs that have secrets, and its archiver, which keeps two backups.
async fn installation(folder: &Path) -> (World, Function) {
    let mut world = World::with_archive(objects(folder)).await;
    put_jobs(&world, &["one", "two", "three"]).await;
    let archiver = world.archiver.take().unwrap().with_backups(NonZeroU32::new(2));
    (world, archiver)
}

/// Makes jobs that have secrets.
pub(super) async fn put_jobs(world: &World, names: &[&str]) {
    for name in names {
        let authentication = json!({"type": "Basic", "username": "u", "password": SECRET});
        let uri = world.target.url();
        let request = json!({"method": "GET", "uri": uri, "authentication": authentication});
        let action = json!({"type": "http", "request": request});
        let job = json!({"startTime": "2031-01-01T00:00:00Z", "action": action});
        world.put_job(name, job).await;
    }
}

pub(super) fn in_time(world: &World) -> DateTime<Utc> {
    world.clock.work_now() + TimeDelta::minutes(15)
}

async fn names(objects: &Objects) -> Vec<String> {
    objects.backups().await.unwrap()
}

#[tokio::test]
async fn a_backup_has_all_that_an_export_carries_and_two_of_the_schedule_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (world, archiver) = installation(folder.path()).await;
    let objects = objects(folder.path());
    let about = BackupAbout {
        at: world.clock.now(),
        written_by: "a user".to_owned(),
        sealed_with: SealedWith::Installation,
        schedule_of: None,
    };
    let nothing = stream::empty::<Result<_, ArchiveError>>();
    objects.write_backup(about, nothing, |_| {}).await.unwrap();
    let of_user = names(&objects).await;

    let mut written = Vec::new();
    for day in 1..=4 {
        world.clock.0.advance(DAY);
        let said = archiver.handle(backup(), in_time(&world)).await.unwrap();
        written.push(said["backup"].as_str().unwrap().to_owned());
        let removed = usize::from(day > 2);
        assert_eq!(
            said,
            json!({
                "backup": written.last(), "done": true, "collections": 1, "jobs": 3, "retries": 0,
                "unreadable": 0, "removed": removed,
            })
        );
    }
    assert_eq!(world.counted(archiver.tally()), Value::Null);
    assert_eq!(names(&objects).await, [of_user, written[2..].to_vec()].concat());

    let (manifest, _) = objects.manifest(&written[3]).await.unwrap().unwrap();
    assert_eq!(manifest.secrets, 3);
    assert_eq!(manifest.about.sealed_with, SealedWith::Installation);
    let mut read = Vec::new();
    for file in &manifest.files {
        for line in objects.backup_lines(&written[3], file).await.unwrap() {
            assert!(!line.contains(SECRET), "a secret");
            read.push(read_line(&file.kind, &line).unwrap());
        }
    }
    let carried = carried(&world.jobs, world.clock.now()).map_ok(|found| match found {
        Found::Carried(carried) => carried,
        Found::Unreadable(key) => panic!("{key}"),
    });
    assert_eq!(read, carried.try_collect::<Vec<_>>().await.unwrap());
}

#[tokio::test]
async fn a_backup_without_a_place_is_an_error_and_trouble_and_none_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (world, archiver) = installation(folder.path()).await;
    let objects = objects(folder.path());
    let is_complete = async || {
        for name in names(&objects).await {
            if objects.manifest(&name).await.unwrap().is_some() {
                return true;
            }
        }
        false
    };
    fs::write(folder.path().join("backup"), "in the way").unwrap();
    for event in [backup(), due()] {
        let error = archiver.handle(event, in_time(&world)).await.unwrap_err();
        assert!(matches!(error, RequestFailed::Backup(BackupFailed::Archive(_))), "{error}");
        assert_eq!(error.error_type().to_string(), "BackupFailed");
        assert_eq!(failed(&world, &archiver), 1);
    }
    fs::remove_file(folder.path().join("backup")).unwrap();

    let without = archiver.with_backups(None);
    let error = without.handle(backup(), in_time(&world)).await.unwrap_err();
    assert!(error.to_string().contains("BackupsKept above 0"), "{error}");
    assert!(!is_complete().await);
    for other in [json!(false), json!("now"), json!({})] {
        let error = serde_json::from_value::<Event>(json!({"backup": other})).unwrap_err();
        assert!(error.to_string().contains("'backup' is neither true"), "{error}");
    }
}

/// How many failures were counted since the last call, each as trouble.
fn failed(world: &World, archiver: &Function) -> u64 {
    let line = world.counted(archiver.tally());
    assert_eq!(line["Trouble"], line["BackupsFailed"]);
    line["BackupsFailed"].as_u64().unwrap_or_default()
}

/// The lines of a backup that can be imported, in order, each with its kind.
async fn lines(world: &World, objects: &Objects, name: &str) -> Vec<(String, String)> {
    let chosen = Backup::choose(objects, Some(name), &()).await.unwrap();
    chosen.check(objects, world.clock.now(), &()).await.unwrap();
    let (manifest, _) = objects.manifest(name).await.unwrap().unwrap();
    let mut all = Vec::new();
    for file in &manifest.files {
        let lines = objects.backup_lines(name, file).await.unwrap();
        all.extend(lines.into_iter().map(|line| (file.kind.clone(), line)));
    }
    all.sort_unstable();
    all
}

/// Goes on with a backup, a page in each part, so many times. Returns the last answer.
async fn parts(world: &World, archiver: &Function, count: usize) -> Value {
    let mut said = Value::Null;
    for _ in 0..count {
        said = archiver.handle(due(), world.clock.work_now()).await.unwrap();
        assert_eq!((&said["done"], &said["removed"]), (&json!(false), &json!(0)), "{said}");
    }
    said
}

fn file(folder: &Path, said: &Value, name: &str) -> PathBuf {
    folder.join("backup").join(said["backup"].as_str().unwrap()).join(name)
}

#[tokio::test]
async fn a_backup_in_parts_has_what_one_run_has_also_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (world, archiver) = installation(folder.path()).await;
    let objects = objects(folder.path());
    // Jobs of two pages.
    let sku = json!({"properties": {"sku": {"name": "P20Premium"}}});
    assert_eq!(world.put("", &sku).await, 201);
    let names: Vec<_> = (0..120).map(|n| format!("job-{n}")).collect();
    put_jobs(&world, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let whole = archiver.handle(backup(), in_time(&world)).await.unwrap();
    let expected = lines(&world, &objects, whole["backup"].as_str().unwrap()).await;
    assert_eq!(expected.len(), 1 + 123);

    world.clock.0.advance(DAY);
    let begun = archiver.handle(backup(), world.clock.work_now()).await.unwrap();
    assert_eq!((&begun["done"], &begun["jobs"]), (&json!(false), &json!(0)));
    // Cloud services, collections, and a page of jobs.
    let said = parts(&world, &archiver, 3).await;
    assert_eq!((&said["collections"], &said["jobs"]), (&json!(1), &json!(100)));
    assert_eq!(said["backup"], begun["backup"]);
    // A part that crashed after its file, and before its progress.
    let left = file(folder.path(), &said, "jobs-2.jsonl.gz");
    fs::write(&left, "left").unwrap();
    let said = parts(&world, &archiver, 3).await;
    assert_eq!((&said["collections"], &said["jobs"]), (&json!(1), &json!(123)));
    let said = archiver.handle(due(), in_time(&world)).await.unwrap();
    assert_eq!((&said["backup"], &said["done"]), (&begun["backup"], &json!(true)));
    assert_eq!(lines(&world, &objects, said["backup"].as_str().unwrap()).await, expected);
    assert_eq!(fs::read(&left).unwrap(), b"left", "nothing is overwritten");
    assert!(file(folder.path(), &said, "jobs-3.jsonl.gz").exists());

    let nothing = archiver.handle(due(), in_time(&world)).await.unwrap();
    assert_eq!(nothing, json!({"backup": null, "done": true}));
    assert_eq!(failed(&world, &archiver), 0);
    // The day after tomorrow it is removed, with all that it has.
    for _ in 0..2 {
        world.clock.0.advance(DAY + TimeDelta::hours(3));
        archiver.handle(due(), in_time(&world)).await.unwrap();
    }
    assert!(!file(folder.path(), &begun, "").exists());
}

#[tokio::test]
async fn a_backup_that_cannot_go_on_is_trouble_and_another_one_begins() {
    let folder = tempfile::tempdir().unwrap();
    let (world, archiver) = installation(folder.path()).await;
    archiver.handle(backup(), world.clock.work_now()).await.unwrap();
    let begun = parts(&world, &archiver, 2).await;
    // A later backup may delete it when its day is over, so no part goes on until then.
    world.clock.0.advance(DAY - TimeDelta::minutes(1));
    let last = archiver.handle(due(), in_time(&world)).await.unwrap();
    assert_eq!((&last["backup"], &last["done"]), (&begun["backup"], &json!(false)));
    world.clock.0.advance(TimeDelta::minutes(1));
    assert_eq!(failed(&world, &archiver), 0);
    let said = archiver.handle(due(), world.clock.work_now()).await.unwrap();
    assert_ne!(said["backup"], begun["backup"], "its day is over");
    assert_eq!(failed(&world, &archiver), 1);

    for (damaged, count) in [("nextShard", 1), ("\"format\":2", 2)] {
        world.clock.0.advance(TimeDelta::hours(1));
        let said = parts(&world, &archiver, count).await;
        let progress = file(folder.path(), &said, &format!("progress-{}.jsonl", count + 1));
        let text = fs::read_to_string(&progress).unwrap();
        fs::write(&progress, text.replace(damaged, "\"format\":0")).unwrap();
        world.clock.0.advance(TimeDelta::hours(1));
        let next = archiver.handle(due(), world.clock.work_now()).await.unwrap();
        assert_ne!(next["backup"], said["backup"], "{damaged}");
        assert_eq!(failed(&world, &archiver), 1, "{damaged}");
    }
    let said = archiver.handle(due(), in_time(&world)).await.unwrap();
    assert_eq!((&said["done"], &said["jobs"]), (&json!(true), &json!(3)));
    assert_eq!(failed(&world, &archiver), 0);
}

/// A clock that copies a file the first time that the time of work is asked for: then another run, of the
/// same event, has written it.
struct OtherRun {
    clock: TestClock,
    copied: Mutex<Option<[PathBuf; 2]>>,
}

#[async_trait]
impl Clock for OtherRun {
    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    fn work_now(&self) -> DateTime<Utc> {
        if let Some([from, to]) = self.copied.lock().unwrap().take() {
            fs::copy(from, to).unwrap();
        }
        self.clock.work_now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.clock.wait_until(at).await;
    }

    async fn wait(&self, work: Duration) {
        self.clock.wait(work).await;
    }
}

#[tokio::test]
async fn an_event_that_is_handed_over_twice_is_no_failure_and_the_backup_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (world, archiver) = installation(folder.path()).await;
    let objects = objects(folder.path());
    let begun = archiver.handle(backup(), world.clock.work_now()).await.unwrap();
    let progress = |n| file(folder.path(), &begun, &format!("progress-{n}.jsonl"));
    let copied = Mutex::new(Some([progress(1), progress(2)]));
    let clock = Arc::new(OtherRun { clock: world.clock.clone(), copied });
    let second = Function::new("jobs".to_owned(), objects.clone(), &world.dynamodb, clock)
        .with_backups(NonZeroU32::new(2));
    let said = second.handle(due(), world.clock.work_now()).await.unwrap();
    assert_eq!(said, json!({"backup": null, "done": false}));
    assert_eq!(failed(&world, &second), 0);

    let said = archiver.handle(due(), in_time(&world)).await.unwrap();
    assert_eq!((&said["backup"], &said["done"]), (&begun["backup"], &json!(true)));
    assert_eq!(lines(&world, &objects, said["backup"].as_str().unwrap()).await.len(), 1 + 3);
}

/// What a policy names of a request: its action, and its index.
pub(super) type Request = (String, Option<String>);

/// Notes requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<Mutex<BTreeSet<Request>>>);

impl Requests {
    pub(super) fn made(&self) -> BTreeSet<Request> {
        self.0.lock().unwrap().clone()
    }
}

impl Intercept for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let AwsCall { action, body } = AwsCall::of(context.request());
        let index = body["IndexName"].as_str().map(str::to_owned);
        // A transaction is allowed by what is in it.
        let inside = body["TransactItems"].as_array().into_iter().flatten();
        let inside = inside.flat_map(|item| item.as_object().unwrap().keys());
        let mut actions: Vec<_> = inside.map(|name| format!("{name}Item")).collect();
        if actions.is_empty() {
            actions.push(action);
        }
        let actions = actions.into_iter().map(|it| (format!("dynamodb:{it}"), index.clone()));
        self.0.lock().unwrap().extend(actions);
        Ok(())
    }
}

#[tokio::test]
async fn the_role_allows_exactly_the_requests_to_the_table_that_a_backup_makes() {
    let folder = tempfile::tempdir().unwrap();
    let (world, _) = installation(folder.path()).await;
    let requests = Requests::default();
    let config = world.dynamodb.config().to_builder().interceptor(requests.clone());
    let clock = Arc::new(world.clock.clone());
    let client = Client::from_conf(config.build());
    let archiver = Function::new("jobs".to_owned(), objects(folder.path()), &client, clock)
        .with_backups(NonZeroU32::new(1));
    archiver.handle(backup(), in_time(&world)).await.unwrap();

    assert_eq!(requests.made(), allowed_of_the_table(&Template::read(), "DailyBackupPolicy"));
}

/// The requests to the table that a policy allows.
pub(super) fn allowed_of_the_table(template: &Template, policy: &str) -> BTreeSet<Request> {
    let policy = template.properties(policy)["PolicyDocument"]["Statement"].clone();
    let mut allowed = BTreeSet::new();
    for statement in policy.as_array().unwrap() {
        let index = statement["Resource"]["Fn::Sub"].as_str().unwrap_or_default();
        let index = index.strip_prefix("${Table.Arn}/index/").map(str::to_owned);
        let actions = match &statement["Action"] {
            Value::Array(list) => list.clone(),
            one => vec![one.clone()],
        };
        let actions = actions.iter().map(|it| it.as_str().unwrap().to_owned());
        let of_table = actions.filter(|action| action.starts_with("dynamodb:"));
        allowed.extend(of_table.map(|action| (action, index.clone())));
    }
    allowed
}
