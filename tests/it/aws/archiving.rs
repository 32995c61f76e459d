//! The archiver behind a stream that repeats batches, cuts them in two and loses them: in the end every
//! execution is in the archive's view exactly once, and the API reads it back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive::{Line, Stream, unpack};
use minutehand_archive_objects::{Location, Objects};
use minutehand_archiver::{Event, Function};
use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::Clock;
use minutehand_runtime::SystemClock;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::world::{COLLECTION, Item, World};
use crate::template::Template;
use crate::template::archive::filters;

const SECRET: &str = "correct horse battery staple";
const JOBS: [&str; 4] = ["one", "two", "three", "four"];
/// How many times every job runs.
const RUNS: usize = 12;
/// Entries of the journal: the collection, each job, and each run that was asked for.
const NOTED: usize = 1 + JOBS.len() * (1 + RUNS);

/// Numbers: the same ones for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        // Knuth's constants; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// A value as the service writes it.
fn written(value: &aws_sdk_dynamodb::types::AttributeValue) -> Value {
    use aws_sdk_dynamodb::types::AttributeValue as It;
    match value {
        It::S(text) => json!({"S": text}),
        It::N(number) => json!({"N": number}),
        It::B(bytes) => json!({"B": STANDARD.encode(bytes.as_ref())}),
        It::Bool(flag) => json!({"BOOL": flag}),
        It::L(list) => json!({"L": list.iter().map(written).collect::<Vec<_>>()}),
        other => panic!("{other:?} is not stored by anything"),
    }
}

fn image(item: &Item) -> Value {
    item.iter()
        .map(|(name, value)| (name.clone(), written(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Whether a record matches a filter.
fn matches(pattern: &Value, record: Option<&Value>) -> bool {
    match pattern {
        Value::Object(fields) => {
            fields.iter().all(|(name, inner)| matches(inner, record.and_then(|it| it.get(name))))
        }
        rules => rules.as_array().unwrap().iter().any(|rule| match &rule["prefix"] {
            Value::String(prefix) => {
                record.and_then(Value::as_str).is_some_and(|text| text.starts_with(prefix))
            }
            _ => rule["exists"] == true && record.is_some(),
        }),
    }
}

/// The stream of a table.
#[derive(Default)]
struct ChangeStream {
    seen: BTreeMap<(String, String), Item>,
    records: Vec<Value>,
}

impl ChangeStream {
    /// Adds what has changed since the last time.
    async fn follow(&mut self, world: &World) {
        let items = world.items().await;
        for (key, item) in &items {
            if !self.seen.contains_key(key) && item.contains_key("ended_at") {
                // It was claimed before it ended.
                let mut claim = item.clone();
                claim.retain(|name, _| ["pk", "sk", "claim_id"].contains(&name.as_str()));
                self.add(key, Some(&claim));
            }
            if self.seen.get(key) != Some(item) {
                self.add(key, Some(item));
            }
        }
        let gone: Vec<_> =
            self.seen.keys().filter(|key| !items.contains_key(*key)).cloned().collect();
        for key in gone {
            self.add(&key, None);
        }
        self.seen = items;
    }

    fn add(&mut self, (pk, sk): &(String, String), item: Option<&Item>) {
        let mut change = json!({
            "Keys": {"pk": {"S": pk}, "sk": {"S": sk}},
            "SequenceNumber": format!("{:021}", self.records.len() + 1),
            "StreamViewType": "NEW_IMAGE",
        });
        if let Some(item) = item {
            change["NewImage"] = image(item);
        }
        self.records.push(json!({"eventName": "MODIFY", "dynamodb": change}));
    }

    /// What the mapping hands over of it.
    fn filtered(&self) -> Vec<Value> {
        let filters = filters(&Template::read());
        let passes = |record: &&Value| filters.iter().any(|filter| matches(filter, Some(record)));
        self.records.iter().filter(passes).cloned().collect()
    }
}

fn event(records: &[Value]) -> Event {
    serde_json::from_value(json!({"Records": records})).unwrap()
}

fn objects(folder: &Path) -> Objects {
    Objects::open(&Location::Folder(folder.to_owned()), |_| None, minutehand_runtime::system_now)
        .unwrap()
}

/// Folders need their mark, and buckets do not.
async fn archive() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    objects(folder.path()).create_mark("archive").await.unwrap();
    folder
}

/// Every file below a folder, but for the mark.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.file_name().unwrap() != "minutehand.json" {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Lambda, before a function and an archive with faults.
struct Deliveries<'a> {
    function: &'a Function,
    dynamodb: aws_sdk_dynamodb::Client,
    until: DateTime<Utc>,
    folder: &'a Path,
    scratch: &'a TempDir,
    chance: Chance,
    faults: BTreeMap<&'static str, u32>,
}

impl Deliveries<'_> {
    fn count(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    async fn invoke(&self, batch: &[Value]) -> Value {
        self.function.handle(event(batch), self.until).await.unwrap()
    }

    /// Hands over a batch until it is done.
    async fn deliver(&mut self, batch: &[Value]) {
        match self.chance.below(5) {
            0 if batch.len() > 1 => {
                self.count("cut");
                self.crash(batch).await;
                let (one, other) = batch.split_at(batch.len() / 2);
                Box::pin(self.deliver(one)).await;
                Box::pin(self.deliver(other)).await;
                return;
            }
            1 => {
                self.count("refused");
                // Nothing can be written without the mark.
                let mark = self.folder.join("minutehand.json");
                let kept = fs::read(&mark).unwrap();
                fs::remove_file(&mark).unwrap();
                let answer = self.invoke(batch).await;
                let first = &batch[0]["dynamodb"]["SequenceNumber"];
                assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": first}]}));
                fs::write(&mark, kept).unwrap();
            }
            2 => {
                self.count("repeated");
                // Its answer is lost.
                self.invoke(batch).await;
                let before = files(self.folder);
                self.invoke(batch).await;
                assert_eq!(files(self.folder), before, "the same batch overwrites itself");
                return;
            }
            _ => {}
        }
        assert_eq!(self.invoke(batch).await, json!({"batchItemFailures": []}));
    }

    /// Writes some of the objects of a batch, as a function that ends then.
    async fn crash(&mut self, batch: &[Value]) {
        for file in files(self.scratch.path()) {
            fs::remove_file(file).unwrap();
        }
        let clock = Arc::new(SystemClock);
        let dynamodb = self.dynamodb.clone();
        let other = Function::new("t".to_owned(), objects(self.scratch.path()), &dynamodb, clock);
        other.handle(event(batch), self.until).await.unwrap();
        for file in files(self.scratch.path()) {
            if self.chance.below(2) == 0 {
                let to = self.folder.join(file.strip_prefix(self.scratch.path()).unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(file, to).unwrap();
            }
        }
    }
}

/// The history of a job as the API answers it, page by page.
async fn history(world: &World, job: &str, query: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut query = format!("api-version=2016-03-01{query}");
    loop {
        let (status, page) = world
            .event(json!({
                "version": "2.0",
                "rawPath": format!("{COLLECTION}/jobs/{job}/history"),
                "rawQueryString": query,
                "headers": {"authorization": "Bearer open-sesame"},
                "requestContext": {
                    "domainName": "jobs.example",
                    "stage": "$default",
                    "http": {"method": "GET"},
                },
            }))
            .await;
        assert_eq!(status, 200, "{page}");
        all.extend(page["value"].as_array().unwrap().iter().cloned());
        let Some(next) = page["nextLink"].as_str() else {
            return all;
        };
        query = next.split_once('?').unwrap().1.to_owned();
        assert!(all.len() < 1_000, "it ends");
    }
}

/// An installation in which jobs ran on several days and were changed, its stream, and its history.
async fn lived(folder: &Path) -> (World, ChangeStream, BTreeMap<&'static str, Vec<Value>>) {
    let mut world = World::with_archive(objects(folder)).await;
    let mut stream = ChangeStream::default();
    for name in JOBS {
        let secret = json!({
            "startTime": "2031-01-01T00:00:00Z",
            "action": {
                "type": "http",
                "request": {
                    "method": "GET",
                    "uri": world.target.url(),
                    "authentication": {"type": "Basic", "username": "u", "password": SECRET},
                },
            },
        });
        world.put_job(name, secret).await;
    }
    stream.follow(&world).await;
    for _ in 0..RUNS {
        for name in JOBS {
            let (status, _) =
                world.call("POST", &format!("{COLLECTION}/jobs/{name}/run"), "").await;
            assert_eq!(status, 200);
        }
        stream.follow(&world).await;
        let sent = world.sent();
        assert!(world.deliver(&sent).await.is_empty());
        stream.follow(&world).await;
        world.advance(5 * 3_600);
    }
    let mut all = BTreeMap::new();
    for name in JOBS {
        let history = history(&world, name, "").await;
        assert_eq!(history.len(), RUNS);
        all.insert(name, history);
    }
    (world, stream, all)
}

#[tokio::test]
async fn whatever_the_stream_does_every_execution_is_in_the_view_exactly_once() {
    let first = archive().await;
    let (world, stream, expected) = lived(first.path()).await;
    let records = stream.filtered();
    let attempts = records
        .iter()
        .filter(|it| it["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap().starts_with("H#"));
    assert_eq!(attempts.count(), JOBS.len() * RUNS, "one record for each execution");
    assert!(stream.records.len() > 2 * records.len(), "most changes never reach the function");
    let changes = records.len() - JOBS.len() * RUNS;
    assert_eq!(changes, NOTED, "and one for each change and each run that a user asked for");
    let function = world.archiver.as_ref().unwrap();
    let now = world.clock.work_now();
    world.clock.0.advance(HistoryDays::default().span() + TimeDelta::days(30));
    let mut faults = BTreeMap::new();
    for seed in 0..12 {
        for file in files(first.path()) {
            fs::remove_file(file).unwrap();
        }
        let scratch = archive().await;
        let chance = Chance(seed);
        let until = world.clock.work_now() + TimeDelta::minutes(5);
        let folder = first.path();
        let mut lambda = Deliveries {
            function,
            dynamodb: world.dynamodb.clone(),
            until,
            folder,
            scratch: &scratch,
            chance,
            faults: BTreeMap::new(),
        };
        let mut lost = false;
        let mut rest = records.as_slice();
        while !rest.is_empty() {
            let length = (1 + lambda.chance.below(15)).min(rest.len());
            let (batch, behind) = rest.split_at(length);
            rest = behind;
            if lambda.chance.below(6) == 0 {
                lambda.count("lost");
                lost = true;
            } else {
                lambda.deliver(batch).await;
            }
        }
        let mut day = now.date_naive() - TimeDelta::days(4);
        while lost && day <= now.date_naive() {
            let request = serde_json::from_value(json!({"repair": day.to_string()})).unwrap();
            let answer = function.handle(request, until).await.unwrap();
            assert_eq!((&answer["unreadable"], &answer["next"]), (&json!(0), &Value::Null));
            day += TimeDelta::days(1);
        }
        for (name, expected) in &expected {
            assert_eq!(
                &history(&world, name, "&archive=true").await,
                expected,
                "seed {seed}, {name}"
            );
        }
        assert_eq!(changes_in(first.path()), changes, "seed {seed}");
        for (fault, times) in lambda.faults {
            *faults.entry(fault).or_insert(0) += times;
        }
    }
    let met: Vec<_> = faults.keys().copied().collect();
    assert_eq!(met, ["cut", "lost", "refused", "repeated"], "{faults:?}");
}

/// How many changes the journals in an archive have.
fn changes_in(folder: &Path) -> usize {
    let mut keys = BTreeSet::new();
    for file in files(&folder.join("audit")) {
        let contents = unpack("o", &fs::read(file).unwrap());
        for line in contents.lines {
            let Line { uid, key, .. } = Line::read(Stream::Audit, &line).unwrap();
            keys.insert((uid, key));
        }
    }
    keys.len()
}

#[tokio::test]
async fn no_secret_reaches_a_file_sealed_or_not() {
    let folder = archive().await;
    let (world, stream, _) = lived(folder.path()).await;
    let function = world.archiver.as_ref().unwrap();
    let until = world.clock.work_now() + TimeDelta::minutes(5);
    function.handle(event(&stream.filtered()), until).await.unwrap();
    // Even if the filters were gone.
    function.handle(event(&stream.records), until).await.unwrap();
    let mut sealed = 0;
    let mut texts = Vec::new();
    for file in files(folder.path()) {
        let contents = unpack("o", &fs::read(file).unwrap());
        assert_eq!(contents.damage, None);
        texts.extend(contents.lines);
    }
    assert!(texts.len() > JOBS.len() * RUNS);
    for record in &stream.records {
        let fields = record["dynamodb"]["NewImage"].as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| name.contains("sealed")) {
            let value = value.as_object().unwrap().values().next().unwrap().to_string();
            let value = value.trim_matches('"');
            sealed += 1;
            assert!(texts.iter().all(|text| !text.contains(value)), "{name}");
        }
    }
    assert!(sealed >= JOBS.len(), "the jobs have sealed secrets");
    assert!(texts.iter().all(|text| !text.contains(SECRET) && !text.contains("sealed")));
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_set_aside_and_holds_up_nothing() {
    let folder = archive().await;
    let (world, stream, _) = lived(folder.path()).await;
    let function = world.archiver.as_ref().unwrap();
    let until = world.clock.work_now() + TimeDelta::minutes(5);
    let mut records = stream.filtered();
    let all = records.len();
    let is_attempt = |record: &Value| record["dynamodb"]["NewImage"]["ended_at"].is_object();
    let one = records.iter().position(is_attempt).unwrap();
    records[one]["dynamodb"]["NewImage"]["ended_at"] = json!({"N": "never"});
    let other = records.iter().rposition(is_attempt).unwrap();
    records[other]["dynamodb"]["NewImage"]["message"] = json!({"B": "not Base64!"});
    let answer = function.handle(event(&records), until).await.unwrap();
    assert_eq!(answer, json!({"batchItemFailures": []}));
    let aside = files(&folder.path().join("failed/records"));
    assert_eq!(aside.len(), 2);
    let kept: Value = serde_json::from_slice(&fs::read(&aside[0]).unwrap()).unwrap();
    assert_eq!(kept, records[one]["dynamodb"]["NewImage"], "with all that it had");
    let lines = ["history", "audit"].iter().flat_map(|kind| files(&folder.path().join(kind)));
    let lines: usize = lines.map(|file| unpack("o", &fs::read(file).unwrap()).lines.len()).sum();
    assert_eq!(lines, all - 2);
    let counted = world.counted(function.tally());
    assert_eq!((&counted["Trouble"], &counted["RecordsUnreadable"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn requests_that_are_none_say_what_to_give() {
    let folder = archive().await;
    let world = World::with_archive(objects(folder.path())).await;
    let function = world.archiver.as_ref().unwrap();
    for request in [
        json!({}),
        json!({"repair": "yesterday"}),
        json!({"repair": "2030-01-01", "from": "the beginning"}),
    ] {
        let request = serde_json::from_value(request).unwrap();
        let error = function.handle(request, world.clock.work_now()).await.unwrap_err();
        assert!(
            error.to_string().contains("give a day, as {\"repair\": \"2026-11-21\"}"),
            "{error}"
        );
    }
}

/// A repair that has no time left says where to go on, and going on ends.
#[tokio::test]
async fn a_repair_goes_on_where_its_time_ended() {
    let folder = archive().await;
    let (world, _, expected) = lived(folder.path()).await;
    let function = world.archiver.as_ref().unwrap();
    let now = world.clock.work_now();
    let (mut day, mut lines) = (now.date_naive() - TimeDelta::days(4), 0);
    while day <= now.date_naive() {
        let mut from = Value::Null;
        loop {
            let request = json!({"repair": day.to_string(), "from": from});
            let request = serde_json::from_value(request).unwrap();
            let answer = function.handle(request, now).await.unwrap();
            lines += answer["lines"].as_u64().unwrap();
            from = answer["next"].clone();
            if from.is_null() {
                break;
            }
        }
        day += TimeDelta::days(1);
    }
    let attempts = expected.values().map(Vec::len).sum::<usize>();
    assert_eq!(lines, (attempts + NOTED) as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_executor_keeps_the_body_of_a_failure_and_the_api_returns_it() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Folder(folder.path().to_owned());
    let objects = Objects::open(&location, |_| None, DateTime::default).unwrap();
    objects.create_mark("archive").await.unwrap();
    let mut world = World::with_archive(objects).await;
    for (name, status) in [("well", 200), ("broken", 500)] {
        world.target.answer(status);
        world.target.say("out of paper");
        world.put_job(name, json!({})).await;
        let sent = world.sent();
        world.deliver(&sent).await;
        let history = world.history(name).await;
        let [attempt] = history.as_slice() else { panic!("{name}: {history:?}") };
        let kept = attempt["properties"]["minutehand"]["bodyBytes"].as_u64();
        assert_eq!(kept, (status == 500).then_some(12), "{attempt}");
        let own = attempt["name"].as_str().unwrap().rsplit('/').next().unwrap();
        let path = COLLECTION.replace("providers/Microsoft.Scheduler/", "");
        let path = format!("/minutehand/v1{path}/jobs/{name}/history/{own}/body");
        let event = json!({
            "version": "2.0", "rawPath": path, "rawQueryString": "",
            "headers": {"authorization": "Bearer open-sesame"},
            "requestContext": {"domainName": "jobs.example", "stage": "$default",
                "http": {"method": "GET"}},
        });
        let answer = world.answer(event).await;
        if status == 500 {
            assert_eq!(
                (&answer["statusCode"], &answer["body"]),
                (&json!(200), &json!("out of paper"))
            );
            assert_eq!(answer["headers"]["x-content-type-options"], "nosniff");
        } else {
            assert_eq!(answer["statusCode"], 404, "{answer}");
        }
    }
    // An archive that fails costs the body, and neither the attempt nor its record.
    fs::remove_file(folder.path().join("minutehand.json")).unwrap();
    world.put_job("unkept", json!({})).await;
    let sent = world.sent();
    world.deliver(&sent).await;
    let history = world.history("unkept").await;
    let [attempt] = history.as_slice() else { panic!("{history:?}") };
    assert_eq!(attempt["properties"]["minutehand"]["bodyBytes"], Value::Null, "{attempt}");
}
