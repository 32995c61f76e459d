//! What an alert tells a person, without the markup of any receiver.

use chrono::{DateTime, SubsecRound, Utc};
use minutehand_recurrence::format_instant;

use crate::attempt::{Occurrence, Role};
use crate::failure_event::{FailureEvent, Told};
use crate::incident::Incident;
use crate::said::said;

/// The most characters of a title, a value or what the target said. Together they stay far below the limits
/// of all receivers.
const TITLE_CHARS_MAX: usize = 140;
const VALUE_CHARS_MAX: usize = 300;

/// What an alert tells a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertText {
    /// What happened, in one line.
    pub title: String,
    /// Whether it is good news.
    pub is_good: bool,
    /// Names and values, in the order in which they are read.
    pub facts: Vec<(&'static str, String)>,
    /// What the target said of its failure in its own words.
    pub said: Option<String>,
}

impl AlertText {
    /// What to tell of an event.
    #[must_use]
    pub fn of(event: &FailureEvent<'_>) -> Self {
        let names = &event.names;
        let job = format!("{}/{}", names.collection, names.job);
        let last = event.last_of(Role::Main);
        let cause = last.and_then(|(_, record)| record.cause.as_ref());
        let failed = if event.paused.is_some() { "failed and is paused" } else { "failed" };
        let title = match (&event.told, cause) {
            (Told::Failed { .. }, Some(cause)) => format!("{job} {failed}: {cause}"),
            (Told::Failed { .. }, None) => format!("{job} {failed}"),
            (Told::Recovered { .. }, _) => format!("{job} works again"),
            (Told::Incident(it @ Incident::Missed { jobs: 2.., .. }), _) => {
                format!("{}: {}", names.collection, it.words())
            }
            (Told::Incident(it @ Incident::Missed { .. }), _) => format!("{job}: {}", it.words()),
            (Told::Incident(it), _) => format!("{job} {}", it.words()),
            (Told::Test, _) => format!("Test alert of the job collection {}", names.collection),
        };
        Self {
            title: super::cut(&title, TITLE_CHARS_MAX),
            is_good: matches!(event.told, Told::Recovered { .. } | Told::Test),
            facts: facts(event),
            said: match event.told {
                Told::Failed { .. } => last
                    .and_then(|(_, record)| said(&record.message))
                    .map(|said| super::cut(&said, VALUE_CHARS_MAX)),
                Told::Recovered { .. } | Told::Incident(_) | Told::Test => None,
            },
        }
    }

    /// The facts as lines of plain text, with what the target said behind them.
    pub(super) fn plain_lines(&self) -> String {
        let mut lines: Vec<String> =
            self.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        lines.extend(self.said.clone());
        lines.join("\n")
    }
}

fn facts(event: &FailureEvent<'_>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add = |name, value: String| facts.push((name, super::cut(&value, VALUE_CHARS_MAX)));
    if let Told::Test = event.told {
        add("Sent at", instant(event.occurrence.nominal_at()));
        add("Meaning", "Someone tries whether alerts arrive here. Nothing has failed.".to_owned());
        return facts;
    }
    let at = instant(event.occurrence.nominal_at());
    match event.occurrence {
        Occurrence::Scheduled { .. } => add("Occurrence", at),
        Occurrence::Run { .. } => add("Run", at),
    }
    match &event.told {
        Told::Failed { in_row, held_back } => {
            let attempts = event.last_of(Role::Main);
            let attempts = attempts.map(|(attempt, _)| attempt.number.saturating_add(1));
            if let Some(attempts @ 2..) = attempts {
                add("Attempts", attempts.to_string());
            }
            if let Some(in_row @ 2..) = in_row {
                add("Failures in a row", in_row.to_string());
            }
            if *held_back > 0 {
                add("Alerts held back since the last one", held_back.to_string());
            }
        }
        Told::Recovered { since, held_back } => {
            add("Failing since", instant(*since));
            if *held_back > 0 {
                add("Alerts held back since the last one", held_back.to_string());
            }
        }
        Told::Incident(incident) => add("Meaning", meaning(incident).to_owned()),
        Told::Test => {}
    }
    if let Some(paused) = event.paused {
        add("Paused", paused.reason.clone());
    }
    if let Some(next) = event.next_at {
        add("Next", instant(next));
    }
    add("Job", event.names.path());
    facts
}

/// What an incident means for its collection.
const fn meaning(incident: &Incident) -> &'static str {
    match incident {
        Incident::Missed { .. } => {
            "The scheduler was down at that time. The occurrences do not come again. Other jobs of the \
             collection may have missed some, too."
        }
        Incident::Late { .. } => {
            "Other occurrences of the collection may be late, too. The next alert of this kind comes in a \
             quarter of an hour at the earliest."
        }
        Incident::Behind { .. } => {
            "The collection has more to do than its limits allow. The next alert of this kind comes in a \
             quarter of an hour at the earliest."
        }
    }
}

/// An instant, to the second.
fn instant(at: DateTime<Utc>) -> String {
    format_instant(at.trunc_subsecs(0)).replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
pub(super) mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::attempt::{Attempt, Outcome, Record};
    use crate::cause::Cause;
    use crate::failure_event::{JobFacts, JobNames};
    use crate::pause::Paused;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_798_790_400 + second, 0).unwrap()
    }

    const NAMES: JobNames<'_> =
        JobNames { subscription: "me", group: "dev", collection: "ops", job: "report" };

    /// The text of an event about a job whose target said this.
    fn text(told: Told, said: &str, paused: Option<&Paused>) -> AlertText {
        let occurrence = Occurrence::Scheduled { nominal_at: at(0) };
        let record = Record {
            started_at: at(1),
            ended_at: at(2),
            outcome: Outcome::Failed,
            cause: Some(Cause::http(500)),
            message: format!("Http Action - Response from host 'a': 'Error' Body: {said}"),
            repeat_count: 1,
            body_bytes: 0,
            then: None,
        };
        let attempt = Attempt { number: 2, ..Attempt::first(0, occurrence.clone()) };
        let attempts = [(attempt, record)];
        AlertText::of(&FailureEvent {
            id: String::new(),
            names: NAMES,
            occurrence: &occurrence,
            attempts: &attempts,
            next_at: Some(at(3_600)),
            paused,
            told,
            facts: JobFacts::default(),
        })
    }

    /// The texts that every format is tested with: an ordinary one, one that is as long as it can be and
    /// full of what the markup of a receiver means something by, a recovery, and a test.
    pub(in crate::alert) fn texts() -> Vec<AlertText> {
        let failed = || Told::Failed { in_row: Some(3), held_back: 7 };
        let hostile = "<!channel> @everyone [x](https://evil.example) *_`~|&\"\\ #ä ".repeat(40);
        let long = Paused { at: at(0), reason: hostile.clone() };
        let mut worst = text(failed(), &hostile, Some(&long));
        worst.title = super::super::cut(&hostile, TITLE_CHARS_MAX);
        worst.said = Some(super::super::cut(&hostile, VALUE_CHARS_MAX));
        for (_, value) in &mut worst.facts {
            *value = super::super::cut(&hostile, VALUE_CHARS_MAX);
        }
        vec![
            text(failed(), "out of paper", None),
            worst,
            text(Told::Recovered { since: at(-60), held_back: 0 }, "", None),
            text(Told::Test, "", None),
            text(Told::Incident(Incident::Missed { occurrences: 37, jobs: 12 }), "", None),
            text(Told::Incident(Incident::Late { by: TimeDelta::minutes(12) }), "", None),
            text(Told::Incident(Incident::Behind { by: TimeDelta::minutes(7) }), "", None),
        ]
    }

    #[test]
    fn an_alert_says_what_failed_why_and_what_is_next() {
        let text = text(Told::Failed { in_row: Some(3), held_back: 7 }, "out of paper", None);
        assert_eq!(text.title, "ops/report failed: HTTP 500");
        assert!(!text.is_good);
        assert_eq!(
            text.plain_lines(),
            "Occurrence: 2027-01-01 08:00:00 UTC\nAttempts: 3\nFailures in a row: 3\n\
             Alerts held back since the last one: 7\nNext: 2027-01-01 09:00:00 UTC\n\
             Job: me/dev/ops/report\nout of paper"
        );
    }

    #[test]
    fn a_recovery_and_a_test_are_good_news() {
        let [_, _, recovered, test, ..] = &texts()[..] else { panic!() };
        assert_eq!(recovered.title, "ops/report works again");
        assert_eq!(recovered.facts[1], ("Failing since", "2027-01-01 07:59:00 UTC".to_owned()));
        assert_eq!(test.title, "Test alert of the job collection ops");
        assert!(recovered.is_good && test.is_good && recovered.said.is_none());
    }

    #[test]
    fn other_trouble_has_a_sentence_of_its_own() {
        let [.., missed, late, behind] = &texts()[..] else { panic!() };
        assert_eq!(missed.title, "ops: 37 occurrences of 12 jobs missed in an outage");
        assert_eq!(late.title, "ops/report started 12 min late");
        assert_eq!(behind.title, "ops/report waits for 7 min under a limit");
        assert!(!missed.is_good && !late.is_good && behind.facts[1].0 == "Meaning");
        let one = Told::Incident(Incident::Missed { occurrences: 1, jobs: 1 });
        assert_eq!(text(one, "", None).title, "ops/report: an occurrence missed in an outage");
        let paused = Paused { at: at(0), reason: "5 failures".to_owned() };
        let paused = text(Told::FAILED, "", Some(&paused));
        assert_eq!(paused.title, "ops/report failed and is paused: HTTP 500");
    }
}
