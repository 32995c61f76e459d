//! The event of an occurrence that has failed for good: a `CloudEvents` 1.0 document in JSON.
//!
//! `docs/events.md` describes it. Receivers depend on its form, so it only ever grows.

use chrono::{DateTime, Utc};
use minutehand_recurrence::format_instant;
use minutehand_recurrence::zone::Zone;
use serde_json::{Value, json};

use crate::attempt::{Attempt, Occurrence, Record, Role};
use crate::cause::Cause;
use crate::ids::encode_path;
use crate::incident::{Incident, IncidentKind};
use crate::json::{Durations, ObjectBuilder};
use crate::missed::Missed;
use crate::pause::Paused;
use crate::template::{Placeholder, PlaceholderValue, Template};

/// The types of the event.
const FAILED: &str = "minutehand.occurrence.failed";
const RECOVERED: &str = "minutehand.job.recovered";
const TEST: &str = "minutehand.alert.test";
const MISSED: &str = "minutehand.occurrence.missed";
const LATE: &str = "minutehand.occurrence.late";
const BEHIND: &str = "minutehand.collection.behind";
/// The most characters of a message of an attempt that the event repeats.
const MESSAGE_CHARS_MAX: usize = 2_048;

/// The names on the way to a job.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "each field is a name")]
pub struct JobNames<'a> {
    pub subscription: &'a str,
    pub group: &'a str,
    pub collection: &'a str,
    pub job: &'a str,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The occurrence has failed for good.
    Failed {
        /// How many occurrences of the job have failed in a row, where rules for alerts count them.
        in_row: Option<u32>,
        /// How many alerts were held back since the last one.
        held_back: u32,
    },
    /// The occurrence is the first one that succeeded after an alert.
    Recovered {
        /// When the alert was sent.
        since: DateTime<Utc>,
        /// How many alerts were held back since the last one.
        held_back: u32,
    },
    /// Something happened that is not a failure. No attempt is known of the occurrence.
    Incident(Incident),
    /// Someone tries whether alerts arrive.
    Test,
}

impl Told {
    /// A failure of which nothing more is known.
    pub const FAILED: Self = Self::Failed { in_row: None, held_back: 0 };
}

/// An occurrence that has failed for good, or what else a failure action tells of a job.
#[derive(Debug, Clone)]
pub struct FailureEvent<'a> {
    /// The same each time that the event is sent, and different for every occurrence.
    pub id: String,
    /// The job.
    pub names: JobNames<'a>,
    /// The occurrence.
    pub occurrence: &'a Occurrence,
    /// The attempts of the occurrence that are on record, in any order.
    pub attempts: &'a [(Attempt, Record)],
    /// The next occurrence.
    pub next_at: Option<DateTime<Utc>>,
    /// Why the scheduler has disabled the job, if it has.
    pub paused: Option<&'a Paused>,
    /// What is told of it.
    pub told: Told,
    /// What only templates tell of the job.
    pub facts: JobFacts,
}

/// What only templates tell of a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobFacts {
    /// The zone of its recurrence.
    pub zone: Option<Zone>,
    /// The instant of the occurrence before the one that is told of.
    pub previous_at: Option<DateTime<Utc>>,
    /// What it has missed.
    pub missed: Missed,
}

impl JobNames<'_> {
    /// The short path, as the log and messages for people name the job.
    pub(crate) fn path(&self) -> String {
        let Self { subscription, group, collection, job } = self;
        format!("{subscription}/{group}/{collection}/{job}")
    }

    /// The path of the resource, as a URI reference.
    fn source(&self) -> String {
        let Self { subscription, group, collection, job } = self;
        encode_path(&format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/\
             jobCollections/{collection}/jobs/{job}"
        ))
    }
}

impl FailureEvent<'_> {
    /// The document, as compact JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let event_type = match self.told {
            Told::Failed { .. } => FAILED,
            Told::Recovered { .. } => RECOVERED,
            Told::Incident(incident) => match incident.kind() {
                IncidentKind::Missed => MISSED,
                IncidentKind::Late => LATE,
                IncidentKind::Behind => BEHIND,
            },
            Told::Test => TEST,
        };
        let ended_at = self.attempts.iter().map(|(_, record)| record.ended_at).max();
        let event = ObjectBuilder::default()
            .set("specversion", "1.0")
            .set("id", self.id.as_str())
            .set("source", self.names.source())
            .set("type", event_type)
            .set("subject", self.names.job)
            .maybe("time", ended_at.map(format_instant))
            .set("datacontenttype", "application/json")
            .object("data", Some(self.data()));
        Value::Object(event.answer(Durations::TimeSpan)).to_string()
    }

    fn data(&self) -> ObjectBuilder {
        let data = ObjectBuilder::default()
            .set("job", json!({"path": self.names.path(), "name": self.names.job}))
            .set("occurrence", format_instant(self.occurrence.nominal_at()))
            .set("isRun", matches!(self.occurrence, Occurrence::Run { .. }));
        let mut data = self.tell(data);
        if let Some((attempt, record)) = self.last_of(Role::Main) {
            data = data
                .set("attempts", attempt.number.saturating_add(1))
                .maybe("cause", record.cause.as_ref().map(Cause::to_json))
                .set("message", message(record));
        }
        let error = self.last_of(Role::Error).map(|(attempt, record)| {
            ObjectBuilder::default()
                .set("outcome", record.outcome.name())
                .set("attempts", attempt.number.saturating_add(1))
                .set("message", message(record))
                .maybe("cause", record.cause.as_ref().map(Cause::to_json))
        });
        let paused = |it: &Paused| json!({"at": format_instant(it.at), "reason": it.reason});
        data.object("errorAction", error)
            .maybe("nextOccurrence", self.next_at.map(format_instant))
            .maybe("paused", self.paused.map(paused))
    }

    /// What is told, as a name for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match &self.told {
            Told::Failed { .. } if self.paused.is_some() => "paused",
            Told::Failed { .. } => "failed",
            Told::Recovered { .. } => "recovered",
            Told::Incident(incident) => incident.kind().name(),
            Told::Test => "test",
        }
    }

    /// A template with what is told in place of its names, given the same in one line. The cause is that of a failure, or what happened: a
    /// recovery and a test have none.
    #[must_use]
    pub fn render(&self, template: &Template, summary: &str) -> String {
        let JobFacts { zone, previous_at, missed } = self.facts;
        let last = self.last_of(Role::Main);
        let happened = match &self.told {
            Told::Incident(incident) => Some(incident.words()),
            Told::Failed { .. } | Told::Recovered { .. } | Told::Test => None,
        };
        let instant = |at: Option<DateTime<Utc>>| {
            at.map_or(PlaceholderValue::Absent, PlaceholderValue::Instant)
        };
        template.render(zone, &|name| match name {
            Placeholder::Job => PlaceholderValue::Text(self.names.job),
            Placeholder::Collection => PlaceholderValue::Text(self.names.collection),
            Placeholder::Occurrence => PlaceholderValue::Instant(
                self.occurrence.redrive_of().unwrap_or_else(|| self.occurrence.nominal_at()),
            ),
            Placeholder::PreviousOccurrence => instant(previous_at),
            Placeholder::ScheduledTime => instant(last.map(|(attempt, _)| attempt.due_at)),
            Placeholder::Attempt => last.map_or(PlaceholderValue::Absent, |(attempt, _)| {
                PlaceholderValue::Number(u64::from(attempt.number) + 1)
            }),
            Placeholder::ExecutionId => PlaceholderValue::Text(&self.id),
            Placeholder::Missed => PlaceholderValue::Number(missed.occurrences),
            Placeholder::MissedSince => instant(missed.since),
            Placeholder::LastSuccess => instant(missed.last_success),
            Placeholder::Cause => {
                let cause = last.and_then(|(_, record)| record.cause.as_ref());
                let cause = cause.map(Cause::text).or(happened.as_deref());
                cause.map_or(PlaceholderValue::Absent, PlaceholderValue::Text)
            }
            Placeholder::Kind => PlaceholderValue::Text(self.kind()),
            Placeholder::Summary => PlaceholderValue::Text(summary),
        })
    }

    /// Adds what the rules for alerts say.
    fn tell(&self, data: ObjectBuilder) -> ObjectBuilder {
        let held = |held_back: u32| Some(held_back).filter(|held_back| *held_back > 0);
        match self.told {
            Told::Failed { in_row, held_back } => {
                data.maybe("failuresInRow", in_row).maybe("heldBack", held(held_back))
            }
            Told::Recovered { since, held_back } => {
                data.set("failingSince", format_instant(since)).maybe("heldBack", held(held_back))
            }
            Told::Incident(Incident::Missed { occurrences, jobs }) => {
                data.set("missedOccurrences", occurrences).set("missedJobs", jobs)
            }
            Told::Incident(Incident::Late { by }) => data.set("lateSeconds", by.num_seconds()),
            Told::Incident(Incident::Behind { by }) => data.set("waitedSeconds", by.num_seconds()),
            Told::Test => data,
        }
    }

    /// The last attempt at an action.
    pub(crate) fn last_of(&self, role: Role) -> Option<&(Attempt, Record)> {
        let of_role = self.attempts.iter().filter(|(attempt, _)| attempt.role == role);
        of_role.max_by_key(|(attempt, _)| attempt.number)
    }
}

/// The beginning of the message of an attempt.
fn message(record: &Record) -> String {
    record.message.chars().take(MESSAGE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Outcome;
    use crate::cause::CauseKind;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_798_790_400 + second, 0).unwrap()
    }

    fn ended(role: Role, number: u32, outcome: Outcome, message: &str) -> (Attempt, Record) {
        let occurrence = Occurrence::Scheduled { nominal_at: at(0) };
        let second = i64::from(number) + if role == Role::Error { 20 } else { 10 };
        let record = Record {
            started_at: at(second),
            ended_at: at(second),
            outcome,
            message: message.to_owned(),
            repeat_count: 1,
            cause: None,
            body_bytes: 0,
            then: None,
        };
        (Attempt { role, number, ..Attempt::first(0, occurrence) }, record)
    }

    fn event(attempts: &[(Attempt, Record)], next_at: Option<DateTime<Utc>>) -> String {
        let names = JobNames { subscription: "me", group: "My Group", collection: "ops", job: "j" };
        let occurrence = Occurrence::Scheduled { nominal_at: at(0) };
        let (id, occurrence, paused, told) = ("u.1.n0".to_owned(), &occurrence, None, Told::FAILED);
        FailureEvent {
            id,
            names,
            occurrence,
            attempts,
            next_at,
            paused,
            told,
            facts: JobFacts::default(),
        }
        .to_json()
    }

    #[test]
    fn the_event_describes_the_failure() {
        let attempts = [
            ended(Role::Error, 0, Outcome::Succeeded, "told"),
            ended(Role::Main, 1, Outcome::Failed, "again"),
            ended(Role::Main, 0, Outcome::Failed, "first"),
        ];
        assert_eq!(
            event(&attempts, Some(at(60))),
            r#"{"specversion":"1.0","id":"u.1.n0","source":"/subscriptions/me/resourceGroups/My%20Group/providers/Microsoft.Scheduler/jobCollections/ops/jobs/j","type":"minutehand.occurrence.failed","subject":"j","time":"2027-01-01T08:00:20Z","datacontenttype":"application/json","data":{"job":{"path":"me/My Group/ops/j","name":"j"},"occurrence":"2027-01-01T08:00:00Z","isRun":false,"attempts":2,"message":"again","errorAction":{"outcome":"succeeded","attempts":1,"message":"told"},"nextOccurrence":"2027-01-01T08:01:00Z"}}"#
        );
    }

    #[test]
    fn the_documented_example_is_what_is_sent() {
        let page = include_str!("../../docs/events.md");
        let (_, rest) = page.split_once("<!-- notice -->\n```json\n").unwrap();
        let (documented, _) = rest.split_once("```").unwrap();
        let error_ended = at(80) + chrono::TimeDelta::milliseconds(250);
        let at_end = |(attempt, record): (Attempt, Record), ended_at| {
            let failed = record.outcome == Outcome::Failed;
            let cause = failed.then(|| CauseKind::ConnectionRefused.into());
            (attempt, Record { ended_at, cause, ..record })
        };
        let why = "Http Action - Request to host 'example.com' failed: ConnectFailure The connection \
                   was refused.";
        let told = "Http Action - Response from host 'example.org': 'OK'";
        let attempts = [
            at_end(ended(Role::Main, 0, Outcome::Failed, why), at(10)),
            at_end(ended(Role::Main, 1, Outcome::Failed, why), at(70)),
            at_end(ended(Role::Error, 0, Outcome::Succeeded, told), error_ended),
        ];
        let occurrence = Occurrence::Scheduled { nominal_at: at(0) };
        let notice = Attempt { role: Role::Notice, ..Attempt::first(0, occurrence.clone()) };
        let sent = FailureEvent {
            id: format!("77f024baaad3d37c5e82011737dcb9a2.{}", notice.id()),
            names: JobNames { subscription: "me", group: "dev", collection: "ops", job: "report" },
            occurrence: &occurrence,
            attempts: &attempts,
            next_at: Some(at(3_600)),
            paused: None,
            told: Told::FAILED,
            facts: JobFacts::default(),
        };
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(parsed(documented), parsed(&sent.to_json()));
    }

    #[test]
    fn rules_for_alerts_add_what_they_counted() {
        let occurrence = Occurrence::Scheduled { nominal_at: at(0) };
        let of = |told: Told| {
            let names = JobNames { subscription: "me", group: "g", collection: "ops", job: "j" };
            let (id, occurrence) = (String::new(), &occurrence);
            let event = FailureEvent {
                id,
                names,
                occurrence,
                attempts: &[],
                next_at: None,
                paused: None,
                told,
                facts: JobFacts::default(),
            };
            let event: Value = serde_json::from_str(&event.to_json()).unwrap();
            let of_data = ["failuresInRow", "heldBack", "failingSince"]
                .map(|name| event["data"].get(name).map(Value::to_string).unwrap_or_default());
            format!("{} {}", event["type"].as_str().unwrap(), of_data.join(" "))
        };
        assert_eq!(of(Told::FAILED), format!("{FAILED}   "));
        assert_eq!(of(Told::Failed { in_row: Some(3), held_back: 2 }), format!("{FAILED} 3 2 "));
        let recovered = Told::Recovered { since: at(0), held_back: 0 };
        assert_eq!(of(recovered), format!("{RECOVERED}   \"2027-01-01T08:00:00Z\""));
        assert_eq!(of(Told::Test), format!("{TEST}   "));
    }

    #[test]
    fn what_is_not_known_is_left_out_and_long_messages_are_cut() {
        let unknown = event(&[], None);
        assert!(
            unknown.ends_with(r#""isRun":false}}"#) && !unknown.contains("time\""),
            "{unknown}"
        );
        let long = [ended(Role::Main, 0, Outcome::Failed, &"ä".repeat(3_000))];
        assert_eq!(event(&long, None).matches('ä').count(), 2_048);
    }
}
