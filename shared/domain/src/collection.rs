//! Job collections.

use chrono::{DateTime, Utc};
use minutehand_recurrence::named;

use crate::action::FailureAction;
use crate::alert::AlertUse;
use crate::extensions::CollectionExtensions;
use crate::limits::CollectionLimits;
use crate::name::Name;
use crate::plan::{Plan, Quota};

named! {
    /// The state of a collection, which decides whether its jobs fire.
    #[derive(Default)]
    pub enum CollectionState {
        /// The jobs fire.
        #[default]
        Enabled = "Enabled",
        /// The jobs do not fire, because the user disabled the collection.
        Disabled = "Disabled",
        /// The jobs do not fire. The original set this state for billing; a user may set it too.
        Suspended = "Suspended",
    }
}

impl CollectionState {
    /// Whether the jobs fire.
    #[must_use]
    pub const fn is_on(self) -> bool {
        matches!(self, Self::Enabled)
    }
}

/// The user's part of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionDefinition {
    /// The location as it is answered; `None` is the location of the installation.
    pub location: Option<String>,
    /// The tags in the order in which they were sent; an empty list is echoed, `None` is not.
    pub tags: Option<Vec<(String, String)>>,
    /// The plan; the wire calls it `sku`.
    pub plan: Plan,
    /// The state.
    pub state: CollectionState,
    /// The quota, as it was sent.
    pub quota: Option<Quota>,
    /// The extensions; an empty object is echoed, `None` is not.
    pub extensions: Option<CollectionExtensions>,
}

impl CollectionDefinition {
    /// The action for occurrences that fail for good.
    #[must_use]
    pub fn on_failure(&self) -> Option<&FailureAction> {
        self.extensions.as_ref()?.on_failure.as_ref()
    }

    /// The same, to change it.
    pub fn on_failure_mut(&mut self) -> Option<&mut FailureAction> {
        self.extensions.as_mut()?.on_failure.as_mut()
    }

    /// What the workers of its jobs have to know of its alerts.
    #[must_use]
    pub fn alert_use(&self) -> AlertUse {
        self.on_failure().map_or(AlertUse::None, FailureAction::alert_use)
    }

    /// The limits of its attempts.
    #[must_use]
    pub fn limits(&self) -> CollectionLimits {
        let limits = |it: &CollectionExtensions| CollectionLimits {
            per_second: it.max_per_second,
            concurrent: it.max_concurrent,
        };
        self.extensions.as_ref().map_or(CollectionLimits::NONE, limits)
    }

    /// Until when neither it nor its jobs are shown as needing someone.
    #[must_use]
    pub fn snoozed_until(&self) -> Option<DateTime<Utc>> {
        self.extensions.as_ref()?.snoozed_until
    }

    /// The time zone of jobs that name none.
    #[must_use]
    pub fn time_zone(&self) -> Option<&str> {
        self.extensions.as_ref()?.time_zone.as_deref()
    }
}

/// A stored collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// An identifier that is never reused: a collection that is deleted and created again has another.
    pub uid: String,
    /// The name in the case in which it was first given.
    pub name: Name,
    /// The user's part.
    pub definition: CollectionDefinition,
}
