//! What is carried as lines of JSON: one line a thing, the same for every store.
//!
//! Instants are as RFC 3339 writes them, bytes as base64. A definition is the JSON under which the store
//! keeps it. The line of a retry is its message for a worker.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use minutehand_archive::BackupLine;
use minutehand_domain::collection::Collection;
use minutehand_domain::document::{load_collection_shown, write_collection};
use minutehand_domain::earlier_timing::{EarlierTiming, UnreadableTiming};
use minutehand_domain::job::{JobCounters, JobState};
use minutehand_domain::missed::Latest;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::recent::{LastSkip, Recent};
use minutehand_domain::timing::Timing;
use minutehand_domain::work_item::{JobRef, WorkItem, decode_one, encode};
use minutehand_ports::store::{
    Carried, CloudServiceRecord, CollectionRecord, JobRecord, LongRetry, PingKey, ResourceGroup,
    TimerRecord,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The kinds of what is carried, in the order in which they are brought.
pub const CARRIED_KINDS: [&str; 5] =
    ["cloud-services", "collections", "jobs", "retries", "ping-keys"];

/// Something cannot be written as a line, or a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// It is not the JSON of its kind.
    #[error(transparent)]
    NotJson(#[from] serde_json::Error),
    /// A part of it is wrong.
    #[error("'{part}' cannot be read: {why}")]
    Part {
        /// The part.
        part: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// There are no lines of this kind.
    #[error("this version knows nothing of the kind '{0}'")]
    UnknownKind(String),
}

impl BadLine {
    fn part(part: &'static str, why: impl Into<String>) -> Self {
        Self::Part { part, why: why.into() }
    }
}

/// The kind of something, which is one of [`CARRIED_KINDS`].
#[must_use]
pub const fn kind(carried: &Carried) -> &'static str {
    let [services, collections, jobs, retries, ping_keys] = CARRIED_KINDS;
    match carried {
        Carried::CloudService(_) => services,
        Carried::Collection(_) => collections,
        Carried::Job { .. } => jobs,
        Carried::Retry(_) => retries,
        Carried::PingKey { .. } => ping_keys,
    }
}

/// The secrets of something, sealed, if it has any, with what they are sealed for.
#[must_use]
pub fn sealed(carried: &mut Carried) -> Option<(Cow<'_, str>, &mut Vec<u8>)> {
    match carried {
        Carried::Collection(record) => {
            let CollectionRecord { collection, sealed, .. } = record.as_mut();
            Some((collection.uid.as_str().into(), sealed.as_mut()?))
        }
        Carried::Job { job, .. } => {
            let JobRecord { uid, sealed, .. } = job.as_mut();
            Some((uid.as_str().into(), sealed.as_mut()?))
        }
        Carried::PingKey { job, key } => {
            Some((PingKey::sealed_for(&job.uid).into(), &mut key.sealed))
        }
        Carried::CloudService(_) | Carried::Retry(_) => None,
    }
}

/// Something as a line of a backup, with its secrets sealed as they are. The same thing makes the same line.
///
/// # Errors
///
/// If its definition is not JSON.
pub fn to_line(carried: &mut Carried) -> Result<BackupLine, BadLine> {
    let has_secret = sealed(carried).is_some();
    let text = match carried {
        Carried::CloudService(service) => serde_json::to_string(&CloudServiceLine::of(service))?,
        Carried::Collection(record) => serde_json::to_string(&CollectionLine::of(record)?)?,
        Carried::Job { collection_uid, job } => {
            serde_json::to_string(&JobLine::of(collection_uid, job)?)?
        }
        Carried::Retry(LongRetry { job, attempt }) => {
            encode(&WorkItem::Attempt { job: job.clone(), attempt: attempt.clone() })
        }
        Carried::PingKey { job, key } => serde_json::to_string(&PingKeyLine::of(job, key))?,
    };
    Ok(BackupLine { kind: kind(carried), text, has_secret })
}

/// Reads a line of one of the [kinds](CARRIED_KINDS).
///
/// # Errors
///
/// If it is of another kind, or damaged.
pub fn read_line(kind: &str, line: &str) -> Result<Carried, BadLine> {
    let [services, collections, jobs, retries, ping_keys] = CARRIED_KINDS;
    if kind == services {
        serde_json::from_str::<CloudServiceLine>(line)?.read().map(Carried::CloudService)
    } else if kind == collections {
        let record = serde_json::from_str::<CollectionLine>(line)?.read()?;
        Ok(Carried::Collection(Box::new(record)))
    } else if kind == jobs {
        let (collection_uid, job) = serde_json::from_str::<JobLine>(line)?.read()?;
        Ok(Carried::Job { collection_uid, job: Box::new(job) })
    } else if kind == retries {
        match decode_one(line).map_err(|error| BadLine::part("a retry", error.to_string()))? {
            WorkItem::Attempt { job, attempt } => Ok(Carried::Retry(LongRetry { job, attempt })),
            _ => Err(BadLine::part("a retry", "it is not an attempt")),
        }
    } else if kind == ping_keys {
        serde_json::from_str::<PingKeyLine>(line)?.read()
    } else {
        Err(BadLine::UnknownKind(kind.to_owned()))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CloudServiceLine {
    subscription: String,
    group: String,
    uid: String,
    label: String,
    description: String,
    region: String,
    version: u64,
}

impl CloudServiceLine {
    fn of(service: &CloudServiceRecord) -> Self {
        let CloudServiceRecord { place, uid, label, description, region, version } = service;
        Self {
            subscription: place.subscription.as_str().to_owned(),
            group: place.group.as_str().to_owned(),
            uid: uid.clone(),
            label: label.clone(),
            description: description.clone(),
            region: region.clone(),
            version: *version,
        }
    }

    fn read(self) -> Result<CloudServiceRecord, BadLine> {
        let Self { subscription, group, uid, label, description, region, version } = self;
        let place = place(&subscription, &group)?;
        Ok(CloudServiceRecord { place, uid, label, description, region, version })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CollectionLine {
    subscription: String,
    group: String,
    uid: String,
    name: String,
    definition: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    job_count: u32,
    on_since: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state_since: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    version: u64,
}

impl CollectionLine {
    fn of(record: &CollectionRecord) -> Result<Self, BadLine> {
        let CollectionRecord { place, collection, sealed, label, .. } = record;
        Ok(Self {
            subscription: place.subscription.as_str().to_owned(),
            group: place.group.as_str().to_owned(),
            uid: collection.uid.clone(),
            name: collection.name.as_str().to_owned(),
            definition: RawValue::from_string(
                write_collection(&collection.definition).to_string(),
            )?,
            sealed: sealed.as_ref().map(|bytes| STANDARD.encode(bytes)),
            job_count: record.job_count,
            on_since: record.on_since,
            state_since: record.state_since,
            label: label.clone(),
            version: record.version,
        })
    }

    fn read(self) -> Result<CollectionRecord, BadLine> {
        let definition = serde_json::from_str(self.definition.get())?;
        let definition = load_collection_shown(&definition)
            .map_err(|error| BadLine::part("definition", error.message))?;
        Ok(CollectionRecord {
            place: place(&self.subscription, &self.group)?,
            collection: Collection { uid: self.uid, name: name(&self.name)?, definition },
            job_count: self.job_count,
            on_since: self.on_since,
            sealed: self.sealed.map(|text| bytes("sealed", &text)).transpose()?,
            state_since: self.state_since,
            label: self.label,
            version: self.version,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct JobLine {
    collection: String,
    uid: String,
    name: String,
    definition: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier_timings: Vec<String>,
    state: String,
    generation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<DateTime<Utc>>,
    since: DateTime<Utc>,
    used: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timetable: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_at: Option<DateTime<Utc>>,
    is_spent: bool,
    executions: u64,
    failures: u64,
    faulted: u64,
    skipped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_execution_at: Option<DateTime<Utc>>,
    recent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_skip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest: Option<String>,
}

impl JobLine {
    fn of(collection_uid: &str, job: &JobRecord) -> Result<Self, BadLine> {
        let TimerRecord { state, timing, timetable, counters, due_at, is_spent } = &job.timer;
        Ok(Self {
            collection: collection_uid.to_owned(),
            uid: job.uid.clone(),
            name: job.name.as_str().to_owned(),
            definition: RawValue::from_string(job.document.clone())?,
            sealed: job.sealed.as_ref().map(|bytes| STANDARD.encode(bytes)),
            version: job.version,
            expires_at: job.expires_at,
            earlier_timings: job.earlier.iter().map(ToString::to_string).collect(),
            state: state.name().to_owned(),
            generation: timing.generation,
            anchor: timing.anchor,
            since: timing.since,
            used: timing.used,
            timetable: timetable.clone(),
            due_at: *due_at,
            is_spent: *is_spent,
            executions: counters.executions,
            failures: counters.failures,
            faulted: counters.faulted,
            skipped: counters.skipped,
            last_execution_at: counters.last_execution_at,
            recent: STANDARD.encode(counters.recent.to_bytes()),
            last_skip: counters.last_skip.map(|skip| STANDARD.encode(skip.to_bytes())),
            latest: counters.latest.map(|it| STANDARD.encode(it.to_bytes())),
        })
    }

    /// The id of the collection, and the job.
    fn read(self) -> Result<(String, JobRecord), BadLine> {
        let damaged = |part| BadLine::part(part, "it is damaged");
        let earlier = self.earlier_timings.iter().map(|line| {
            line.parse::<EarlierTiming>().map_err(|UnreadableTiming| damaged("earlierTimings"))
        });
        let earlier = earlier.collect::<Result<_, _>>()?;
        let recent = Recent::from_bytes(&bytes("recent", &self.recent)?);
        let last_skip = self.last_skip.map(|text| bytes("lastSkip", &text)).transpose()?;
        let latest = self.latest.map(|text| bytes("latest", &text)).transpose()?;
        let counters = JobCounters {
            executions: self.executions,
            failures: self.failures,
            faulted: self.faulted,
            skipped: self.skipped,
            last_execution_at: self.last_execution_at,
            recent: recent.ok_or_else(|| damaged("recent"))?,
            // A later version may have skipped for a reason that this one does not know.
            last_skip: last_skip.and_then(|bytes| LastSkip::from_bytes(&bytes)),
            latest: latest.and_then(|bytes| Latest::from_bytes(&bytes)),
        };
        let timer = TimerRecord {
            state: JobState::read_name(&self.state)
                .ok_or_else(|| BadLine::part("state", "there is no such state"))?,
            timing: Timing {
                generation: self.generation,
                anchor: self.anchor,
                since: self.since,
                used: self.used,
            },
            timetable: self.timetable,
            counters,
            due_at: self.due_at,
            is_spent: self.is_spent,
        };
        let job = JobRecord {
            uid: self.uid,
            name: name(&self.name)?,
            document: self.definition.get().to_owned(),
            sealed: self.sealed.map(|text| bytes("sealed", &text)).transpose()?,
            version: self.version,
            expires_at: self.expires_at,
            earlier,
            timer,
        };
        Ok((self.collection, job))
    }
}

/// The line of the key of a job that takes pings.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PingKeyLine {
    collection: String,
    job: String,
    uid: String,
    hash: String,
    sealed: String,
}

impl PingKeyLine {
    fn of(job: &JobRef, key: &PingKey) -> Self {
        Self {
            collection: job.collection_uid.clone(),
            job: job.key.clone(),
            uid: job.uid.clone(),
            hash: key.hash.clone(),
            sealed: STANDARD.encode(&key.sealed),
        }
    }

    fn read(self) -> Result<Carried, BadLine> {
        let Self { collection: collection_uid, job: key, uid, hash, sealed } = self;
        let sealed = bytes("sealed", &sealed)?;
        let (job, key) = (JobRef { uid, collection_uid, key }, PingKey { hash, sealed });
        Ok(Carried::PingKey { job, key })
    }
}

fn place(subscription: &str, group: &str) -> Result<ResourceGroup, BadLine> {
    let segment =
        |part, text| PathSegment::new(text).map_err(|error| BadLine::part(part, error.message));
    Ok(ResourceGroup {
        subscription: segment("subscription", subscription)?,
        group: segment("group", group)?,
    })
}

fn name(text: &str) -> Result<Name, BadLine> {
    Name::new(text).map_err(|error| BadLine::part("name", error.message))
}

fn bytes(part: &'static str, text: &str) -> Result<Vec<u8>, BadLine> {
    STANDARD.decode(text).map_err(|error| BadLine::part(part, error.to_string()))
}

#[cfg(test)]
mod tests {
    use minutehand_domain::attempt::{Attempt, Occurrence};
    use minutehand_domain::collection::CollectionDefinition;

    use minutehand_domain::work_item::JobRef;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn group() -> ResourceGroup {
        let segment = |text| PathSegment::new(text).unwrap();
        ResourceGroup { subscription: segment("Sub"), group: segment("grp") }
    }

    fn job() -> JobRecord {
        JobRecord {
            uid: "u".to_owned(),
            name: Name::new("J").unwrap(),
            // As it is stored, to the letter.
            document: r#"{"b":1.50,"a":"\u00e4"}"#.to_owned(),
            sealed: Some(vec![0, 255]),
            version: 3,
            expires_at: Some(at(9)),
            earlier: vec!["2 17987976000000000 off".parse().unwrap()],
            timer: TimerRecord {
                state: JobState::Faulted,
                timing: Timing { generation: 4, anchor: Some(at(0)), since: at(1), used: 2 },
                timetable: Some("1 every=1hour start=2027-01-15T08:00:00Z".to_owned()),
                counters: JobCounters { executions: 12, failures: 1, ..JobCounters::default() },
                due_at: Some(at(240) + chrono::TimeDelta::nanoseconds(100)),
                is_spent: true,
            },
        }
    }

    fn everything() -> Vec<Carried> {
        let collection = Collection {
            uid: "c".to_owned(),
            name: Name::new("Jobs").unwrap(),
            definition: CollectionDefinition::default(),
        };
        let attempt = Attempt::first(4, Occurrence::Scheduled { nominal_at: at(0) });
        vec![
            Carried::CloudService(CloudServiceRecord {
                place: group(),
                uid: "s".to_owned(),
                label: "bGFiZWw=".to_owned(),
                description: "some text".to_owned(),
                region: "here".to_owned(),
                version: 5,
            }),
            Carried::Collection(Box::new(CollectionRecord {
                place: group(),
                collection,
                job_count: 9,
                on_since: CollectionRecord::NEVER_SWITCHED,
                sealed: None,
                state_since: Some(at(3)),
                label: Some("x".to_owned()),
                version: 2,
            })),
            Carried::Job { collection_uid: "c".to_owned(), job: Box::new(job()) },
            Carried::Retry(LongRetry {
                job: JobRef { uid: "u".into(), collection_uid: "c".into(), key: "j".into() },
                attempt: Attempt { number: 1, due_at: at(300), is_long: true, ..attempt },
            }),
            Carried::PingKey {
                job: JobRef { uid: "u".into(), collection_uid: "c".into(), key: "j".into() },
                key: PingKey { hash: "a1".into(), sealed: vec![0, 255] },
            },
        ]
    }

    #[test]
    fn what_is_written_reads_back_under_its_kind_alone() {
        for mut carried in everything() {
            let line = to_line(&mut carried).unwrap();
            for kind in CARRIED_KINDS {
                let read = read_line(kind, &line.text);
                if kind == line.kind {
                    assert_eq!(read.unwrap(), carried, "{}", line.text);
                } else {
                    assert!(read.is_err(), "{kind}: {}", line.text);
                }
            }
            assert_eq!(line.has_secret, sealed(&mut carried).is_some());
        }
    }

    /// Kept for ever: exports have it.
    #[test]
    fn a_job_is_a_line_that_people_can_read() {
        let mut carried = Carried::Job { collection_uid: "c".to_owned(), job: Box::new(job()) };
        assert_eq!(
            to_line(&mut carried).unwrap().text,
            r#"{"collection":"c","uid":"u","name":"J","definition":{"b":1.50,"a":"\u00e4"},"#
                .to_owned()
                + r#""sealed":"AP8=","version":3,"expiresAt":"2027-01-15T08:00:09Z","#
                + r#""earlierTimings":["2 17987976000000000 off"],"state":"faulted","generation":4,"#
                + r#""anchor":"2027-01-15T08:00:00Z","since":"2027-01-15T08:00:01Z","used":2,"#
                + r#""timetable":"1 every=1hour start=2027-01-15T08:00:00Z","#
                + r#""dueAt":"2027-01-15T08:04:00.000000100Z","isSpent":true,"executions":12,"#
                + r#""failures":1,"faulted":0,"skipped":0,"recent":"AAAAAAAAAAAAAAAAAAAAAAAAAAA="}"#
        );
    }

    #[test]
    fn a_damaged_line_says_what_is_wrong_with_it() {
        let mut carried = Carried::Job { collection_uid: "c".to_owned(), job: Box::new(job()) };
        let line = to_line(&mut carried).unwrap().text;
        for (from, to, why) in [
            (r#""used":2"#, r#""used":-2"#, "invalid value: integer `-2`, expected u32"),
            (r#""used":2,"#, "", "missing field `used`"),
            (r#""used":2"#, r#""used":2,"moon":"full""#, "unknown field `moon`"),
            ("faulted\"", "sleeping\"", "'state' cannot be read: there is no such state"),
            ("AP8=", "AP8", "'sealed' cannot be read"),
            ("2 17987976000000000 off", "2", "'earlierTimings' cannot be read: it is damaged"),
        ] {
            let damaged = line.replacen(from, to, 1);
            assert_ne!(damaged, line, "{from}");
            let error = read_line("jobs", &damaged).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let error = read_line("moons", &line).unwrap_err();
        assert_eq!(error.to_string(), "this version knows nothing of the kind 'moons'");
        for line in ["", "{}", r#"{"v":1,"do":"purge","c":"c"}"#] {
            assert!(read_line("retries", line).is_err(), "{line}");
        }
    }
}
