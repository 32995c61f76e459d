//! Which alerts of a collection were sent that follow no attempt, or are being sent.
//!
//! Such an alert has no claim and no record, so this log has both. Who sends one first holds it for a while; a
//! worker that dies leaves it held, and another one sends it when that time is over. Incidents of one kind that
//! are noticed within a quarter of an hour of each other are one alert: the log knows the first of them.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::CollectionAlert;
use crate::attempt::Outcome;
use crate::cause::Cause;
use crate::tick::{from_ticks, ticks};

/// Incidents of a collection of one kind are told once in this time.
const INCIDENT_ONCE: TimeDelta = TimeDelta::minutes(15);
/// How many alerts the log knows. An alert that is older than all of them was sent before.
const KNOWN_MAX: usize = 16;
/// How often an alert is tried, with the tries of workers that died: more often than any retry policy asks.
const TRIES_MAX: u32 = 40;
/// The most characters of what came back that the log keeps of a test.
const MESSAGE_CHARS_MAX: usize = 1_000;
/// The version of the stored form.
const VERSION: u64 = 1;

/// Under which id the log of a collection is stored. Its own id is that of its alerts that do not arrive.
#[must_use]
pub fn log_uid(collection_uid: &str) -> String {
    format!("{collection_uid}.log")
}

/// The alerts of a collection that were sent lately, or are being sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertLog {
    known: Vec<Known>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    key: String,
    at: DateTime<Utc>,
    /// How often it was tried.
    tries: u32,
    /// Until when no other process sends it; `None` if it is over.
    until: Option<DateTime<Utc>>,
    /// What came back, of a test that is over.
    result: Option<TestResult>,
}

/// What came back when a test alert was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult {
    /// Whether the receiver accepted it.
    pub outcome: Outcome,
    /// Why it failed.
    pub cause: Option<Cause>,
    /// What the receiver or the connection said.
    pub message: String,
    /// How long it took.
    pub took: TimeDelta,
}

/// What becomes of an alert that a worker is asked to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// It was sent, or failed for good.
    Over,
    /// Another worker sends it, or it waits for its next try, until then.
    Until(DateTime<Utc>),
    /// The worker sends it, once it has stored this log.
    Taken {
        /// The log.
        log: AlertLog,
        /// The instant of the alert that is sent: of the first one that was noticed.
        at: DateTime<Utc>,
        /// How often it was tried before.
        tries_before: u32,
    },
}

/// What becomes of an alert that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextTry {
    /// It is tried again at this instant.
    At(DateTime<Utc>),
    /// It is over. Of a test, what came back.
    Never(Option<TestResult>),
}

impl AlertLog {
    /// Takes an alert in order to send it, until another instant.
    #[must_use]
    pub fn hold(&self, alert: &CollectionAlert, now: DateTime<Utc>, until: DateTime<Utc>) -> Hold {
        let mut log = self.clone();
        let Some(known) = log.known_mut(alert) else {
            let is_older = self.known.iter().all(|known| alert.at < known.at);
            if is_older && self.known.len() >= KNOWN_MAX {
                return Hold::Over;
            }
            let key = alert.key().to_owned();
            log.known.push(Known { key, at: alert.at, tries: 1, until: Some(until), result: None });
            log.known.sort_by_key(|known| known.at);
            let surplus = log.known.len().saturating_sub(KNOWN_MAX);
            log.known.drain(..surplus);
            return Hold::Taken { log, at: alert.at, tries_before: 0 };
        };
        let (at, tries_before) = (known.at, known.tries);
        match known.until {
            Some(held) if held > now => return Hold::Until(held),
            Some(_) if tries_before < TRIES_MAX => {}
            Some(_) | None => return Hold::Over,
        }
        known.until = Some(until);
        known.tries = tries_before + 1;
        Hold::Taken { log, at, tries_before }
    }

    /// The log after an alert was tried; `None` if it has forgotten that one.
    #[must_use]
    pub fn after(&self, alert: &CollectionAlert, next: NextTry) -> Option<Self> {
        let mut log = self.clone();
        let known = log.known_mut(alert)?;
        match next {
            NextTry::At(at) => known.until = Some(at),
            NextTry::Never(result) => (known.until, known.result) = (None, result),
        }
        Some(log)
    }

    /// What came back of a test, if it is over.
    #[must_use]
    pub fn result_of(&self, test: &CollectionAlert) -> Option<&TestResult> {
        self.known.iter().find(|known| known.key == test.key())?.result.as_ref()
    }

    /// The entry of an alert: its own, or else that of one with which it is the same.
    fn known_mut(&mut self, alert: &CollectionAlert) -> Option<&mut Known> {
        let apart = |at: DateTime<Utc>| (at - alert.at).abs();
        let is_same =
            |known: &&mut Known| known.key == alert.key() && apart(known.at) < INCIDENT_ONCE;
        self.known.iter_mut().filter(is_same).min_by_key(|known| apart(known.at))
    }

    /// As it is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let known = self.known.iter().map(|known| {
            let result = known.result.as_ref().map(|it| {
                let message: String = it.message.chars().take(MESSAGE_CHARS_MAX).collect();
                let cause = it.cause.as_ref().map(Cause::to_stored);
                json!([it.outcome.name(), cause, message, it.took.num_milliseconds()])
            });
            json!([known.key, ticks(known.at), known.tries, known.until.map(ticks), result])
        });
        json!({"v": VERSION, "a": known.collect::<Vec<_>>()}).to_string()
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote. What another version wrote begins anew.
    #[must_use]
    pub fn read_stored(stored: &str) -> Self {
        let read = || {
            let stored = super::read_version(stored, VERSION)?;
            let known = stored.get("a")?.as_array()?.iter().map(read_known);
            Some(Self { known: known.collect::<Option<_>>()? })
        };
        read().unwrap_or_default()
    }
}

fn read_known(stored: &Value) -> Option<Known> {
    let result = match stored.get(4)? {
        Value::Null => None,
        result => Some(TestResult {
            outcome: Outcome::read_name(result.get(0)?.as_str()?)?,
            cause: result.get(1)?.as_str().and_then(Cause::read_stored),
            message: result.get(2)?.as_str()?.to_owned(),
            took: TimeDelta::try_milliseconds(result.get(3)?.as_i64()?)?,
        }),
    };
    Some(Known {
        key: stored.get(0)?.as_str()?.to_owned(),
        at: from_ticks(stored.get(1)?.as_i64()?)?,
        tries: stored.get(2)?.as_u64()?.try_into().ok()?,
        until: match stored.get(3)? {
            Value::Null => None,
            until => Some(from_ticks(until.as_i64()?)?),
        },
        result,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Tells;
    use crate::incident::Incident;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_798_790_400 + 60 * minute, 0).unwrap()
    }

    fn late(minute: i64) -> CollectionAlert {
        let (incident, job) = (Incident::Late { by: TimeDelta::minutes(7) }, "j".to_owned());
        CollectionAlert {
            at: at(minute),
            tells: Tells::Incident { incident, job, occurrence: at(minute) },
        }
    }

    fn test(id: &str) -> CollectionAlert {
        CollectionAlert { at: at(0), tells: Tells::Test { id: id.to_owned() } }
    }

    fn taken(log: &AlertLog, alert: &CollectionAlert, now: i64) -> (AlertLog, DateTime<Utc>, u32) {
        let Hold::Taken { log, at, tries_before } = log.hold(alert, at(now), at(now + 2)) else {
            panic!()
        };
        assert_eq!(AlertLog::read_stored(&log.to_stored()), log);
        (log, at, tries_before)
    }

    #[test]
    fn an_alert_is_held_until_it_is_over_and_taken_over_if_its_worker_dies() {
        let (log, of, tries) = taken(&AlertLog::default(), &late(0), 0);
        assert_eq!((of, tries), (at(0), 0));
        assert_eq!(log.hold(&late(0), at(1), at(3)), Hold::Until(at(2)));
        let (log, of, tries) = taken(&log, &late(1), 2);
        assert_eq!((of, tries), (at(0), 1), "another one of the kind takes over the first");
        let log = log.after(&late(0), NextTry::At(at(9))).unwrap();
        assert_eq!(log.hold(&late(0), at(8), at(10)), Hold::Until(at(9)));
        let log = log.after(&late(0), NextTry::Never(None)).unwrap();
        assert_eq!(log.hold(&late(0), at(20), at(22)), Hold::Over);
        assert_eq!(AlertLog::read_stored(&log.to_stored()), log);
    }

    #[test]
    fn incidents_of_a_kind_are_one_alert_in_a_quarter_of_an_hour() {
        let mut log = AlertLog::default();
        let mut told = Vec::new();
        for minute in [0, 5, 14, 15, 16, 29, 31, 20, 3] {
            if let Hold::Taken { log: now, .. } = log.hold(&late(minute), at(40), at(42)) {
                told.push(minute);
                log = now.after(&late(minute), NextTry::Never(None)).unwrap();
            }
        }
        assert_eq!(told, [0, 15, 31]);
        let (_, of, _) = taken(&log, &test("a"), 3);
        assert_eq!(of, at(0), "tests are alerts of their own");
    }

    #[test]
    fn what_is_older_than_all_that_is_known_was_sent_and_the_tries_have_an_end() {
        let mut log = AlertLog::default();
        for n in 0..40 {
            log = taken(&log, &late(20 * n), 0).0;
        }
        assert_eq!(log.known.len(), KNOWN_MAX);
        assert_eq!(log.hold(&late(0), at(0), at(2)), Hold::Over);
        assert_eq!(log.after(&late(0), NextTry::Never(None)), None);
        let mut log = AlertLog::default();
        for n in 0..TRIES_MAX {
            log = taken(&log, &late(0), 3 * i64::from(n)).0;
        }
        assert_eq!(log.hold(&late(0), at(999), at(999)), Hold::Over);
    }

    #[test]
    fn the_result_of_a_test_is_known_when_it_is_over() {
        let (log, ..) = taken(&AlertLog::default(), &test("a"), 0);
        assert_eq!(log.result_of(&test("a")), None);
        let result = TestResult {
            outcome: Outcome::Failed,
            cause: Some(Cause::http(500)),
            message: "out of paper".to_owned(),
            took: TimeDelta::milliseconds(12),
        };
        let log = log.after(&test("a"), NextTry::Never(Some(result.clone()))).unwrap();
        let log = AlertLog::read_stored(&log.to_stored());
        assert_eq!((log.result_of(&test("a")), log.result_of(&test("b"))), (Some(&result), None));
        assert_eq!(AlertLog::read_stored(r#"{"v":2}"#), AlertLog::default());
    }
}
