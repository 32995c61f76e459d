//! Alerts that follow no attempt of a job: incidents of a collection, and tests.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::incident::{Incident, IncidentKind};
use crate::tick::{from_ticks, ticks};

/// The kind of a test.
const TEST: &str = "test";

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
