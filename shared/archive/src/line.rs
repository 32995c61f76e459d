//! Lines: finished attempts and journal entries as JSON.
//!
//! The names are read by queries of users, so they never change; a line may get more of them. What
//! changes its meaning gets a new [`VERSION`].

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use minutehand_domain::attempt::{Attempt, Occurrence, Outcome, Record};
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::cause::Cause;
use minutehand_domain::ended::EndedItem;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::name::Name;
use serde_json::{Map, Value, json};

/// The version of the lines that this build writes, and the newest that it reads.
const VERSION: u64 = 1;

/// What an object holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Finished attempts.
    History,
    /// Entries of journals.
    Audit,
}

impl Stream {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::History, Self::Audit];

    /// The folder of its objects.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::History => "history/v1",
            Self::Audit => "audit/v1",
        }
    }
}

/// A finished attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The internal id of its job.
    pub job_uid: String,
    /// What was attempted.
    pub attempt: Attempt,
    /// How it ended. What follows it is not archived: it was done long ago.
    pub record: Record,
}

/// One line of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it belongs.
    pub stream: Stream,
    /// The day of its object.
    pub day: NaiveDate,
    /// The job or the collection.
    pub uid: String,
    /// Tells it from the other lines of the job or the collection, and sorts as they do.
    pub key: String,
    /// The line itself, without its end.
    pub text: String,
}

impl From<EndedItem> for Line {
    fn from(ended: EndedItem) -> Self {
        match ended {
            EndedItem::Attempt { job_uid, attempt, record } => {
                Self::from(&Execution { job_uid, attempt, record })
            }
            EndedItem::Change { collection_uid, entry } => line_of_change(collection_uid, &entry),
        }
    }
}

impl From<&Execution> for Line {
    fn from(execution: &Execution) -> Self {
        let Execution { job_uid, attempt, record } = execution;
        let nominal_at = attempt.occurrence.nominal_at();
        let key = attempt_key(attempt);
        let late = record.started_at - attempt.due_at;
        let mut line = json!({
            "v": VERSION,
            "job_uid": job_uid,
            "attempt": key,
            "nominal": written(nominal_at),
            "due": written(attempt.due_at),
            "generation": attempt.generation,
            "role": attempt.role.name(),
            "try": attempt.number,
            "run": run_id(attempt),
            "started": written(record.started_at),
            "ended": written(record.ended_at),
            "outcome": record.outcome.name(),
            "repeat": record.repeat_count,
            "late_ms": late.num_milliseconds(),
            "message": record.message,
        });
        if let (Some(cause), Some(line)) = (&record.cause, line.as_object_mut()) {
            line.insert("cause".to_owned(), cause.kind.name().into());
            line.insert("cause_text".to_owned(), cause.to_string().into());
        }
        if let (Some(caller), Some(line)) = (&attempt.asked_by, line.as_object_mut()) {
            line.insert("asked_by".to_owned(), caller.as_str().into());
        }
        Self {
            stream: Stream::History,
            day: nominal_at.date_naive(),
            uid: job_uid.clone(),
            key,
            text: line.to_string(),
        }
    }
}

fn line_of_change(collection_uid: String, entry: &JournalEntry) -> Line {
    let JournalEntry { at, who, request_id, operation, job, difference, run } = entry;
    let (patches, job) = (difference.patches.as_ref(), job.as_ref().map(Name::as_str));
    let mut line = json!({
        "v": VERSION,
        "collection_uid": collection_uid,
        "at": written(*at),
        "who": who,
        "request_id": request_id,
        "operation": operation.name(),
        "job": job,
        "changed": difference.names,
        // As text: their properties differ from line to line, and a query has one type for each.
        "patch": patches.map(|patches| patches.there.to_string()),
        "patch_back": patches.map(|patches| patches.back.to_string()),
    });
    if let (Some(run), Some(line)) = (run, line.as_object_mut()) {
        line.insert("run_at".to_owned(), written(run.at).into());
        line.extend(run.redrive_of.map(|of| ("redrive_of".to_owned(), written(of).into())));
    }
    let key = audit_key(&written(*at), job, request_id);
    let text = line.to_string();
    Line { stream: Stream::Audit, day: at.date_naive(), uid: collection_uid, key, text }
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(stream: Stream, text: &str) -> Result<Self, String> {
        let fields = fields(text)?;
        let (uid, at, key) = match stream {
            Stream::History => {
                let execution = read_execution(&fields)?;
                let Execution { job_uid, attempt, .. } = execution;
                (job_uid, attempt.occurrence.nominal_at(), attempt_key(&attempt))
            }
            Stream::Audit => {
                let at = instant(&fields, "at")?;
                let job = fields.get("job").and_then(Value::as_str);
                let key = audit_key(&written(at), job, self::text(&fields, "request_id")?);
                (self::text(&fields, "collection_uid")?.to_owned(), at, key)
            }
        };
        Ok(Self { stream, day: at.date_naive(), uid, key, text: text.to_owned() })
    }
}

impl Execution {
    /// Reads a line of history.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        read_execution(&fields(text)?)
    }
}

fn read_execution(fields: &Map<String, Value>) -> Result<Execution, String> {
    let key = text(fields, "attempt")?;
    let attempt = read_attempt(key, Some(instant(fields, "due")?))
        .ok_or_else(|| format!("'attempt' is {key}"))?;
    let asked_by = fields.get("asked_by").and_then(Value::as_str).map(str::to_owned);
    let attempt = Attempt { asked_by, ..attempt };
    let outcome = text(fields, "outcome")?;
    Ok(Execution {
        job_uid: text(fields, "job_uid")?.to_owned(),
        attempt,
        record: Record {
            started_at: instant(fields, "started")?,
            ended_at: instant(fields, "ended")?,
            outcome: Outcome::read_name(outcome)
                .ok_or_else(|| format!("'outcome' is {outcome}"))?,
            cause: read_cause(fields),
            message: text(fields, "message")?.to_owned(),
            repeat_count: fields
                .get("repeat")
                .and_then(Value::as_u64)
                .ok_or("'repeat' is not a number")?,
            // A body does not outlast the record in the store.
            body_bytes: 0,
            then: None,
        },
    })
}

/// `None` for a kind of a later version, too.
fn read_cause(fields: &Map<String, Value>) -> Option<Cause> {
    let field = |name| fields.get(name).and_then(Value::as_str);
    Cause::read_stored(&format!("{} {}", field("cause")?, field("cause_text")?))
}

fn fields(text: &str) -> Result<Map<String, Value>, String> {
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Value::Object(fields) = value else {
        return Err("it is not a JSON object".to_owned());
    };
    match fields.get("v").and_then(Value::as_u64) {
        Some(1..=VERSION) => Ok(fields),
        Some(newer) => Err(format!("a newer version wrote it: its format is {newer}")),
        None => Err("'v' is missing".to_owned()),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    fields.get(name).and_then(Value::as_str).ok_or_else(|| format!("'{name}' is not a text"))
}

fn instant(fields: &Map<String, Value>, name: &str) -> Result<DateTime<Utc>, String> {
    let text = text(fields, name)?;
    let instant = DateTime::parse_from_rfc3339(text);
    instant.map(|instant| instant.to_utc()).map_err(|_| format!("'{name}' is {text}"))
}

/// An instant in full precision, in a form that sorts and that every query engine reads.
fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Nanos, true)
}

fn audit_key(at: &str, job: Option<&str>, request_id: &str) -> String {
    format!("{at} {} {request_id}", job.unwrap_or_default().to_ascii_lowercase())
}

fn run_id(attempt: &Attempt) -> Option<&str> {
    match &attempt.occurrence {
        Occurrence::Scheduled { .. } => None,
        Occurrence::Run { run_id, .. } => Some(run_id),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use chrono::TimeDelta;
    use minutehand_domain::attempt::Role;
    use minutehand_domain::journal::{DocumentChange, JournalRun, Operation, Patches};

    use super::*;
    use minutehand_domain::cause::CauseKind;

    pub(crate) fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    pub(crate) fn execution(job_uid: &str, second: i64) -> Execution {
        let nominal_at = at(second);
        Execution {
            job_uid: job_uid.to_owned(),
            attempt: Attempt::first(3, Occurrence::Scheduled { nominal_at }),
            record: Record {
                started_at: nominal_at + TimeDelta::nanoseconds(12_345_600),
                ended_at: nominal_at + TimeDelta::seconds(1),
                outcome: Outcome::Succeeded,
                message: format!("Http Action - \"OK\"\r\nä {second}"),
                repeat_count: 7,
                cause: None,
                body_bytes: 0,
                then: None,
            },
        }
    }

    fn change(run: Option<JournalRun>) -> Line {
        let entry = JournalEntry {
            at: at(86_400),
            who: "token 1a2b".to_owned(),
            request_id: "r".to_owned(),
            operation: Operation::Changed,
            job: Some(Name::new("Report").unwrap()),
            difference: DocumentChange {
                names: vec!["action.uri".to_owned()],
                patches: Some(Patches { there: json!({"a": 1}), back: json!({"a": null}) }),
            },
            run,
        };
        Line::from(EndedItem::Change { collection_uid: "c1".to_owned(), entry })
    }

    /// Queries of users and stored files depend on these texts.
    #[test]
    fn lines_never_change() {
        let error = Execution {
            attempt: Attempt {
                role: Role::Error,
                number: 2,
                due_at: at(90),
                ..Attempt::first(1, Occurrence::Run { asked_at: at(60), run_id: "5f".to_owned() })
            },
            record: Record { outcome: Outcome::Failed, ..execution("j", 60).record },
            job_uid: "j".to_owned(),
        };
        let cause = Some(CauseKind::NoSuchName.into());
        let explained =
            Execution { record: Record { cause, ..error.record.clone() }, ..error.clone() };
        let line = Line::from(&explained).text;
        assert!(line.contains(r#""cause":"noSuchName","cause_text":"no such name""#), "{line}");
        assert_eq!(Execution::read(&line).unwrap().record.cause, explained.record.cause);
        assert_eq!(
            Line::from(&error).text,
            "{\"v\":1,\"job_uid\":\"j\",\"attempt\":\"8000000023c34600.a1.r5f.ea2\",\
             \"nominal\":\"1970-01-01T00:01:00.000000000Z\",\
             \"due\":\"1970-01-01T00:01:30.000000000Z\",\"generation\":1,\"role\":\"error\",\
             \"try\":2,\"run\":\"5f\",\"started\":\"1970-01-01T00:01:00.012345600Z\",\
             \"ended\":\"1970-01-01T00:01:01.000000000Z\",\"outcome\":\"failed\",\"repeat\":7,\
             \"late_ms\":-29987,\"message\":\"Http Action - \\\"OK\\\"\\r\\nä 60\"}"
        );
        let asked_by = Some("token ops".to_owned());
        let asked =
            Execution { attempt: Attempt { asked_by, ..error.attempt.clone() }, ..error.clone() };
        let line = Line::from(&asked).text;
        assert!(line.ends_with(r#","asked_by":"token ops"}"#), "{line}");
        assert_eq!(Execution::read(&line), Ok(asked));
        let line = change(Some(JournalRun { at: at(60), redrive_of: Some(at(0)) })).text;
        let run = r#","run_at":"1970-01-01T00:01:00.000000000Z","redrive_of":"1970-01-01T00:00:00.000000000Z"}"#;
        assert!(line.ends_with(run), "{line}");
        assert_eq!(
            change(None).text,
            "{\"v\":1,\"collection_uid\":\"c1\",\"at\":\"1970-01-02T00:00:00.000000000Z\",\
             \"who\":\"token 1a2b\",\"request_id\":\"r\",\"operation\":\"changed\",\
             \"job\":\"Report\",\"changed\":[\"action.uri\"],\"patch\":\"{\\\"a\\\":1}\",\
             \"patch_back\":\"{\\\"a\\\":null}\"}"
        );
    }

    #[test]
    fn lines_read_back() {
        let execution = execution("j", 86_399);
        let line = Line::from(&execution);
        assert_eq!(Execution::read(&line.text), Ok(execution));
        assert_eq!(Line::read(Stream::History, &line.text), Ok(line.clone()));
        assert_eq!(line.day.to_string(), "1970-01-01");
        let line = change(None);
        assert_eq!(Line::read(Stream::Audit, &line.text), Ok(line.clone()));
        assert_eq!(line.day.to_string(), "1970-01-02");
    }

    #[test]
    fn what_is_no_line_is_refused_with_the_reason() {
        let line = Line::from(&execution("j", 0)).text;
        for (text, why) in [
            (line[..40].to_owned(), "EOF"),
            ("[]".to_owned(), "a JSON object"),
            ("{}".to_owned(), "'v' is missing"),
            (line.replace("\"v\":1", "\"v\":2"), "a newer version wrote it"),
            (line.replace("\"attempt\":\"8", "\"attempt\":\"x"), "'attempt' is x"),
            (line.replace("succeeded", "well"), "'outcome' is well"),
            (line.replace("\"ended\":\"19", "\"ended\":\"x"), "'ended' is x"),
            (line.replace("\"repeat\":7", "\"repeat\":-7"), "'repeat' is not a number"),
        ] {
            let problem = Line::read(Stream::History, &text).unwrap_err();
            assert!(problem.contains(why), "{problem}");
        }
    }
}
