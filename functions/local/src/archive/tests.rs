//! An archive in a folder beside a store, day by day.

use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::TryStreamExt as _;
use minutehand_archive::{
    BackupAbout, Execution, JobHistory, Line, SealedWith, Stream, backup_time, day_folder,
};
use minutehand_archive_objects::{ArchivedHistory, Location};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::history_days::HistoryPast;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{Claim, ClaimRequest, Claimed, HistoryEntry, PageRequest, Recorded};
use minutehand_ports::{Attempts as _, History as _};
use minutehand_store_sql::sqlite::Database;
use tempfile::TempDir;

use super::*;

#[path = "../../tests/serve/bucket.rs"]
mod bucket;

use bucket::{BAD, Service};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

fn day(n: i64) -> NaiveDate {
    at(n * DAY).date_naive()
}

struct World {
    jobs: SqlStore,
    data: TempDir,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let (database, _threads) = Database::in_memory().unwrap();
        let jobs = SqlStore::new(database);
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Self { jobs, data, folder }
    }

    /// An attempt of a job that was due and ended at this second.
    async fn execute(&self, job: &str, second: i64) {
        self.end(job, second, second).await;
    }

    /// An attempt that was due at one time and ended at another.
    async fn end(&self, job: &str, due: i64, ended: i64) {
        let job =
            JobRef { uid: job.to_owned(), collection_uid: "c".to_owned(), key: "k".to_owned() };
        let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at: at(due) });
        let lease_until = at(ended) + TimeDelta::seconds(100);
        let claim = Claim { job, attempt, claim_id: "w".to_owned(), lease_until };
        let request = ClaimRequest { claim: claim.clone(), now: at(ended) };
        assert_eq!(self.jobs.claim(&request).await.unwrap(), Claimed::Won);
        let record = Record::new([at(due), at(ended)], Outcome::Succeeded, "done");
        assert_eq!(self.jobs.record(&claim, &record).await.unwrap(), Recorded::Kept);
    }

    fn objects(&self) -> Objects {
        let location = Location::Folder(self.folder.path().to_owned());
        Objects::open(&location, |_| None, minutehand_runtime::system_now).unwrap()
    }

    async fn archiver(&self) -> Result<Archiver> {
        self.archiver_with(HistoryDays::Sixty).await
    }

    async fn archiver_with(&self, history: HistoryDays) -> Result<Archiver> {
        let data = Some(self.data.path());
        Archiver::open(self.objects(), data, "new-id".to_owned(), history).await
    }

    /// What the hourly task does.
    async fn hour(&self, archiver: &mut Archiver, now: i64) -> u64 {
        archiver.catch_up(&self.jobs, at(now)).await.unwrap();
        self.remove(archiver, now).await
    }

    async fn remove(&self, archiver: &Archiver, now: i64) -> u64 {
        let until = archiver.archived_until();
        self.jobs.remove_expired(at(now), at(now), Some(until)).await.unwrap()
    }

    /// The names of all objects of history, with their day.
    async fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for day in self.objects().days(Stream::History).await.unwrap() {
            for name in self.objects().names(Stream::History, day).await.unwrap() {
                names.push(format!("{day}/{name}"));
            }
        }
        names
    }

    /// The seconds at which the archive says that a job was due, the newest first.
    async fn archived(&self, job: &str) -> Vec<i64> {
        let mut history = JobHistory::of(job, None);
        for day in self.objects().days(Stream::History).await.unwrap() {
            for name in self.objects().names(Stream::History, day).await.unwrap() {
                let contents = self.objects().read(Stream::History, day, &name).await.unwrap();
                assert_eq!(contents.damage, None);
                for line in contents.lines {
                    history.add(Execution::read(&line).unwrap());
                }
            }
        }
        let all = history.first(usize::MAX).0;
        all.iter().map(|it| it.attempt.occurrence.nominal_at().timestamp()).collect()
    }

    fn file(&self, n: i64) -> PathBuf {
        let folder = self.folder.path().join(day_folder(Stream::History, day(n)));
        fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
    }
}

#[tokio::test]
async fn a_day_is_archived_when_it_is_over_and_deleted_when_it_has_expired() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    for hour in 0..48 {
        world.execute("1a", hour * HOUR).await;
    }
    world.execute("2b", 5 * HOUR).await;
    assert_eq!(world.hour(&mut archiver, 2 * DAY + HOUR - 1).await, 0);
    assert_eq!(world.archived("1a").await.len(), 24, "the second day may still get an attempt");
    assert_eq!(world.archived("2b").await, [5 * HOUR]);
    assert_eq!(world.hour(&mut archiver, 2 * DAY + HOUR).await, 0);
    assert_eq!(world.archived("1a").await.len(), 48);
    let names = world.names().await;
    assert_eq!(names.len(), 2, "{names:?}");

    // The first record expires, and not the second one.
    assert_eq!(world.hour(&mut archiver, 60 * DAY).await, 1);
    assert_eq!(world.hour(&mut archiver, 62 * DAY).await, 48);
    assert_eq!(world.archived("1a").await, (0..48).rev().map(|n| n * HOUR).collect::<Vec<_>>());
    assert_eq!(world.names().await, names, "the second time makes the same objects");
}

#[tokio::test]
async fn without_its_archive_history_stays_and_nothing_is_written_elsewhere() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.execute("1a", HOUR).await;
    // Its file system is gone: the folder is empty.
    let mark = world.folder.path().join("minutehand.json");
    let kept = fs::read(&mark).unwrap();
    fs::remove_file(&mark).unwrap();
    for now in [2 * DAY, 90 * DAY] {
        let error = archiver.catch_up(&world.jobs, at(now)).await.unwrap_err();
        assert!(error.to_string().contains("no file minutehand.json"), "{error:#}");
        assert_eq!(world.remove(&archiver, now).await, 0);
    }
    assert!(archiver.health.trouble().is_some());
    // The next start waits for it, too. A mark that is damaged is no other archive.
    for damaged in [None, Some(""), Some("<html>"), Some(r#"{"format":1}"#)] {
        if let Some(text) = damaged {
            fs::write(&mark, text).unwrap();
        }
        let mut archiver = world.archiver().await.unwrap();
        assert!(archiver.health.trouble().is_some());
        archiver.catch_up(&world.jobs, at(90 * DAY)).await.unwrap_err();
        assert_eq!(world.remove(&archiver, 90 * DAY).await, 0, "{damaged:?}");
    }
    assert_eq!(fs::read_dir(world.folder.path()).unwrap().count(), 1, "only the mark");

    fs::write(&mark, kept).unwrap();
    assert_eq!(world.hour(&mut archiver, 90 * DAY).await, 1);
    assert_eq!(archiver.health.trouble(), None);
    assert_eq!(world.archived("1a").await, [HOUR]);

    // Another archive in the same place is not taken for it.
    fs::write(&mark, r#"{"format":1,"id":"another"}"#).unwrap();
    for error in [
        archiver.catch_up(&world.jobs, at(91 * DAY)).await.unwrap_err(),
        world.archiver().await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("another archive is at"), "{error:#}");
    }
}

#[tokio::test]
async fn whatever_a_bucket_answers_history_stays_until_it_answers_well_again() {
    for bad in BAD {
        let (world, service) = (World::new(), Service::start());
        let variables = service.variables();
        let value = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.clone());
        let location = Location::parse("s3://bucket/a").unwrap();
        let open = || {
            let objects = Objects::open(&location, value, minutehand_runtime::system_now).unwrap();
            Archiver::open(objects, Some(world.data.path()), "a".to_owned(), HistoryDays::Sixty)
        };
        let mut running = open().await.unwrap();
        world.execute("1a", HOUR).await;
        service.is_bad(bad);
        let mut started = open().await.unwrap();
        for archiver in [&mut running, &mut started] {
            archiver.catch_up(&world.jobs, at(90 * DAY)).await.unwrap_err();
            let trouble = archiver.health.trouble().unwrap();
            assert!(trouble.says.contains(bad.says), "{bad:?}: {trouble:?}");
            assert_eq!(world.remove(archiver, 90 * DAY).await, 0, "{bad:?}");
        }
        service.is_bad(None);
        assert_eq!(world.hour(&mut running, 90 * DAY).await, 1, "{bad:?}");
        started.catch_up(&world.jobs, at(90 * DAY)).await.unwrap();
        assert_eq!((running.health.trouble(), started.health.trouble()), (None, None));
    }
}

#[tokio::test]
async fn a_day_counts_as_archived_only_if_the_archive_is_there_afterwards() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.execute("1a", HOUR).await;
    archiver.write_between(&world.jobs, DaySpan { from: None, until: day(1) }).await.unwrap();
    fs::remove_file(world.folder.path().join("minutehand.json")).unwrap();
    // Nothing is to be written, so only a look at the mark notices it.
    let days = DaySpan { from: Some(day(5)), until: day(6) };
    let error = archiver.write_between(&world.jobs, days).await.unwrap_err();
    assert!(error.to_string().contains("no file minutehand.json"), "{error:#}");
}

#[tokio::test]
async fn what_cannot_be_written_is_written_by_a_later_run() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.execute("1a", HOUR).await;
    world.execute("1a", DAY + HOUR).await;
    // A file stands in the place of the second day's folder.
    let in_the_way = world.folder.path().join(day_folder(Stream::History, day(1)));
    fs::create_dir_all(in_the_way.parent().unwrap()).unwrap();
    fs::write(&in_the_way, "").unwrap();
    let error = archiver.catch_up(&world.jobs, at(70 * DAY)).await.unwrap_err();
    assert!(format!("{error:#}").contains("cannot write history/v1/date=1970-01-02/"), "{error:#}");
    assert_eq!(world.remove(&archiver, 70 * DAY).await, 0, "not even the day that was written");
    fs::remove_file(&in_the_way).unwrap();
    // After a crash, the next process knows nothing of the first objects.
    let mut archiver = world.archiver().await.unwrap();
    assert_eq!(world.hour(&mut archiver, 70 * DAY).await, 2);
    assert_eq!(world.archived("1a").await, [DAY + HOUR, HOUR]);
    assert_eq!(world.names().await.len(), 2);
}

#[tokio::test]
async fn what_is_recorded_late_is_archived_before_it_is_deleted() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.execute("1a", HOUR).await;
    world.hour(&mut archiver, 3 * DAY).await;
    // The clock was wrong, and is set back.
    world.hour(&mut archiver, 40 * DAY).await;
    world.execute("1a", 4 * DAY).await;
    world.execute("1a", 2 * HOUR).await;
    world.hour(&mut archiver, 5 * DAY + HOUR).await;
    assert_eq!(world.archived("1a").await, [4 * DAY, 2 * HOUR, HOUR]);
    // A single late one, when the clock is right.
    world.execute("1a", 3 * HOUR).await;
    world.hour(&mut archiver, 6 * DAY).await;
    assert_eq!(world.archived("1a").await.len(), 3);
    assert_eq!(world.hour(&mut archiver, 61 * DAY).await, 3);
    assert_eq!(world.archived("1a").await, [4 * DAY, 3 * HOUR, 2 * HOUR, HOUR]);
}

#[tokio::test]
async fn a_long_retry_is_in_the_day_of_its_occurrence() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.end("1a", HOUR, 100 * DAY).await;
    world.hour(&mut archiver, 102 * DAY).await;
    assert_eq!(world.objects().days(Stream::History).await.unwrap(), [day(0)]);
    assert_eq!(world.hour(&mut archiver, 161 * DAY).await, 1);
    assert_eq!(world.archived("1a").await, [HOUR]);
}

#[tokio::test]
async fn a_repair_replaces_what_is_damaged_and_restores_what_is_missing() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    for n in 0..200 {
        world.execute("1a", n).await;
        world.execute("2b", DAY + n).await;
    }
    world.hour(&mut archiver, 3 * DAY).await;
    let objects = world.objects();
    let intact = repair::run(&world.jobs, &objects, day(0)).await.unwrap();
    assert_eq!(
        intact.to_string(),
        "objects that can be read: 1\nwritten again: 0 lines in 0 objects\n"
    );

    // Truncated, and then deleted.
    let file = world.file(0);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let repaired = repair::run(&world.jobs, &objects, day(0)).await.unwrap().to_string();
    assert!(repaired.contains("replaced: the archive's object history/v1/date=1970-01-01/"));
    assert!(repaired.contains("written again: 200 lines in 1 objects"), "{repaired}");
    assert_eq!(world.archived("1a").await.len(), 200);
    fs::remove_file(world.file(1)).unwrap();
    repair::run(&world.jobs, &objects, day(1)).await.unwrap();
    assert_eq!(world.archived("2b").await.len(), 200);

    // What has expired in the store is saved as far as it can be read.
    world.hour(&mut archiver, 70 * DAY).await;
    let file = world.file(0);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 9]).unwrap();
    repair::run(&world.jobs, &objects, day(0)).await.unwrap();
    let left = world.archived("1a").await.len();
    assert!((150..=200).contains(&left), "{left}");
    assert_eq!(world.names().await.len(), 2, "what was damaged is deleted");
}

#[tokio::test]
async fn lines_of_a_newer_version_are_never_deleted() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.execute("1a", HOUR).await;
    world.hour(&mut archiver, 3 * DAY).await;
    let contents = world.objects().read(Stream::History, day(0), &object_name(&world).await).await;
    let text = contents.unwrap().lines.remove(0).replace("\"v\":1", "\"v\":9");
    let line =
        Line { stream: Stream::History, day: day(0), uid: "1a".into(), key: "k".into(), text };
    let mut batches = minutehand_archive::Batches::default();
    assert!(batches.add(&line).is_none());
    world.objects().put(batches.take_rest().unwrap().pack()).await.unwrap();
    let repaired = repair::run(&world.jobs, &world.objects(), day(0)).await.unwrap().to_string();
    assert!(repaired.contains("left as it is: "), "{repaired}");
    assert!(repaired.contains("a newer version wrote it"), "{repaired}");
    assert_eq!(world.names().await.len(), 2);
}

#[tokio::test]
async fn with_seven_days_the_archive_has_the_rest_whatever_the_setting_was_before() {
    let mut world = World::new();
    let mut past = HistoryPast::default();
    let mut days = 0;
    // 60 days, then 7, then 60 again.
    for (history, until) in
        [(HistoryDays::Sixty, 20), (HistoryDays::Seven, 60), (HistoryDays::Sixty, 90)]
    {
        world.jobs = world.jobs.with_history(history);
        let mut archiver = world.archiver_with(history).await.unwrap();
        for day in days..until {
            world.execute("1a", day * DAY + 12 * HOUR).await;
            let now = (day + 1) * DAY + 2 * HOUR;
            world.hour(&mut archiver, now).await;
            past = past.and(history, at(now));
            let since = past.complete_since(history, at(now));
            let page = PageRequest { from: None, items_max: 500 };
            let stored = world.jobs.list("1a", page).await.unwrap().items.into_iter();
            let is_kept = |entry: &HistoryEntry| entry.is_answered(since);
            let nominal = |entry: HistoryEntry| entry.attempt.occurrence.nominal_at().timestamp();
            let mut all: Vec<i64> = stored.filter(is_kept).map(nominal).collect();
            let kept = i64::try_from(all.len()).unwrap();
            assert!(kept <= history.days().into() && kept >= 7.min(day + 1), "{day}: {kept}");
            all.extend(read_until(&world, "1a", since, 500).await);
            let expected: Vec<_> = (0..=day).rev().map(|day| day * DAY + 12 * HOUR).collect();
            assert_eq!(all, expected, "on day {day} with {history}");
        }
        days = until;
    }
}

/// What has expired at a time ended until this instant.
fn gone_until(now: i64) -> DateTime<Utc> {
    HistoryDays::Sixty.answered_since(at(now))
}

/// The history of a job as the API reads it, page by page; at most so many items each.
async fn read_back(world: &World, job: &str, now: i64, items_max: u32) -> Vec<i64> {
    read_until(world, job, gone_until(now), items_max).await
}

async fn read_until(world: &World, job: &str, until: DateTime<Utc>, items_max: u32) -> Vec<i64> {
    let history = ArchivedHistory::new(Arc::new(world.jobs.clone()), world.objects());
    let (mut from, mut all, mut pages) = (None, Vec::new(), 0);
    loop {
        let request = PageRequest { from, items_max };
        let page = history.list_archived(job, request, until).await.unwrap();
        assert!(page.items.len() <= items_max as usize);
        let nominal = |entry: HistoryEntry| entry.attempt.occurrence.nominal_at().timestamp();
        all.extend(page.items.into_iter().map(nominal));
        from = page.next;
        pages += 1;
        assert!(pages < 1_000);
        if from.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn what_has_expired_reads_back_once_in_the_order_of_the_api_and_nothing_else() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    for hour in 0..72 {
        world.execute("1a", hour * HOUR).await;
    }
    world.execute("1a1", 7 * HOUR).await;
    world.execute("2b", 90 * DAY).await;
    // A retry at the end of the first day's occurrence that ended long after it.
    world.end("1a", 30 * 60, 59 * DAY).await;
    world.hour(&mut archiver, 92 * DAY).await;
    for items_max in [1, 5, 23, 24, 25, 500] {
        let all = read_back(&world, "1a", 91 * DAY, items_max).await;
        let expected: Vec<i64> = (0..72).rev().map(|hour| hour * HOUR).collect();
        assert_eq!(all, expected, "the long retry is still in the store; {items_max} a page");
    }
    assert_eq!(read_back(&world, "1a", 119 * DAY, 10).await.len(), 73);
    assert_eq!(read_back(&world, "1a1", 91 * DAY, 10).await, [7 * HOUR]);
    assert!(read_back(&world, "2b", 91 * DAY, 10).await.is_empty());
    assert_eq!(read_back(&world, "2b", 150 * DAY, 10).await, [90 * DAY]);
    assert!(read_back(&world, "3c", 150 * DAY, 10).await.is_empty());
}

#[tokio::test]
async fn a_page_reads_a_bounded_number_of_days_and_the_next_one_goes_on() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    for n in 0..100 {
        world.execute("2b", n * DAY).await;
    }
    world.execute("1a", HOUR).await;
    world.hour(&mut archiver, 101 * DAY).await;
    let history = ArchivedHistory::new(Arc::new(world.jobs.clone()), world.objects());
    let first = PageRequest { from: None, items_max: 500 };
    let first = history.list_archived("1a", first, gone_until(300 * DAY)).await.unwrap();
    assert!(first.items.is_empty() && first.next.is_some());
    assert_eq!(read_back(&world, "1a", 300 * DAY, 500).await, [HOUR]);
    assert_eq!(read_back(&world, "2b", 300 * DAY, 500).await.len(), 100);
}

#[tokio::test]
async fn a_damaged_object_is_an_error_that_says_how_to_repair_it() {
    let world = World::new();
    let mut archiver = world.archiver().await.unwrap();
    world.execute("1a", HOUR).await;
    world.hour(&mut archiver, 3 * DAY).await;
    let bytes = fs::read(world.file(0)).unwrap();
    fs::write(world.file(0), &bytes[..bytes.len() - 1]).unwrap();
    let history = ArchivedHistory::new(Arc::new(world.jobs.clone()), world.objects());
    let request = PageRequest { from: None, items_max: 10 };
    let error = history.list_archived("1a", request, gone_until(100 * DAY)).await.unwrap_err();
    assert!(error.to_string().contains("`minutehand archive repair` writes its day"), "{error}");
}

/// The process of a server with daily backups, two of them kept, and the second that it tells.
async fn with_backups(world: &World) -> (Archiver, NewestBackup) {
    let newest = NewestBackup::default();
    let (installation, kept) = ("home".to_owned(), NonZeroU32::new(2).unwrap());
    let backups = DailyBackups { installation, kept, newest: newest.clone() };
    let archiver = world.archiver().await.unwrap();
    (Archiver { backups: Some(backups), ..archiver }, newest)
}

/// The seconds at which the backups began that can be imported.
async fn backups(world: &World) -> Vec<i64> {
    let mut complete = Vec::new();
    for name in world.objects().backups().await.unwrap() {
        if world.objects().manifest(&name).await.unwrap().is_some() {
            complete.push(backup_time(&name).unwrap().timestamp());
        }
    }
    complete
}

#[tokio::test]
async fn a_backup_is_written_each_day_and_two_are_kept() {
    let world = World::new();
    let (mut archiver, newest) = with_backups(&world).await;
    assert_eq!(*lock(&newest), None);
    let mut expected = Vec::new();
    for hour in 5..100 {
        archiver.catch_up(&world.jobs, at(hour * HOUR)).await.unwrap();
        archiver.back_up(&world.jobs, at(hour * HOUR)).await.unwrap();
        // The first one at the start, and then when a day is archived.
        if hour == 5 || hour % 24 == 1 {
            expected.push(hour * HOUR);
        }
        let kept = &expected[expected.len().saturating_sub(2)..];
        assert_eq!(backups(&world).await, kept, "after {hour} hours");
        assert_eq!(*lock(&newest), expected.last().copied());
    }
    assert_eq!(expected.len(), 5);

    // Another process writes none on the same day.
    let (mut archiver, newest) = with_backups(&world).await;
    archiver.back_up(&world.jobs, at(110 * HOUR)).await.unwrap();
    assert_eq!((backups(&world).await, *lock(&newest)), (expected[3..].to_vec(), Some(97 * HOUR)));
    // After days without a server, the first run writes one. What a user exported stays.
    let about = BackupAbout {
        at: at(111 * HOUR),
        written_by: "t".to_owned(),
        sealed_with: SealedWith::Installation,
        schedule_of: None,
    };
    let nothing = minutehand_carry::backup_entries(&world.jobs, at(0)).map_err(anyhow::Error::from);
    world.objects().write_backup(about, nothing, |_| {}).await.unwrap();
    let (mut archiver, _) = with_backups(&world).await;
    for hour in [300, 325, 326] {
        archiver.back_up(&world.jobs, at(hour * HOUR)).await.unwrap();
    }
    assert_eq!(backups(&world).await, [111 * HOUR, 300 * HOUR, 325 * HOUR]);
}

#[tokio::test]
async fn a_backup_that_fails_is_tried_again_and_leaves_what_is_there() {
    let world = World::new();
    let (mut archiver, newest) = with_backups(&world).await;
    let (folder, aside) = (world.folder.path().join("backup"), world.folder.path().join("aside"));
    fs::write(&folder, "in the way").unwrap();
    let error = archiver.back_up(&world.jobs, at(DAY)).await.unwrap_err();
    assert!(format!("{error:#}").contains("cannot list the archive"), "{error:#}");
    assert_eq!(*lock(&newest), Some(0), "there should be backups, and there is none");
    fs::remove_file(&folder).unwrap();
    archiver.back_up(&world.jobs, at(DAY + HOUR)).await.unwrap();
    assert_eq!(*lock(&newest), Some(DAY + HOUR));

    // The store fails.
    let (database, threads) = Database::in_memory().unwrap();
    database.close();
    threads.join();
    let closed = SqlStore::new(database);
    archiver.back_up(&closed, at(2 * DAY)).await.unwrap();
    let error = archiver.back_up(&closed, at(3 * DAY)).await.unwrap_err();
    assert!(format!("{error:#}").contains("cannot read the store for a backup"), "{error:#}");
    assert_eq!((backups(&world).await, *lock(&newest)), (vec![DAY + HOUR], Some(DAY + HOUR)));
    // The file system is gone.
    fs::rename(world.folder.path().join("minutehand.json"), aside).unwrap();
    let error = archiver.back_up(&world.jobs, at(4 * DAY)).await.unwrap_err();
    assert!(error.to_string().contains("no file minutehand.json"), "{error:#}");
}

async fn object_name(world: &World) -> String {
    world.objects().names(Stream::History, day(0)).await.unwrap().remove(0)
}
