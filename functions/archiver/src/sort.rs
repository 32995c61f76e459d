//! Sorts the archive's days by jobs, so that a reader of one job need not read all objects of a day.
//!
//! Each batch makes an object with lines of all jobs, some thousand a day. Of a day that is over, the lines
//! are divided by the first letter of the jobs' ids, and each letter gets objects of its own. Objects are
//! deleted when all their lines are stored again. A reader that meets a deleted object reads the day anew.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | write some of the sorted objects | lines twice, which a reader has once; the next run writes them again |
//! | delete some of the objects that were read | the same, for those that are left |

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDate, Utc};
use minutehand_archive::{Batches, Line, Stream, has_several_letters, letter};
use minutehand_archive_objects::{ArchiveError, ArchiveWriter, Written};
use serde_json::{Value, json};

use crate::{Function, RESERVE, RequestFailed};

/// Fewer objects of a day are left as they are.
const UNSORTED_MIN: usize = 17;
/// The days before today that are looked at. What a run does not finish, one of the next does.
const DAYS: u64 = 7;
/// The most bytes of lines that are gathered for a letter; an object that is packed is a fifth. With
/// sixteen letters this is 64 MB at most.
const LETTER_BYTES_MAX: usize = 4 << 20;

impl Function {
    /// Sorts the days of the last week, until the time is over.
    pub(crate) async fn sort(&self, until: DateTime<Utc>) -> Result<Value, RequestFailed> {
        let today = self.clock.now().date_naive();
        let (mut read, mut written) = (0, Written::default());
        for day in (1..=DAYS).rev().filter_map(|back| today.checked_sub_days(Days::new(back))) {
            let mut unsorted = self.objects.names(Stream::History, day).await?;
            unsorted.retain(|name| has_several_letters(name));
            if unsorted.len() >= UNSORTED_MIN {
                read += self.sort_day(day, &unsorted, until, &mut written).await?;
            }
        }
        let Written { lines, objects } = written;
        let objects = objects.len();
        tracing::info!(read, lines, objects, "sorted");
        Ok(json!({"read": read, "lines": lines, "objects": objects}))
    }

    /// Sorts the lines of these objects. Returns how many it has read before the time was over.
    async fn sort_day(
        &self,
        day: NaiveDate,
        names: &[String],
        until: DateTime<Utc>,
        written: &mut Written,
    ) -> Result<usize, ArchiveError> {
        let (mut letters, mut sorted) = (BTreeMap::new(), Vec::new());
        for name in names {
            if self.clock.work_now() >= until - RESERVE {
                break;
            }
            let contents = self.objects.read(Stream::History, day, name).await?;
            let lines = contents.lines.iter().map(|text| Line::read(Stream::History, text));
            // What is damaged, or of a newer version, stays as it is.
            let Ok(lines) = lines.collect::<Result<Vec<_>, _>>() else {
                continue;
            };
            if contents.damage.is_some() {
                continue;
            }
            for line in lines {
                let writer = letters.entry(letter(&line.uid)).or_insert_with(|| {
                    let batches = Batches::with_limits(LETTER_BYTES_MAX, LETTER_BYTES_MAX);
                    ArchiveWriter::with_batches(&self.objects, batches)
                });
                writer.add(&line).await?;
            }
            sorted.push(name);
        }
        for writer in letters.into_values() {
            written.add(writer.finish().await?);
        }
        for name in &sorted {
            self.objects.delete(Stream::History, day, name).await?;
        }
        Ok(sorted.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::TimeDelta;
    use minutehand_archive::{Execution, JobHistory, may_contain};
    use minutehand_archive_objects::{Location, Objects};
    use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
    use minutehand_testkit::aws::{AwsAnswer, FakeAws};
    use minutehand_testkit::{SetClock, fake_client};
    use tempfile::TempDir;

    use super::*;

    const BATCHES: i64 = 40;
    const JOBS: u32 = 64;

    fn day(n: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, n).unwrap()
    }

    fn noon(n: u32) -> DateTime<Utc> {
        day(n).and_hms_opt(12, 0, 0).unwrap().and_utc()
    }

    async fn objects() -> (TempDir, Objects) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder(folder.path().to_owned());
        let objects = Objects::open(&location, |_| None, DateTime::default).unwrap();
        objects.create_mark("archive").await.unwrap();
        (folder, objects)
    }

    fn function(objects: Objects, now: DateTime<Utc>) -> Function {
        // The table is not needed.
        let aws = FakeAws::new(|_| AwsAnswer::Done(json!({})));
        let client = fake_client!(aws_sdk_dynamodb, aws);
        Function::new("t".to_owned(), objects, &client, Arc::new(SetClock::at(now)))
    }

    fn job(n: u32) -> String {
        // Spread over all letters, as random ids are.
        format!("{:08x}{n:024x}", n.wrapping_mul(0x9e37_79b9))
    }

    /// Batches of a day with an execution of each job.
    async fn write_batches(objects: &Objects, day: NaiveDate) {
        for batch in 0..BATCHES {
            let mut batches = Batches::default();
            for n in 0..JOBS {
                let nominal_at =
                    day.and_hms_opt(0, 0, 0).unwrap().and_utc() + TimeDelta::seconds(batch * 300);
                let record = Record::new([nominal_at; 2], Outcome::Succeeded, "done");
                let attempt = Attempt::first(1, Occurrence::Scheduled { nominal_at });
                let line = Line::from(&Execution { job_uid: job(n), attempt, record });
                assert!(batches.add(&line).is_none());
            }
            objects.put(batches.take_rest().unwrap().pack()).await.unwrap();
        }
    }

    /// How many executions of a job the view of a day has, and how many objects a reader reads for it.
    async fn view(objects: &Objects, day: NaiveDate, job: &str) -> (usize, usize) {
        let mut names = objects.names(Stream::History, day).await.unwrap();
        names.retain(|name| may_contain(name, job));
        let mut history = JobHistory::of(job, None);
        for name in &names {
            let contents = objects.read(Stream::History, day, name).await.unwrap();
            assert_eq!(contents.damage, None);
            for line in contents.lines {
                history.add(Execution::read(&line).unwrap());
            }
        }
        (history.count(), names.len())
    }

    #[tokio::test]
    async fn a_day_that_is_over_is_sorted_so_that_a_job_is_in_few_objects() {
        let (_folder, objects) = objects().await;
        write_batches(&objects, day(20)).await;
        write_batches(&objects, day(21)).await;
        let function = function(objects.clone(), noon(21));
        let all = usize::try_from(BATCHES).unwrap();
        assert_eq!(view(&objects, day(20), &job(7)).await, (all, all));
        let said = function.sort(noon(22)).await.unwrap();
        assert_eq!(
            (&said["read"], &said["lines"]),
            (&json!(BATCHES), &json!(BATCHES * i64::from(JOBS)))
        );
        for n in 0..JOBS {
            assert_eq!(
                view(&objects, day(20), &job(n)).await,
                (all, 1),
                "one object for its letter"
            );
            assert_eq!(view(&objects, day(21), &job(n)).await, (all, all), "today is not over");
        }
        let sorted = objects.names(Stream::History, day(20)).await.unwrap();
        assert_eq!(sorted.len(), 16);
        // Nothing is left to do.
        assert_eq!(function.sort(noon(22)).await.unwrap()["read"], 0);
        assert_eq!(objects.names(Stream::History, day(20)).await.unwrap(), sorted);
        // What comes late waits for more of its kind, and is in the view at once.
        write_batches(&objects, day(20)).await;
        assert_eq!(view(&objects, day(20), &job(7)).await, (all, all + 1));
    }

    #[tokio::test]
    async fn without_time_nothing_is_deleted_and_what_is_damaged_stays() {
        let (folder, objects) = objects().await;
        write_batches(&objects, day(20)).await;
        let names = objects.names(Stream::History, day(20)).await.unwrap();
        let function = function(objects.clone(), noon(21));
        assert_eq!(function.sort(noon(21)).await.unwrap()["read"], 0);
        assert_eq!(objects.names(Stream::History, day(20)).await.unwrap(), names);

        let damaged = folder.path().join("history/v1/date=2026-11-20").join(&names[3]);
        let bytes = std::fs::read(&damaged).unwrap();
        std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(function.sort(noon(22)).await.unwrap()["read"], BATCHES - 1);
        assert_eq!(std::fs::read(&damaged).unwrap(), &bytes[..bytes.len() / 2]);
    }
}
