//! How the archiver moves an installation: an export of the table into the place of the archive, and an
//! import from there, with the key of a file that KMS has encrypted.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive::SealedWith;
use minutehand_archiver::Function;
use minutehand_ports::Clock as _;
use minutehand_sealer_kms::KmsSealer;
use minutehand_testkit::aws::{AwsAnswer, FakeAws};
use minutehand_testkit::fake_client;
use serde_json::{Value, json};

use super::backups::{Requests, allowed_of_the_table, in_time, objects, put_jobs};
use super::world::{COLLECTION, DATA_KEY, World};
use crate::template::Template;

/// What KMS makes of the file with a key, and of a file without one.
const FILE: &str = "b2YgdGhlIGZpbGU=";
const NO_KEY: &str = "b2Ygbm8ga2V5";
/// The names of the jobs that are moved.
const JOBS: [&str; 3] = ["one", "two", "three"];

/// An archiver that may move the installation of a world.
fn mover(world: &World, client: &Client, folder: &Path) -> Function {
    let kms = FakeAws::new(|call| {
        let plain = match call.body["CiphertextBlob"].as_str() {
            Some(FILE) => STANDARD.encode("07".repeat(32) + "\n"),
            Some(NO_KEY) => STANDARD.encode("no key"),
            _ => DATA_KEY.to_owned(),
        };
        AwsAnswer::Done(json!({"KeyId": "key", "Plaintext": plain, "CiphertextBlob": "c2VhbGVk"}))
    });
    let key = KmsSealer::new(fake_client!(aws_sdk_kms, kms), "key");
    let clock = Arc::new(world.clock.clone());
    Function::new("jobs".to_owned(), objects(folder), client, clock).with_moving(Some(key.into()))
}

/// An installation with three jobs that have secrets, and its archiver.
async fn full(folder: &Path) -> (World, Function) {
    let world = World::with_archive(objects(folder)).await;
    put_jobs(&world, &JOBS).await;
    let mover = mover(&world, &world.dynamodb, folder);
    (world, mover)
}

async fn empty(folder: &Path) -> (World, Function) {
    let world = World::without_collection(objects(folder)).await;
    let mover = mover(&world, &world.dynamodb, folder);
    (world, mover)
}

/// The answer of a function, or its error.
async fn ask(mover: &Function, event: &Value, until: DateTime<Utc>) -> Result<Value, String> {
    let event = serde_json::from_value(event.clone()).unwrap();
    mover.handle(event, until).await.map_err(|error| {
        assert_eq!(error.error_type().to_string(), "MoveFailed");
        minutehand_runtime::chain(&error)
    })
}

/// The answer to an export with the key of a file.
async fn exported((world, mover): &(World, Function)) -> Value {
    ask(mover, &json!({"export": {"key": FILE}}), in_time(world)).await.unwrap()
}

/// A change opens the secrets of a job.
async fn assert_secrets_open(world: &World) {
    let change = json!({"properties": {"startTime": "2032-01-01T00:00:00Z"}}).to_string();
    for name in JOBS {
        let path = format!("{COLLECTION}/jobs/{name}");
        assert_eq!(world.call("PATCH", &path, &change).await.0, 200, "{name}");
    }
}

#[tokio::test]
async fn an_export_goes_into_another_table_with_its_secrets_under_the_key_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let said = exported(&full(folder.path()).await).await;
    let backup = said["backup"].as_str().unwrap();
    let on = json!({"count": 1, "names": ["s/g/jc"]});
    assert_eq!(
        said,
        json!({
            "backup": backup, "collections": 1, "jobs": 3, "retries": 0, "secrets": 3,
            "unreadable": 0, "on": on,
        })
    );
    let (manifest, _) = objects(folder.path()).manifest(backup).await.unwrap().unwrap();
    assert_eq!(manifest.about.sealed_with, SealedWith::KeyFile);
    assert_eq!(manifest.about.schedule_of, None);

    let (target, mover) = empty(folder.path()).await;
    let import = json!({"import": {"backup": backup, "key": FILE}});
    let said = ask(&mover, &import, in_time(&target)).await.unwrap();
    assert_eq!(
        said,
        json!({
            "backup": backup, "collections": 1, "jobs": 3, "retries": 0, "on": on, "next": null,
        })
    );
    let (_, collection) = target.call("GET", COLLECTION, "").await;
    assert_eq!(collection["properties"]["state"], "Disabled", "{collection}");
    assert_secrets_open(&target).await;
    let again = ask(&mover, &import, in_time(&target)).await.unwrap_err();
    assert!(again.contains("has collections already"), "{again}");
}

#[tokio::test]
async fn a_backup_of_the_schedule_needs_the_same_key_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (source, mover) = full(folder.path()).await;
    let mover = mover.with_backups(std::num::NonZeroU32::new(2));
    let said = ask(&mover, &json!({"backup": true}), in_time(&source)).await.unwrap();
    let (target, mover) = empty(folder.path()).await;
    ask(&mover, &json!({"import": {"backup": said["backup"]}}), in_time(&target)).await.unwrap();
    assert_secrets_open(&target).await;
}

#[tokio::test]
async fn an_import_whose_time_is_over_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let said = exported(&full(folder.path()).await).await;
    let (target, mover) = empty(folder.path()).await;
    let mut import = json!({"import": {"backup": said["backup"], "key": FILE}});
    // Two files: one of collections, and one of jobs.
    for next in [json!(1), json!(null)] {
        let said = ask(&mover, &import, target.clock.work_now()).await.unwrap();
        assert_eq!(said["next"], next, "{said}");
        import["import"]["from"] = next;
    }
    assert_secrets_open(&target).await;
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let source = full(folder.path()).await;
    let late = source.0.clock.work_now() + TimeDelta::minutes(1);
    let error = ask(&source.1, &json!({"export": {}}), late).await.unwrap_err();
    assert!(error.contains("the time was over after 0 things"), "{error}");
    source.0.advance(60);
    let said = exported(&source).await;
    let backup = &said["backup"];
    let (target, mover) = empty(folder.path()).await;
    for (event, why) in [
        (json!({"import": {"backup": backup}}), "sealed with the key of a file"),
        (json!({"import": {"backup": backup, "key": "?"}}), "'key' is not a key"),
        (json!({"import": {"backup": backup, "key": NO_KEY}}), "'key' is not a key"),
        (json!({"export": {"key": NO_KEY}}), "'key' is not a key"),
        (
            json!({"import": {"backup": "2020-01-01T000000Z"}}),
            "there is no backup 2020-01-01T000000Z",
        ),
    ] {
        let error = ask(&mover, &event, in_time(&target)).await.unwrap_err();
        assert!(error.contains(why), "{event}: {error}");
    }
    let without = mover.with_moving(None);
    for event in [json!({"export": {}}), json!({"import": {"backup": backup}})] {
        let error = ask(&without, &event, in_time(&target)).await.unwrap_err();
        assert!(error.contains("deploy with Moving=yes"), "{error}");
    }
    assert!(target.items().await.is_empty());
}

#[tokio::test]
async fn the_role_allows_exactly_the_requests_to_the_table_that_a_move_makes() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = BTreeSet::new();
    let (source, _) = full(folder.path()).await;
    let (target, _) = empty(folder.path()).await;
    let mut event = json!({"export": {"key": FILE}});
    for world in [source, target] {
        let requests = Requests::default();
        let config = world.dynamodb.config().to_builder().interceptor(requests.clone());
        let mover = mover(&world, &Client::from_conf(config.build()), folder.path());
        let said = ask(&mover, &event, in_time(&world)).await.unwrap();
        event = json!({"import": {"backup": said["backup"], "key": FILE}});
        made.extend(requests.made());
    }
    assert_eq!(made, allowed_of_the_table(&Template::read(), "MovingPolicy"));
}
