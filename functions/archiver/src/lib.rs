//! The archiver: writes what has ended from the table's stream into the archive.
//!
//! Lambda calls it, and an operator for an export or an import. It never fires anything.
//!
//! Lambda hands over finished attempts and entries of journals, once each as a rule, and selects them by
//! filters: no other change of the table reaches this function. Of each batch it writes one object for
//! each day and kind. The name of an object follows from its lines, so a batch that comes again overwrites
//! what it wrote. A batch that comes again in parts makes other objects with the same lines. A reader has
//! each line once.
//!
//! | what happens | what comes of it |
//! |---|---|
//! | an object cannot be written | the whole batch comes again, for 12 hours; meanwhile nothing behind it is archived |
//! | the function ends, panics or times out | Lambda cuts the batch in two, and hands over each part |
//! | a record cannot be read | it is written as it is below `failed/records/`, and the rest is archived |
//! | a batch is 12 hours old | Lambda writes it below `aws/lambda/`, and goes on |
//! | the stream has lost records | an operator asks to write the day again |
//! | a day is over | a rule asks each hour to sort its objects by jobs, and another one for a backup |
//! | the installation moves | an operator asks for an export, or for an import |
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | write some of a batch's objects | the batch, which comes again |
//! | write all of them | the same, and the objects are overwritten |
//! | write a part of a day again | lines twice, which a reader has once; the next request goes on from the last answer |

mod backup;
mod due;
mod event;
mod failed;
mod moving;
mod settings;
mod sort;

use std::num::NonZeroU32;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use minutehand_archive::Object;
use minutehand_archive_objects::{ArchiveError, ArchiveWriter, Objects, Written};
use minutehand_domain::ended::EndedItem;
use minutehand_ports::{Clock, StoreError};
use minutehand_runtime::chain;
use minutehand_runtime_aws::{
    BatchAnswer, ErrorType, Metric, Tally, counting_throttles, print_metrics,
};
use minutehand_sealer_kms::KmsSealer;
use minutehand_store_dynamodb::{DynamoStore, WalkPosition, read_ended};
use serde_json::{Value, json};

pub use event::{Event, StreamRecord};
pub use failed::BackupFailed;
pub use moving::MovingFailed;
pub use settings::ArchiverSettings;

/// Where records are that cannot be read.
const SET_ASIDE: &str = "failed/records";
/// What a repair leaves of its time, to store what it has read.
const RESERVE: TimeDelta = TimeDelta::seconds(30);

/// The function.
pub struct Function {
    objects: Objects,
    jobs: DynamoStore,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    table: String,
    /// How many backups are kept; `None` if none are made.
    backups_kept: Option<NonZeroU32>,
    /// The key of the installation; `None` if it may not be moved.
    moving: Option<Arc<KmsSealer>>,
}

/// A request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum RequestFailed {
    /// It is not a request.
    #[error(
        "'{0}' is wrong: give a day, as {{\"repair\": \"2026-11-21\"}}, and `from` as the last answer has it"
    )]
    NotARequest(String),
    /// The table does not answer.
    #[error("cannot read the table")]
    Store(#[from] StoreError),
    /// The archive does not answer.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// There is no backup.
    #[error(transparent)]
    Backup(#[from] BackupFailed),
    /// The installation was not moved.
    #[error(transparent)]
    Moving(#[from] MovingFailed),
    /// The answer cannot be written.
    #[error("cannot write the answer")]
    Answer(#[from] serde_json::Error),
}

impl RequestFailed {
    /// Its type in the log.
    #[must_use]
    pub const fn error_type(&self) -> ErrorType {
        match self {
            Self::NotARequest(_) => ErrorType::EventUnreadable,
            Self::Backup(_) => ErrorType::BackupFailed,
            Self::Moving(_) => ErrorType::MoveFailed,
            Self::Store(_) | Self::Archive(_) | Self::Answer(_) => ErrorType::ArchiveFailed,
        }
    }
}

impl Function {
    /// The function over these clients.
    #[must_use]
    pub fn new(
        table: String,
        objects: Objects,
        dynamodb: &aws_sdk_dynamodb::Client,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let tally = Arc::new(Tally::default());
        let jobs = DynamoStore::new(counting_throttles(dynamodb, &tally), &table);
        Self { objects, jobs, clock, tally, table, backups_kept: None, moving: None }
    }

    /// The same, with backups, of which so many are kept.
    #[must_use]
    pub fn with_backups(self, kept: Option<NonZeroU32>) -> Self {
        Self { backups_kept: kept, ..self }
    }

    /// The same, which moves the installation with this key when it is asked to.
    #[must_use]
    pub fn with_moving(self, key: Option<Arc<KmsSealer>>) -> Self {
        Self { moving: key, ..self }
    }

    /// What happened since the metrics were last printed.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Answers an event, before this instant.
    ///
    /// # Errors
    ///
    /// If an operator's request is wrong or fails. A batch never does.
    pub async fn handle(&self, event: Event, until: DateTime<Utc>) -> Result<Value, RequestFailed> {
        match event {
            Event { repair: Some(day), from, .. } => {
                self.repair(&day, from.as_deref(), until).await
            }
            Event { sort: true, .. } => self.sort(until).await,
            Event { backup: Some(request), .. } => Ok(self.back_up(request, until).await?),
            Event { export: Some(export), .. } => Ok(self.export(&export, until).await?),
            Event { import: Some(import), .. } => Ok(self.import(&import, until).await?),
            Event { records: Some(records), .. } => {
                Ok(serde_json::to_value(self.archive(&records).await)?)
            }
            Event { .. } => Err(RequestFailed::NotARequest(String::new())),
        }
    }

    /// Archives a batch of the stream.
    pub async fn archive(&self, records: &[StreamRecord]) -> BatchAnswer {
        let Some(first) = records.first() else {
            return BatchAnswer::default();
        };
        match self.write_records(records).await {
            Ok(Written { lines, objects }) => {
                let objects = objects.len();
                tracing::info!(records = records.len(), lines, objects, "archived");
                BatchAnswer::default()
            }
            Err(error) => {
                self.tally.add(Metric::ArchivesFailed, 1);
                tracing::error!(
                    error_type = %ErrorType::ArchiveFailed,
                    records = records.len(),
                    error = chain(&error),
                    "a batch is not archived; it comes again"
                );
                // Not as an error, since Lambda would cut the batch in two for no reason.
                BatchAnswer::from_iter([first.sequence_number().to_owned()])
            }
        }
    }

    async fn write_records(&self, records: &[StreamRecord]) -> Result<Written, ArchiveError> {
        let mut writer = ArchiveWriter::new(&self.objects);
        for record in records {
            match read(record) {
                Ok(Some(ended)) => writer.add(&ended.into()).await?,
                Ok(None) => {}
                Err(why) => self.set_aside(record, &why).await?,
            }
        }
        writer.finish().await
    }

    /// Writes a day again, from the table, until the time is over. The answer says where to go on.
    async fn repair(
        &self,
        day: &str,
        from: Option<&str>,
        until: DateTime<Utc>,
    ) -> Result<Value, RequestFailed> {
        let wrong = |text: &str| RequestFailed::NotARequest(text.to_owned());
        let day: NaiveDate = day.parse().map_err(|_| wrong(day))?;
        let from = from.map(|from| WalkPosition::read(from).ok_or_else(|| wrong(from)));
        let mut from = from.transpose()?;
        let mut writer = ArchiveWriter::new(&self.objects);
        let mut unreadable = 0;
        loop {
            let page = self.jobs.ended_of_day(day, from).await?;
            unreadable += page.unreadable;
            for ended in page.found {
                writer.add(&ended.into()).await?;
            }
            from = page.next;
            if from.is_none() || self.clock.work_now() >= until - RESERVE {
                break;
            }
        }
        let Written { lines, objects } = writer.finish().await?;
        let objects = objects.len();
        let next = from.map(|position| position.to_text()).transpose()?;
        let is_done = next.is_none();
        tracing::info!(%day, lines, objects, unreadable, is_done, "written again");
        Ok(json!({"lines": lines, "objects": objects, "unreadable": unreadable, "next": next}))
    }

    /// Keeps a record that cannot be read: it would hold up the others for hours.
    async fn set_aside(&self, record: &StreamRecord, why: &str) -> Result<(), ArchiveError> {
        let sequence_number = record.sequence_number();
        self.tally.add(Metric::RecordsUnreadable, 1);
        tracing::error!(
            error_type = %ErrorType::RecordUnreadable,
            sequence_number,
            error = why,
            "a record cannot be read; it is set aside"
        );
        let name: String = sequence_number.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = format!("{SET_ASIDE}/{name}.json");
        // Texts and numbers are always written.
        let bytes = record.json().unwrap_or_default();
        self.objects.put(Object { name, bytes, lines: 1 }).await
    }

    /// Prints the metrics of what happened since the last time.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }
}

fn read(record: &StreamRecord) -> Result<Option<EndedItem>, String> {
    let Some(item) = record.item().map_err(|error| chain(&error))? else {
        return Ok(None);
    };
    read_ended(&item).map_err(|error| chain(&error))
}
