//! Job collections.

use crate::name::Name;
use crate::pricing_tier::{PricingTier, Quota};

/// Whether the jobs of a collection fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CollectionState {
    /// They do.
    #[default]
    Enabled,
    /// They do not; switched off by the user.
    Disabled,
    /// They do not; in the original, put on hold for billing. A user may set it, too.
    Suspended,
}

impl CollectionState {
    /// All states that a collection can have.
    pub const ALL: [Self; 3] = [Self::Enabled, Self::Disabled, Self::Suspended];

    /// Its name, as answered.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enabled => "Enabled",
            Self::Disabled => "Disabled",
            Self::Suspended => "Suspended",
        }
    }

    /// Reads a name in any case.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name().eq_ignore_ascii_case(text))
    }

    /// Whether jobs fire.
    #[must_use]
    pub const fn is_on(self) -> bool {
        matches!(self, Self::Enabled)
    }
}

/// What a user says of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionDefinition {
    /// As it is answered; `None` is where the installation runs.
    pub location: Option<String>,
    /// In the order in which they were sent; an empty list is echoed, none is not.
    pub tags: Option<Vec<(String, String)>>,
    /// The plan.
    pub plan: PricingTier,
    /// Whether jobs fire.
    pub state: CollectionState,
    /// The quota, as it was sent.
    pub quota: Option<Quota>,
}

/// A collection as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its own, never reused: a collection that is deleted and created again is another one.
    pub uid: String,
    /// As it was first given.
    pub name: Name,
    /// What the user said.
    pub definition: CollectionDefinition,
}
