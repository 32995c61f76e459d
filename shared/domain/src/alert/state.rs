//! The state of a job under the rules of an alert, and the decision on the ending of an occurrence.
//!
//! Each ending is decided once. A worker that follows a record again finds the decision in the state. The
//! state remembers the latest endings only: one that is older than all of them was decided before, and is
//! not decided again.
//!
//! A success that changes nothing is not remembered, so that a job that works costs no write. If it is
//! followed again after a later failure, its time tells that it came before.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::AlertRules;
use crate::attempt::Attempt;
use crate::attempt_key::occurrence_key;
use crate::tick::{from_ticks, ticks};

/// How many endings a job's state remembers.
pub const REMEMBERED_MAX: usize = 16;
/// The version of the stored form.
const VERSION: u64 = 1;

/// What to tell of the ending of an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertDecision {
    /// Nothing.
    Silent,
    /// That it failed.
    Failed {
        /// How many occurrences have failed since the last success, this one included.
        in_row: u32,
        /// How many alerts were held back since the last one.
        held_back: u32,
    },
    /// That the job works again.
    Recovered {
        /// When the first alert was sent of which nothing was told since.
        since: DateTime<Utc>,
        /// How many alerts were held back since the last one.
        held_back: u32,
    },
}

/// The ending of an occurrence.
#[derive(Debug, Clone)]
pub struct EndedOccurrence {
    /// Tells it from the others of its job. Later occurrences have greater keys.
    key: String,
    /// Whether it failed for good.
    has_failed: bool,
    /// When its last attempt ended.
    ended_at: DateTime<Utc>,
    /// Since when its job is paused, if it is.
    paused_at: Option<DateTime<Utc>>,
}

impl EndedOccurrence {
    /// The ending of the occurrence of an attempt, whose job is paused since then, if it is.
    #[must_use]
    pub fn of(
        attempt: &Attempt,
        has_failed: bool,
        ended_at: DateTime<Utc>,
        paused_at: Option<DateTime<Utc>>,
    ) -> Self {
        Self { key: occurrence_key(attempt), has_failed, ended_at, paused_at }
    }
}

/// A decision, and what to store before it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The decision.
    pub decision: AlertDecision,
    /// The state to store; `None` if it stays as it is.
    pub state: Option<JobAlert>,
}

/// What is known of a job whose collection has rules for alerts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobAlert {
    /// How many occurrences have failed since the last success.
    failures: u32,
    /// When the last of them ended.
    failed_at: Option<DateTime<Utc>>,
    /// When the alert was sent that no success has followed.
    open_since: Option<DateTime<Utc>>,
    /// When the last failure was told.
    told_at: Option<DateTime<Utc>>,
    /// How many alerts were held back since.
    held_back: u32,
    /// The last pause that an alert told.
    pause_told: Option<DateTime<Utc>>,
    /// The decisions on the latest occurrences that changed the state, by key in order.
    decided: Vec<(String, AlertDecision)>,
}

impl JobAlert {
    /// How many occurrences have failed since the last success.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// When the alert was sent that no success has followed.
    #[must_use]
    pub const fn open_since(&self) -> Option<DateTime<Utc>> {
        self.open_since
    }

    /// When the last failure was told.
    #[must_use]
    pub const fn told_at(&self) -> Option<DateTime<Utc>> {
        self.told_at
    }

    /// How many alerts were held back since.
    #[must_use]
    pub const fn held_back(&self) -> u32 {
        self.held_back
    }

    /// What was decided on the occurrence of an attempt, if that is remembered.
    #[must_use]
    pub fn decision_on(&self, attempt: &Attempt) -> Option<&AlertDecision> {
        self.remembered(&occurrence_key(attempt))
    }

    fn remembered(&self, key: &str) -> Option<&AlertDecision> {
        self.decided.iter().find(|(known, _)| known == key).map(|(_, decision)| decision)
    }

    /// Decides on the ending of an occurrence.
    #[must_use]
    pub fn decide(&self, ended: &EndedOccurrence, rules: &AlertRules) -> Decided {
        if let Some(decision) = self.remembered(&ended.key) {
            return Decided { decision: decision.clone(), state: None };
        }
        let is_older = self.decided.first().is_some_and(|(first, _)| ended.key < *first);
        let is_forgotten = is_older && self.decided.len() >= REMEMBERED_MAX;
        let changes = ended.has_failed || self.is_changed_by_success(ended);
        if is_forgotten || !changes {
            return Decided { decision: AlertDecision::Silent, state: None };
        }
        let mut state = self.clone();
        let decision =
            if ended.has_failed { state.fail(ended, rules) } else { state.succeed(rules) };
        state.decided.push((ended.key.clone(), decision.clone()));
        state.decided.sort_by(|(one, _), (other, _)| one.cmp(other));
        let surplus = state.decided.len().saturating_sub(REMEMBERED_MAX);
        state.decided.drain(..surplus);
        Decided { decision, state: Some(state) }
    }

    fn is_changed_by_success(&self, ended: &EndedOccurrence) -> bool {
        let is_later = self.failed_at.is_none_or(|failed_at| ended.ended_at > failed_at);
        is_later && (self.failures > 0 || self.open_since.is_some())
    }

    fn fail(&mut self, ended: &EndedOccurrence, rules: &AlertRules) -> AlertDecision {
        let now = ended.ended_at;
        self.failures = self.failures.saturating_add(1);
        self.failed_at = self.failed_at.max(Some(now));
        let pauses = ended.paused_at.is_some() && ended.paused_at != self.pause_told;
        let must_tell = pauses && rules.tell_paused();
        if self.failures < rules.after() && !must_tell {
            return AlertDecision::Silent;
        }
        let is_soon = rules
            .every()
            .zip(self.told_at)
            .and_then(|(every, told_at)| told_at.checked_add_signed(every.delta()))
            .is_some_and(|until| now < until);
        if is_soon && !must_tell {
            self.held_back = self.held_back.saturating_add(1);
            return AlertDecision::Silent;
        }
        self.told_at = Some(now);
        self.pause_told = ended.paused_at.or(self.pause_told);
        self.open_since.get_or_insert(now);
        let held_back = std::mem::take(&mut self.held_back);
        AlertDecision::Failed { in_row: self.failures, held_back }
    }

    fn succeed(&mut self, rules: &AlertRules) -> AlertDecision {
        self.failures = 0;
        match self.open_since.take() {
            Some(since) if rules.recovered() => {
                AlertDecision::Recovered { since, held_back: std::mem::take(&mut self.held_back) }
            }
            _ => AlertDecision::Silent,
        }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let instant = |at: Option<DateTime<Utc>>| at.map(ticks);
        let decided = self.decided.iter().map(|(key, decision)| match decision {
            AlertDecision::Silent => json!([key]),
            AlertDecision::Failed { in_row, held_back } => json!([key, "f", in_row, held_back]),
            AlertDecision::Recovered { since, held_back } => {
                json!([key, "r", ticks(*since), held_back])
            }
        });
        json!({
            "v": VERSION,
            "n": self.failures,
            "f": instant(self.failed_at),
            "o": instant(self.open_since),
            "t": instant(self.told_at),
            "h": self.held_back,
            "p": instant(self.pause_told),
            "d": decided.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote; `None` for what another version wrote.
    #[must_use]
    pub fn read_stored(stored: &str) -> Option<Self> {
        let stored = super::read_version(stored, VERSION)?;
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let instant = |name: &str| match stored.get(name)? {
            Value::Null => Some(None),
            at => from_ticks(at.as_i64()?).map(Some),
        };
        let decision = |one: &Value| {
            let key = one.get(0)?.as_str()?.to_owned();
            let held_back = || number(one.get(3)?);
            let decision = match one.get(1).map(Value::as_str) {
                None => AlertDecision::Silent,
                Some(Some("f")) => {
                    AlertDecision::Failed { in_row: number(one.get(2)?)?, held_back: held_back()? }
                }
                Some(Some("r")) => AlertDecision::Recovered {
                    since: from_ticks(one.get(2)?.as_i64()?)?,
                    held_back: held_back()?,
                },
                Some(_) => return None,
            };
            Some((key, decision))
        };
        Some(Self {
            failures: number(stored.get("n")?)?,
            failed_at: instant("f")?,
            open_since: instant("o")?,
            told_at: instant("t")?,
            held_back: number(stored.get("h")?)?,
            // A version before this property wrote none.
            pause_told: stored.get("p").and_then(Value::as_i64).and_then(from_ticks),
            decided: stored.get("d")?.as_array()?.iter().map(decision).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attempt::Occurrence;
    use crate::collection::CollectionDefinition;
    use crate::document::accept_collection;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_798_790_400 + 60 * minute, 0).unwrap()
    }

    fn rules(rules: &Value) -> AlertRules {
        let mut action = json!({"type": "Http", "format": "slack",
            "request": {"uri": "http://a.test/"}});
        for (name, value) in rules.as_object().unwrap() {
            action[name] = value.clone();
        }
        let body = json!({"properties": {"minutehand": {"onFailure": action}}});
        let collection: CollectionDefinition = accept_collection(&body).unwrap();
        *collection.on_failure().unwrap().rules()
    }

    /// The ending of the occurrence at a minute, so many minutes later.
    fn ended(minute: i64, has_failed: bool, later: i64) -> EndedOccurrence {
        let attempt = Attempt::first(0, Occurrence::Scheduled { nominal_at: at(minute) });
        EndedOccurrence::of(&attempt, has_failed, at(minute + later), None)
    }

    /// What is told of occurrences, one a minute: `f` failed, `s` succeeded. A decision is `.` for nothing,
    /// `A3+2` for an alert of three failures in a row with two held back, `R` for a recovery.
    fn told(of: &Value, occurrences: &str) -> String {
        let rules = rules(of);
        let mut state = JobAlert::default();
        let mut told = Vec::new();
        for (minute, one) in (0..).zip(occurrences.chars()) {
            let ended = ended(minute, one == 'f', 0);
            let decided = state.decide(&ended, &rules);
            state = decided.state.unwrap_or(state);
            // It is decided once.
            let again = state.decide(&ended, &rules);
            let is_unchanged_success = one == 's' && decided.decision == AlertDecision::Silent;
            assert!(again.decision == decided.decision || is_unchanged_success);
            assert_eq!(again.state, None);
            assert_eq!(JobAlert::read_stored(&state.to_stored()).as_ref(), Some(&state));
            told.push(match decided.decision {
                AlertDecision::Silent => ".".to_owned(),
                AlertDecision::Failed { in_row, held_back: 0 } => format!("A{in_row}"),
                AlertDecision::Failed { in_row, held_back } => format!("A{in_row}+{held_back}"),
                AlertDecision::Recovered { held_back: 0, .. } => "R".to_owned(),
                AlertDecision::Recovered { held_back, .. } => format!("R+{held_back}"),
            });
        }
        told.join(" ")
    }

    #[test]
    fn the_rules() {
        for (rules, occurrences, expected) in [
            (json!({}), "fsff", "A1 . A1 A2"),
            (json!({"after": 2}), "fsfff", ". . . A2 A3"),
            (json!({"recovered": true}), "sfsssfs", ". A1 R . . A1 R"),
            (json!({"after": 2, "recovered": true}), "fsffss", ". . . A2 R ."),
            (json!({"every": "PT3M"}), "ffffff", "A1 . . A4+2 . ."),
            // A job that fails and recovers all the time is told of once in that time, too.
            (json!({"every": "PT4M", "recovered": true}), "fsfsfs", "A1 R . . A1+1 R"),
            (json!({"every": "PT4M"}), "fsfsf", "A1 . . . A1+1"),
            (json!({"every": "PT9M", "recovered": true}), "fffs", "A1 . . R+2"),
        ] {
            assert_eq!(told(&rules, occurrences), expected, "{rules} {occurrences}");
        }
    }

    #[test]
    fn what_was_forgotten_or_came_before_is_not_decided_again() {
        let rules = rules(&json!({"recovered": true}));
        let mut state = JobAlert::default();
        for minute in 10..30 {
            state = state.decide(&ended(minute, true, 0), &rules).state.unwrap();
        }
        assert_eq!(state.decided.len(), REMEMBERED_MAX);
        let silent = Decided { decision: AlertDecision::Silent, state: None };
        assert_eq!(state.decide(&ended(12, true, 0), &rules), silent, "forgotten");
        assert_eq!(
            state.decide(&ended(29, false, -1), &rules),
            Decided { decision: AlertDecision::Failed { in_row: 20, held_back: 0 }, state: None }
        );
        // A success that is followed again, and ended before the last failure.
        assert_eq!(state.decide(&ended(30, false, -5), &rules), silent);
        let recovered = state.decide(&ended(30, false, 0), &rules);
        assert_eq!(recovered.decision, AlertDecision::Recovered { since: at(10), held_back: 0 });
    }

    #[test]
    fn a_pause_is_told_once_whatever_the_rules_hold_back() {
        let paused = |minute| EndedOccurrence { paused_at: Some(at(5)), ..ended(minute, true, 0) };
        for (asked, expected) in [
            (json!({"after": 9, "alsoTell": {"paused": true}}), [false, true, false]),
            (json!({"every": "PT9M", "alsoTell": {"paused": true}}), [true, true, false]),
            (json!({"every": "PT9M"}), [true, false, false]),
            // The first alert told of the pause already.
            (
                json!({"after": 2, "every": "PT9M", "alsoTell": {"paused": true}}),
                [false, true, false],
            ),
        ] {
            let (rules, mut state) = (rules(&asked), JobAlert::default());
            let told = [ended(0, true, 0), paused(1), paused(2)].map(|ended| {
                let decided = state.decide(&ended, &rules);
                state = JobAlert::read_stored(&decided.state.unwrap().to_stored()).unwrap();
                decided.decision != AlertDecision::Silent
            });
            assert_eq!(told, expected, "{asked}");
        }
    }

    #[test]
    fn a_job_that_works_is_not_written() {
        let rules = rules(&json!({"recovered": true, "after": 3}));
        let state = JobAlert::default();
        assert_eq!(state.decide(&ended(0, false, 0), &rules).state, None);
    }

    #[test]
    fn what_another_version_wrote_is_not_read() {
        for stored in ["", "{}", r#"{"v":2}"#, r#"{"v":1,"n":-1}"#] {
            assert_eq!(JobAlert::read_stored(stored), None, "{stored}");
        }
    }
}
