//! The daily backup of the archiver, over the table and a place of an archive: what it writes, when it
//! fails, and with which requests.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{TryStreamExt as _, stream};
use minutehand_archive::{BackupAbout, SealedWith};
use minutehand_archive_objects::{ArchiveError, Location, Objects};
use minutehand_archiver::{BackupFailed, Event, Function, RequestFailed};
use minutehand_carry::{carried, read_line};
use minutehand_ports::Clock as _;
use minutehand_ports::store::Found;
use minutehand_testkit::aws::AwsCall;
use serde_json::{Value, json};

use super::world::World;
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
                "backup": written.last(), "collections": 1, "jobs": 3, "retries": 0,
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
async fn a_backup_without_time_or_place_is_an_error_and_trouble_and_none_is_left() {
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
    let error = archiver.handle(backup(), world.clock.work_now()).await.unwrap_err();
    assert!(matches!(error, RequestFailed::Backup(BackupFailed::TooLong(0))), "{error}");
    assert!(error.to_string().contains("larger Size"), "{error}");
    assert_eq!(error.error_type().to_string(), "BackupFailed");
    let troubles = || {
        let line = world.counted(archiver.tally());
        [line["Trouble"].clone(), line["BackupsFailed"].clone()]
    };
    assert_eq!(troubles(), [json!(1), json!(1)]);
    assert!(!is_complete().await);

    fs::write(folder.path().join("backup"), "in the way").unwrap();
    let error = archiver.handle(backup(), in_time(&world)).await.unwrap_err();
    assert!(matches!(error, RequestFailed::Backup(BackupFailed::Archive(_))), "{error}");
    assert_eq!(troubles(), [json!(1), json!(1)]);
    fs::remove_file(folder.path().join("backup")).unwrap();

    let without = archiver.with_backups(None);
    let error = without.handle(backup(), in_time(&world)).await.unwrap_err();
    assert!(error.to_string().contains("BackupsKept above 0"), "{error}");
    assert!(!is_complete().await);
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
