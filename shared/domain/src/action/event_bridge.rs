//! The action type `EventBridge`.

use serde_json::Value;

use super::ActionType;
use super::texts::Text;
use crate::arn::Arn;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::template::TemplatePlace;

/// `EventBridge` allows ten resources, and the scheduler adds one.
const RESOURCES_MAX: usize = 9;
const RESOURCES_ALLOWED: &str = "use a list of up to 9 strings that are not empty";

/// An event for an `EventBridge` bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBridge {
    /// The name or the ARN of the bus; `None` is the account's default bus.
    pub bus: Option<String>,
    /// The source of the event.
    pub source: String,
    /// The type of the event.
    pub detail_type: String,
    /// The content of the event: a JSON object, exactly as it was sent.
    pub detail: String,
    /// The resources that the event concerns.
    pub resources: Option<Vec<String>>,
}

impl EventBridge {
    /// The bus, by the name that AWS gives the default one.
    #[must_use]
    pub fn bus_name(&self) -> &str {
        self.bus.as_deref().unwrap_or("default")
    }
}

impl ActionType for EventBridge {
    type Payload = Self;
    const TYPE: &'static str = "EventBridge";
    const PROPERTY: &'static str = "eventBridgeEvent";
    const SHAPE: Shape = Object(&[
        ("eventBusName", Leaf),
        ("source", Leaf),
        ("detailType", Leaf),
        ("detail", Leaf),
        ("resources", Leaf),
    ]);
    const IS_AWS: bool = true;
    const CONTENT: Option<&'static str> = Some("detail");

    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let texts = |all: &Value| {
            let texts = all.as_array()?.iter().map(|one| one.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>()
        };
        Ok(Self {
            bus: fields.owned("eventBusName")?,
            source: fields.required_owned("source")?,
            detail_type: fields.required_owned("detailType")?,
            detail: fields.required_owned("detail")?,
            resources: fields.read("resources", texts, RESOURCES_ALLOWED)?,
        })
    }

    fn check(event: &Self, fields: &Fields<'_>) -> Result<(), Refusal> {
        if !event.bus.as_deref().is_none_or(is_bus) {
            return Err(fields.wrong("eventBusName", "use the name or the ARN of an event bus"));
        }
        if event.source.starts_with("aws.") {
            let allowed = "AWS reserves the sources that begin with 'aws.'; use another one";
            return Err(fields.wrong("source", allowed));
        }
        if !fields.json(&event.detail).is_some_and(|detail| detail.is_object()) {
            return Err(fields.about("detail", "must be a JSON object as a string."));
        }
        let resources = event.resources.as_deref().unwrap_or_default();
        if resources.len() > RESOURCES_MAX || resources.iter().any(String::is_empty) {
            return Err(fields.wrong("resources", RESOURCES_ALLOWED));
        }
        Ok(())
    }

    fn write(event: &Self) -> ObjectBuilder {
        ObjectBuilder::default()
            .maybe("eventBusName", event.bus.as_deref())
            .set("source", event.source.as_str())
            .set("detailType", event.detail_type.as_str())
            .set("detail", event.detail.as_str())
            .maybe("resources", event.resources.clone())
    }

    fn texts(payload: &mut Self) -> Vec<Text<'_>> {
        let Self { detail_type, detail, .. } = payload;
        vec![
            Text::new("detailType", TemplatePlace::Header, detail_type),
            Text::new("detail", TemplatePlace::Json, detail),
        ]
    }

    fn set_event(bus: &mut Self, event: String) {
        bus.detail = event;
    }

    fn failure(event: &Self, what: &str, why: &str) -> String {
        format!("EventBridge Action - Event to bus '{}' failed: {what} {why}", event.bus_name())
    }
}

fn is_bus(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "/.-_".contains(c);
    let is_name = (1..=256).contains(&text.len()) && text.chars().all(known);
    is_name || Arn::read(text, "events").is_some()
}
