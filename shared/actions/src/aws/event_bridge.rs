//! The action `EventBridge`: `PutEvents` with one event, in a JSON protocol.

use minutehand_domain::action::EventBridge;
use minutehand_domain::arn::Arn;
use minutehand_ports::AttemptContext;
use serde_json::{Value, json};

use super::{Account, Answer, ApiCall, Service};
use crate::outcome::ActionFailure;

impl Service for EventBridge {
    const NAME: &'static str = "events";

    fn region(&self, account: &Account) -> Result<String, ActionFailure> {
        let bus = self.bus.as_deref().and_then(|bus| Arn::read(bus, Self::NAME));
        Ok(account.region_of(bus.as_ref()))
    }

    fn call(&self, context: &AttemptContext) -> ApiCall {
        let execution = format!("minutehand:execution:{}", context.execution_id);
        let resources = self.resources.iter().flatten().cloned().chain([execution]);
        let mut entry = json!({
            "Source": self.source,
            "DetailType": self.detail_type,
            "Detail": self.detail,
            "Resources": resources.collect::<Vec<_>>(),
            "Time": context.expected_at.timestamp(),
        });
        if let (Some(fields), Some(bus)) = (entry.as_object_mut(), &self.bus) {
            fields.insert("EventBusName".to_owned(), bus.as_str().into());
        }
        let body = json!({"Entries": [entry]});
        ApiCall::json("application/x-amz-json-1.1", "AWSEvents.PutEvents", &body)
    }

    fn description(&self) -> String {
        format!("Event to bus '{}'", self.bus_name())
    }

    /// The status of the answer is that of the request. Each event has its own error.
    fn accepted_id(&self, answer: &Answer<'_>) -> Result<Option<String>, ActionFailure> {
        let entry = answer.json.pointer("/Entries/0");
        let field = |name| entry.and_then(|entry| entry.get(name)).and_then(Value::as_str);
        if let Some(code) = field("ErrorCode") {
            let message = field("ErrorMessage").unwrap_or_default();
            return Err(ActionFailure::rejected(code.to_owned(), message));
        }
        Ok(field("EventId").map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::*;

    #[test]
    fn the_time_of_an_event_is_that_of_its_occurrence() {
        let event = |bus: Option<&str>| EventBridge {
            bus: bus.map(str::to_owned),
            source: "s".to_owned(),
            detail_type: "t".to_owned(),
            detail: "{ }".to_owned(),
            resources: Some(vec!["r".to_owned()]),
        };
        let body = |bus| event(bus).call(&context()).body;
        assert_eq!(
            serde_json::from_str::<Value>(&body(Some("b"))).unwrap(),
            json!({"Entries": [{
                "EventBusName": "b", "Source": "s", "DetailType": "t", "Detail": "{ }",
                "Resources": ["r", "minutehand:execution:u1.1.2.m0"], "Time": 1_700_000_000,
            }]})
        );
        assert!(!body(None).contains("EventBusName"));
    }
}
