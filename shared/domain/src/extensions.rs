//! The property `minutehand` of a job and of a collection: settings that the original did not have.
//!
//! An extension is a field of one of the two types here, a line in its shape, and a line each in
//! `read` and `write`. Nothing else is needed for its survival: official clients do not know the
//! property, so [`keep_extensions`](crate::document::keep_extensions) keeps all of it in a PUT that
//! leaves it out.

use recurrence::nearest;
use recurrence::zone::{self, Zone};

use crate::action::{FAILURE_ACTION, FailureAction};
use crate::backoff::{BACKOFF, Backoff};
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;

/// The property that holds the extensions.
pub const EXTENSIONS: &str = "minutehand";

/// The extensions of a job. Those of its recurrence are read with the recurrence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobExtensions {
    /// How the wait before a retry grows, spreads and ends.
    pub retry: Option<Backoff>,
}

/// The extensions of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionExtensions {
    /// The time zone of jobs that name none when they are created or when their timing changes, as
    /// it was sent.
    pub time_zone: Option<String>,
    /// The action for occurrences of any job of the collection that fail for good.
    pub on_failure: Option<FailureAction>,
}

impl JobExtensions {
    pub(crate) const SHAPE: Shape = Object(&[("retry", BACKOFF)]);

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let retry = fields.object("retry")?;
        Ok(Self { retry: retry.map(|retry| Backoff::read(&retry)).transpose()? })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let Self { retry } = self;
        let mut document = ObjectBuilder::default();
        document.object("retry", retry.as_ref().map(Backoff::write));
        document
    }
}

impl CollectionExtensions {
    pub(crate) const SHAPE: Shape = Object(&[("timeZone", Leaf), ("onFailure", FAILURE_ACTION)]);

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let on_failure = fields.object("onFailure")?;
        Ok(Self {
            time_zone: read_time_zone(fields)?,
            on_failure: on_failure.map(|action| FailureAction::read(&action)).transpose()?,
        })
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let Self { time_zone, on_failure } = self;
        let mut document = ObjectBuilder::default();
        document
            .maybe("timeZone", time_zone.as_deref())
            .object("onFailure", on_failure.as_ref().map(FailureAction::write));
        document
    }
}

fn read_time_zone(fields: &Fields<'_>) -> Result<Option<String>, Refusal> {
    let Some(name) = fields.text("timeZone")? else {
        return Ok(None);
    };
    if fields.limiting_plan().is_some() && Zone::named(name).is_none() {
        let example = nearest(name, zone::names()).unwrap_or("Europe/Paris");
        let allowed = format!("use an IANA or Windows time zone name, such as '{example}'");
        return Err(fields.wrong("timeZone", &allowed));
    }
    Ok(Some(name.to_owned()))
}
