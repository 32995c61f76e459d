//! Alerts that follow no attempt of a job: incidents of a collection, and tests.

use chrono::{DateTime, TimeDelta, Utc};
use minutehand_recurrence::named;
use serde_json::{Value, json};

use crate::duration::Span;
use crate::tick::{from_ticks, ticks};

/// An occurrence that starts or waits for less than this is not an incident.
pub const INCIDENT_MIN: Span = Span::seconds(60);
/// Incidents of a collection of one kind are told once in this time.
pub const INCIDENT_ONCE: TimeDelta = TimeDelta::minutes(15);
/// The kind of a test.
const TEST: &str = "test";

named! {
    /// The kind of an incident.
    #[derive(Hash)]
    pub enum IncidentKind {
        /// An outage cost occurrences.
        Missed = "missed",
        /// An occurrence started late.
        Late = "late",
        /// A limit of the collection lets an occurrence wait.
        Behind = "behind",
    }
}

/// Trouble of a collection that is not a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Incident {
    /// An outage cost occurrences. There may be more than were seen when this was noticed.
    Missed {
        /// How many were seen.
        occurrences: u64,
        /// Of how many jobs.
        jobs: u64,
    },
    /// An occurrence started late.
    Late {
        /// By how much.
        by: TimeDelta,
    },
    /// A limit of the collection lets an occurrence wait.
    Behind {
        /// For how long so far.
        by: TimeDelta,
    },
}

impl Incident {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> IncidentKind {
        match self {
            Self::Missed { .. } => IncidentKind::Missed,
            Self::Late { .. } => IncidentKind::Late,
            Self::Behind { .. } => IncidentKind::Behind,
        }
    }

    /// What happened, in a few words that stand without a subject.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Missed { occurrences: 1, .. } => "an occurrence missed in an outage".to_owned(),
            Self::Missed { occurrences, jobs: 0 | 1 } => {
                format!("{occurrences} occurrences missed in an outage")
            }
            Self::Missed { occurrences, jobs } => {
                format!("{occurrences} occurrences of {jobs} jobs missed in an outage")
            }
            Self::Late { by } => format!("started {} late", spoken(*by)),
            Self::Behind { by } => format!("waits for {} under a limit", spoken(*by)),
        }
    }
}

/// A time of at least a minute, in whole minutes or hours and minutes.
fn spoken(span: TimeDelta) -> String {
    match (span.num_hours(), span.num_minutes()) {
        (..2, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {} min", minutes % 60),
    }
}

/// What an alert tells that follows no attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tells {
    /// An incident.
    Incident {
        /// What happened.
        incident: Incident,
        /// The job at which it was noticed: its name, or the form under which its definition is stored.
        job: String,
        /// The occurrence of that job.
        occurrence: DateTime<Utc>,
    },
    /// That someone tries whether alerts arrive.
    Test {
        /// Tells it from other tests.
        id: String,
    },
}

/// An alert of a collection that follows no attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CollectionAlert {
    /// When an incident was noticed, or a test was asked for. For the occurrences that an outage cost, the end
    /// of the outage: whoever notices them knows it.
    pub at: DateTime<Utc>,
    /// What it tells.
    pub tells: Tells,
}

impl CollectionAlert {
    /// What it has in common with alerts of its collection that are the same if they come close together.
    #[must_use]
    pub fn key(&self) -> &str {
        match &self.tells {
            Tells::Incident { incident, .. } => incident.kind().name(),
            Tells::Test { id } => id,
        }
    }

    /// As a message has it.
    pub(crate) fn to_wire(&self) -> Value {
        match &self.tells {
            Tells::Test { id } => json!({"w": TEST, "n": ticks(self.at), "i": id}),
            Tells::Incident { incident, job, occurrence } => {
                let (many, jobs) = match incident {
                    Incident::Missed { occurrences, jobs } => (*occurrences, Some(*jobs)),
                    Incident::Late { by } | Incident::Behind { by } => {
                        (by.num_seconds().try_into().unwrap_or_default(), None)
                    }
                };
                let kind = incident.kind().name();
                let mut wire = json!({"w": kind, "n": ticks(self.at), "k": job,
                    "o": ticks(*occurrence), "b": many});
                if let (Some(jobs), Some(wire)) = (jobs, wire.as_object_mut()) {
                    wire.insert("m".to_owned(), jobs.into());
                }
                wire
            }
        }
    }

    /// Reads what [`to_wire`](Self::to_wire) wrote.
    pub(crate) fn read_wire(wire: &Value) -> Option<Self> {
        let text = |name: &str| Some(wire.get(name)?.as_str()?.to_owned());
        let number = |name: &str| wire.get(name)?.as_u64();
        let instant = |name: &str| from_ticks(wire.get(name)?.as_i64()?);
        let (at, kind) = (instant("n")?, text("w")?);
        if kind == TEST {
            return Some(Self { at, tells: Tells::Test { id: text("i")? } });
        }
        let by = || TimeDelta::try_seconds(number("b")?.try_into().ok()?);
        let incident = match IncidentKind::read_name(&kind)? {
            IncidentKind::Missed => {
                Incident::Missed { occurrences: number("b")?, jobs: number("m")? }
            }
            IncidentKind::Late => Incident::Late { by: by()? },
            IncidentKind::Behind => Incident::Behind { by: by()? },
        };
        let (job, occurrence) = (text("k")?, instant("o")?);
        Some(Self { at, tells: Tells::Incident { incident, job, occurrence } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_in_words() {
        let (late, behind) = (TimeDelta::seconds(719), TimeDelta::minutes(125));
        for (incident, expected) in [
            (Incident::Missed { occurrences: 1, jobs: 1 }, "an occurrence missed in an outage"),
            (Incident::Missed { occurrences: 3, jobs: 1 }, "3 occurrences missed in an outage"),
            (
                Incident::Missed { occurrences: 37, jobs: 12 },
                "37 occurrences of 12 jobs missed in an outage",
            ),
            (Incident::Late { by: late }, "started 11 min late"),
            (Incident::Behind { by: behind }, "waits for 2 h 5 min under a limit"),
        ] {
            assert_eq!(incident.words(), expected);
        }
    }
}
