//! Which endings of occurrences are told.

use crate::duration::Span;
use crate::incident::{INCIDENT_MIN, Incident};
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;

/// The most failures in a row that an alert may wait for.
const AFTER_MAX: u32 = 100;
/// The bounds of the time in which a job is told of once.
const EVERY: [Span; 2] = [Span::seconds(60), Span::seconds(7 * 86_400)];

/// The bounds of a time from which on something is late or behind.
const SPANS: [Span; 2] = [INCIDENT_MIN, Span::seconds(7 * 86_400)];

/// What the workers of a job have to know of its collection's alerts before they read the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlertUse {
    /// There is no failure action, or it sends an event of each failure.
    #[default]
    None,
    /// The failure action has a format.
    Format,
    /// It has rules that need the state of the job.
    Rules,
    /// It has no such rules, and tells of incidents.
    Incidents,
    /// It has both.
    RulesAndIncidents,
}

impl AlertUse {
    /// As it is stored: its place among them; `None` is not stored. Earlier versions read all from 2 on as
    /// rules.
    #[must_use]
    pub const fn to_number(self) -> Option<u32> {
        match self {
            Self::None => None,
            _ => Some(self as u32),
        }
    }

    /// Reads what [`to_number`](Self::to_number) wrote. What a later version wrote has all.
    #[must_use]
    pub const fn from_number(number: Option<u32>) -> Self {
        match number {
            None | Some(0) => Self::None,
            Some(1) => Self::Format,
            Some(2) => Self::Rules,
            Some(3) => Self::Incidents,
            Some(_) => Self::RulesAndIncidents,
        }
    }

    /// Whether it has rules that need the state of the job.
    #[must_use]
    pub const fn has_rules(self) -> bool {
        matches!(self, Self::Rules | Self::RulesAndIncidents)
    }

    /// Whether incidents are told.
    #[must_use]
    pub const fn tells_incidents(self) -> bool {
        matches!(self, Self::Incidents | Self::RulesAndIncidents)
    }
}

/// What else is told beside failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct AlsoTold {
    /// Whether a job that the scheduler pauses is told, whatever the other rules say, as it was sent.
    paused: Option<bool>,
    /// Whether occurrences are told that an outage cost, as it was sent.
    missed: Option<bool>,
    /// By how much an occurrence starts late that is told.
    late: Option<Span>,
    /// For how long a limit of the collection lets an occurrence wait that is told.
    behind: Option<Span>,
}

impl AlsoTold {
    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let told = Self {
            paused: fields.flag("paused")?,
            missed: fields.flag("missed")?,
            late: fields.bounded_span("late", SPANS)?,
            behind: fields.bounded_span("behind", SPANS)?,
        };
        let is_nothing = !told.is_paused() && !told.tells_incidents();
        if fields.limiting_plan().is_some() && is_nothing {
            let problem = "has no effect, because nothing is told; set 'paused' or 'missed' to \
                true, or 'late' or 'behind' to a duration, or leave this out.";
            return Err(Refusal::about(fields.place(), problem));
        }
        Ok(told)
    }

    fn write(self) -> ObjectBuilder {
        ObjectBuilder::default()
            .maybe("paused", self.paused)
            .maybe("missed", self.missed)
            .duration("late", self.late)
            .duration("behind", self.behind)
    }

    fn is_paused(self) -> bool {
        self.paused.unwrap_or_default()
    }

    fn tells_incidents(self) -> bool {
        self.missed.unwrap_or_default() || self.late.is_some() || self.behind.is_some()
    }
}

/// Which endings of occurrences are told. Without rules, each failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlertRules {
    /// From how many failures of a job in a row on, as it was sent; `None` is 1.
    after: Option<u32>,
    /// Whether the first success after an alert is told, as it was sent.
    recovered: Option<bool>,
    /// In how much time a job is told of once.
    every: Option<Span>,
    /// What else is told.
    also: Option<AlsoTold>,
}

/// The property with what else is told.
const ALSO: &str = "alsoTell";
/// Its names.
pub(crate) const ALSO_TOLD: Shape =
    Object(&[("paused", Leaf), ("missed", Leaf), ("late", Leaf), ("behind", Leaf)]);

impl AlertRules {
    /// From how many failures of a job in a row on.
    #[must_use]
    pub fn after(&self) -> u32 {
        self.after.unwrap_or(1)
    }

    /// Whether the first success after an alert is told.
    #[must_use]
    pub fn recovered(&self) -> bool {
        self.recovered.unwrap_or_default()
    }

    /// In how much time a job is told of once.
    #[must_use]
    pub const fn every(&self) -> Option<Span> {
        self.every
    }

    /// Whether a job that the scheduler pauses is told, whatever the other rules say.
    #[must_use]
    pub fn tell_paused(&self) -> bool {
        self.also.is_some_and(AlsoTold::is_paused)
    }

    /// Whether incidents of any kind are told.
    #[must_use]
    pub fn tell_incidents(&self) -> bool {
        self.also.is_some_and(AlsoTold::tells_incidents)
    }

    /// Whether occurrences that wait under a limit of the collection are told.
    pub(crate) fn tell_behind(&self) -> bool {
        self.also.is_some_and(|also| also.behind.is_some())
    }

    /// Whether an incident is told.
    #[must_use]
    pub fn tell(&self, incident: &Incident) -> bool {
        let Some(AlsoTold { missed, late, behind, .. }) = self.also else { return false };
        let is_longer = |span: Option<Span>, by| span.is_some_and(|span| by > span.delta());
        match incident {
            Incident::Missed { .. } => missed.unwrap_or_default(),
            Incident::Late { by } => is_longer(late, *by),
            Incident::Behind { by } => is_longer(behind, *by),
        }
    }

    /// Whether something has to be known of a job to decide. If not, a job costs no more than without.
    #[must_use]
    pub fn need_state(&self) -> bool {
        self.holds_back() || self.recovered()
    }

    /// Whether some failures are not told.
    fn holds_back(&self) -> bool {
        self.after() > 1 || self.every.is_some()
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let rules = Self {
            after: fields.whole("after", 1, AFTER_MAX)?,
            recovered: fields.flag("recovered")?,
            every: fields.bounded_span("every", EVERY)?,
            also: fields.part(ALSO, AlsoTold::read)?,
        };
        if fields.limiting_plan().is_some() && rules.tell_paused() && !rules.holds_back() {
            let problem = "has no effect here, because each failure is told, and the alert of the \
                failure that pauses a job says so. Leave this out, or set 'after' or 'every'.";
            return Err(fields.about("alsoTell.paused", problem));
        }
        Ok(rules)
    }

    pub(crate) fn write(self, object: ObjectBuilder) -> ObjectBuilder {
        object
            .maybe("after", self.after)
            .maybe("recovered", self.recovered)
            .duration("every", self.every)
            .object(ALSO, self.also.map(AlsoTold::write))
    }
}
