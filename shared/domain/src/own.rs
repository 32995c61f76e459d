//! The installation's own resources on AWS, to which no job may send.
//!
//! A message in the scheduler's queue is work that the executor does for any job, an invocation of one
//! of its functions passes by the authentication of the gateway, and an event on its bus says what
//! happened to a job. IAM refuses them, too; this check says so when a job is saved.

use url::Url;

use crate::action::{EventBridge, Lambda, Sqs, Target};
use crate::arn::Arn;

/// The own queues, functions and buses of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnResources {
    /// Account and name of each queue.
    queues: Vec<[String; 2]>,
    /// The names of functions.
    functions: Vec<String>,
    buses: Vec<Arn>,
}

/// An own resource that a job names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} belongs to the scheduler itself, and no job may send to it.")]
pub struct IsOwn(String);

impl OwnResources {
    /// Adds the ARN of a queue, a function or a bus.
    ///
    /// ```
    /// use minutehand_domain::own::OwnResources;
    ///
    /// let mut own = OwnResources::default();
    /// assert!(own.add("arn:aws:sqs:eu-west-1:123456789012:work"));
    /// assert!(!own.add("work"));
    /// ```
    #[must_use]
    pub fn add(&mut self, arn: &str) -> bool {
        if let Some(queue) = Arn::read(arn, "sqs") {
            self.queues.push([queue.account().to_owned(), queue.resource().to_owned()]);
        } else if let Some(function) = Arn::read(arn, "lambda") {
            let Some(name) = function.resource().strip_prefix("function:") else { return false };
            self.add_function(name);
        } else if let Some(bus) = Arn::read(arn, "events") {
            self.buses.push(bus);
        } else {
            return false;
        }
        true
    }

    /// Adds a function by its name.
    pub fn add_function(&mut self, name: &str) {
        self.functions.push(name.to_owned());
    }

    /// Checks that a target is none of these resources.
    ///
    /// # Errors
    ///
    /// If it is one of them.
    pub fn check(&self, target: &Target) -> Result<(), IsOwn> {
        let own = match target {
            Target::Sqs(Sqs { queue_url, .. }) if self.has_queue(queue_url) => {
                format!("The queue '{queue_url}'")
            }
            Target::Lambda(Lambda { function, .. }) if self.has_function(function) => {
                format!("The function '{function}'")
            }
            Target::EventBridge(event) if self.has_bus(event) => {
                format!("The event bus '{}'", event.bus_name())
            }
            Target::Sqs(_)
            | Target::Lambda(_)
            | Target::EventBridge(_)
            | Target::Expect(_)
            | Target::Sns(_)
            | Target::Http(_)
            | Target::Https(_)
            | Target::StorageQueue(_)
            | Target::ServiceBusQueue(_)
            | Target::ServiceBusTopic(_) => return Ok(()),
        };
        Err(IsOwn(own))
    }

    /// A queue has several hosts, so account and name decide. They may stand encoded in the path.
    fn has_queue(&self, queue_url: &str) -> bool {
        let Ok(url) = Url::parse(queue_url) else { return false };
        let parts: Vec<String> = url.path_segments().into_iter().flatten().map(decoded).collect();
        let parts: Vec<&str> =
            parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        self.queues.iter().any(|queue| {
            parts.windows(2).any(|part| part.iter().zip(queue).all(|(part, own)| part == own))
        })
    }

    /// A function may be named alone, with its account, or by its ARN, and with a version. AWS makes up
    /// the names of own functions, so no other account has the same.
    fn has_function(&self, function: &str) -> bool {
        function.split(':').any(|part| self.functions.iter().any(|own| own == part))
    }

    fn has_bus(&self, event: &EventBridge) -> bool {
        let Some(bus) = event.bus.as_deref() else { return false };
        self.buses.iter().any(|own| {
            own.as_str() == bus || own.resource().strip_prefix("event-bus/") == Some(bus)
        })
    }
}

/// A segment of a path, decoded as far as it can be a part of a name.
fn decoded(segment: &str) -> String {
    let mut pairs = url::form_urlencoded::parse(segment.as_bytes());
    pairs.next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnResources {
        let mut own = OwnResources::default();
        for arn in [
            "arn:aws:sqs:eu-west-1:123456789012:m-Queue-1",
            "arn:aws:sqs:eu-west-1:123456789012:m-DeadLetters-2",
            "arn:aws:lambda:eu-west-1:123456789012:function:m-Api-3",
            "arn:aws:events:eu-west-1:123456789012:event-bus/m-jobs",
        ] {
            assert!(own.add(arn), "{arn}");
        }
        own.add_function("m-Executor-4");
        own
    }

    #[test]
    fn every_spelling_of_an_own_queue_is_refused_and_others_are_not() {
        for (queue_url, is_own) in [
            ("https://sqs.eu-west-1.amazonaws.com/123456789012/m-Queue-1", true),
            ("https://sqs.eu-west-1.amazonaws.com/123456789012/m-DeadLetters-2", true),
            ("http://eu-west-1.queue.amazonaws.com//123456789012/m-Queue-1/", true),
            ("https://sqs.eu-west-1.api.aws/123456789012/m-%51ueue-1", true),
            ("https://sqs-fips.eu-west-1.amazonaws.com/%3123456789012/m-Queue-1/x", true),
            ("http://127.0.0.1:4566/queue/eu-west-1/123456789012/m-Queue-1", true),
            ("https://sqs.eu-west-1.amazonaws.com/210987654321/m-Queue-1", false),
            ("https://sqs.eu-west-1.amazonaws.com/123456789012/m-Queue-10", false),
        ] {
            let sqs = Sqs {
                queue_url: queue_url.to_owned(),
                message: "m".to_owned(),
                attributes: None,
                group_id: None,
            };
            assert_eq!(own().check(&Target::Sqs(sqs)).is_err(), is_own, "{queue_url}");
        }
    }

    #[test]
    fn every_spelling_of_an_own_function_is_refused_and_others_are_not() {
        for (function, is_own) in [
            ("m-Api-3", true),
            ("m-Api-3:live", true),
            ("m-Executor-4:$LATEST", true),
            ("123456789012:function:m-Api-3", true),
            ("arn:aws:lambda:eu-west-1:123456789012:function:m-Api-3", true),
            ("arn:aws:lambda:eu-west-1:123456789012:function:m-Api-3:7", true),
            ("m-Api", false),
            ("arn:aws:lambda:eu-west-1:123456789012:function:reports", false),
        ] {
            let lambda = Lambda { function: function.to_owned(), payload: None };
            assert_eq!(own().check(&Target::Lambda(lambda)).is_err(), is_own, "{function}");
        }
    }

    #[test]
    fn the_own_bus_is_refused_and_a_bus_of_the_same_name_elsewhere_is_not() {
        for (bus, is_own) in [
            (Some("m-jobs"), true),
            (Some("arn:aws:events:eu-west-1:123456789012:event-bus/m-jobs"), true),
            (Some("arn:aws:events:us-east-1:123456789012:event-bus/m-jobs"), false),
            (Some("orders"), false),
            (None, false),
        ] {
            let event = EventBridge {
                bus: bus.map(str::to_owned),
                source: "s".to_owned(),
                detail_type: "t".to_owned(),
                detail: "{}".to_owned(),
                resources: None,
            };
            assert_eq!(own().check(&Target::EventBridge(event)).is_err(), is_own, "{bus:?}");
        }
    }

    #[test]
    fn the_refusal_names_the_resource() {
        let lambda = Lambda { function: "m-Api-3".to_owned(), payload: None };
        assert_eq!(
            own().check(&Target::Lambda(lambda)).unwrap_err().to_string(),
            "The function 'm-Api-3' belongs to the scheduler itself, and no job may send to it."
        );
    }

    #[test]
    fn only_arns_of_queues_functions_and_buses_are_own_resources() {
        for text in
            ["", "q", "arn:aws:sns:eu-west-1:123456789012:t", "arn:aws:lambda:eu-west-1:1:layer:l"]
        {
            assert!(!OwnResources::default().add(text), "{text}");
        }
    }
}
