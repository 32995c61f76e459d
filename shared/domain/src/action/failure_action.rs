//! The failure action of a collection: an action that sends an event instead of a content of its own.

use serde_json::Value;

use super::{Action, Target};
use crate::json::{Fields, ObjectBuilder};
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::retry::Retries;

/// What stands for the event until there is one. Every type accepts it as its content.
const PLACEHOLDER: &str = "{}";

/// The action of a collection for occurrences of its jobs that fail for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureAction(Action);

impl FailureAction {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let mut action = fields.map().clone();
        for (property, content) in Target::CONTENTS {
            let Some(payload) = fields.object(property)? else {
                continue;
            };
            check_has_no_content(&payload, content)?;
            if let Some(Value::Object(payload)) = action.get_mut(*property) {
                payload.insert((*content).to_owned(), PLACEHOLDER.into());
            }
        }
        let action = Value::Object(action);
        Action::read(&Fields::new(fields.place(), &action, fields.reading())?).map(Self)
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let property = self.0.target.property();
        let mut contents = Target::CONTENTS.iter().filter(|(known, _)| *known == property);
        let content = contents.next().map_or("", |(_, content)| content);
        self.0.write().without(property, content)
    }

    /// The target.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.0.target
    }

    /// The same, to change it.
    pub const fn target_mut(&mut self) -> &mut Target {
        &mut self.0.target
    }

    /// The target with an event to send.
    #[must_use]
    pub fn with_event(&self, event: String) -> Target {
        let mut target = self.0.target.clone();
        target.set_event(event);
        target
    }

    /// The retries of the action, which do not depend on those of a job.
    #[must_use]
    pub fn retries(&self, plan: Plan) -> Retries {
        Retries::from_policy(self.0.retry_policy.as_ref(), plan)
    }
}

/// The event is the content, so a content of its own would be lost.
fn check_has_no_content(payload: &Fields<'_>, content: &str) -> Result<(), Refusal> {
    let headers = payload.texts("headers")?.unwrap_or_default();
    let content_type =
        headers.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let name = match content_type {
        _ if payload.value(content).is_some() => content.to_owned(),
        Some((name, _)) => format!("headers.{name}"),
        None => return Ok(()),
    };
    let path = payload.path(&name);
    Err(Refusal::about(
        &path,
        "cannot be set here: the action sends an event that describes the failure. Remove it.",
    ))
}
