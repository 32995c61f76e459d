//! Conditions of changes: the version of a resource that a client expects.

use minutehand_domain::name::Name;
use minutehand_ports::store::{CollectionRecord, JobRecord};

use super::Manage;
use crate::error::{AppError, Result};
use crate::etag::Etag;

/// The versions that a condition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Etags {
    /// Every version.
    Any,
    /// These `ETags`, without quotation marks.
    OneOf(Vec<String>),
}

/// What a client expects of the resource that it changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Condition {
    /// The resource must exist in one of these versions.
    pub is_one_of: Option<Etags>,
    /// The resource must not exist in one of these versions.
    pub is_none_of: Option<Etags>,
}

impl Etags {
    fn contain(&self, etag: Option<&Etag>) -> bool {
        match (self, etag) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::OneOf(etags), Some(etag)) => etags.iter().any(|it| it == etag.inner()),
        }
    }
}

impl Condition {
    fn holds(&self, etag: Option<&Etag>) -> bool {
        self.is_one_of.as_ref().is_none_or(|etags| etags.contain(etag))
            && !self.is_none_of.as_ref().is_some_and(|etags| etags.contain(etag))
    }
}

impl Manage {
    /// The same service for changes that a client asks for on a condition.
    #[must_use]
    pub fn only_if(&self, condition: Condition) -> Self {
        Self { condition, ..self.clone() }
    }

    /// Checks the condition against a job as it is now; `None` if it does not exist.
    pub(super) fn check_job_condition(&self, name: &Name, job: Option<&JobRecord>) -> Result<()> {
        self.check_condition(job.map(Etag::from), || format!("job '{name}'"))
    }

    /// The same for a collection.
    pub(super) fn check_collection_condition(
        &self,
        name: &Name,
        record: Option<&CollectionRecord>,
    ) -> Result<()> {
        self.check_condition(record.map(Etag::from), || format!("job collection '{name}'"))
    }

    /// Checks the condition against a version; `None` if the thing does not exist.
    pub(super) fn check_condition(
        &self,
        etag: Option<Etag>,
        what: impl FnOnce() -> String,
    ) -> Result<()> {
        if self.condition.holds(etag.as_ref()) {
            return Ok(());
        }
        Err(AppError::ConditionFailed { what: what(), etag })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let one_of = |etags: &[&str]| {
            Some(Etags::OneOf(etags.iter().map(|etag| (*etag).to_owned()).collect()))
        };
        let etag = Etag::new("uid", 3);
        assert_eq!(etag.to_string(), "\"3-5cc7e6cd\"");
        let (this, other) = (one_of(&["1-x", "3-5cc7e6cd"]), one_of(&["3"]));
        for (is_one_of, is_none_of, exists, is_missing) in [
            (None, None, true, true),
            (Some(Etags::Any), None, true, false),
            (this.clone(), None, true, false),
            (other.clone(), None, false, false),
            (None, Some(Etags::Any), false, true),
            (None, this.clone(), false, true),
            (None, other.clone(), true, true),
            (this, other, true, false),
        ] {
            let condition = Condition { is_one_of, is_none_of };
            assert_eq!(condition.holds(Some(&etag)), exists, "{condition:?}");
            assert_eq!(condition.holds(None), is_missing, "{condition:?}");
        }
    }
}
