//! Incidents: trouble of a collection that is not a failure.

use chrono::TimeDelta;
use minutehand_recurrence::named;

use crate::duration::Span;

/// An occurrence that starts or waits for less than this is not an incident.
pub const INCIDENT_MIN: Span = Span::seconds(60);

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
