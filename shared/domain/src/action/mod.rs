//! Actions: what a job does when it fires.
//!
//! An action type is one file here and one row in the table below. The file holds everything that
//! the domain knows about the type: its properties, how they are read and checked, how they are
//! written, where its secrets may be sent, and the words of a failure. The table generates
//! [`Target`] and the functions that hand over to the file.

mod attributes;
mod event_bridge;
mod expect;
mod failure_action;
mod http;
mod http_header;
mod lambda;
mod message_format;
mod queue_path;
mod service_bus;
mod sns;
mod sqs;
mod storage_queue;
mod texts;

pub use event_bridge::EventBridge;
pub use expect::Expect;
pub(crate) use failure_action::FORMAT;
pub use failure_action::FailureAction;
pub use http::{
    Authentication, CertificateFacts, ClientCertificate, HttpRequest, host, request_failed,
};
pub use lambda::Lambda;
pub use message_format::MessageFormat;
pub use service_bus::{BrokeredProperties, ServiceBus, Transport};
pub use sns::Sns;
pub use sqs::Sqs;
pub use storage_queue::StorageQueue;

pub(crate) use texts::check_templates;

use serde_json::Value;
use texts::Text;

use crate::alert::ALSO_TOLD;
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::ping_window::PingWindow;
use crate::refusal::{Fix, Refusal};
use crate::retry::{RETRY_POLICY, RetryPolicy};

/// The action of a job, with the one that runs when it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MainAction {
    /// The action at each occurrence.
    pub action: Action,
    /// The action after all retries have failed. Error actions do not nest.
    pub error_action: Option<Box<Action>>,
}

/// A target and its retry policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The type of the action with its properties.
    pub target: Target,
    /// The retry policy as it was sent; `None` is the default policy.
    pub retry_policy: Option<RetryPolicy>,
}

/// Everything that the domain knows about one action type.
trait ActionType {
    /// The properties of the type, read.
    type Payload;
    /// The name of the type, as answered.
    const TYPE: &'static str;
    /// The property of the action that holds the payload.
    const PROPERTY: &'static str;
    /// The names in the payload.
    const SHAPE: Shape;
    /// The property of the payload that holds what is sent.
    const CONTENT: Option<&'static str>;
    /// The property that tells the place which the secrets may be sent to.
    const PLACE: &'static str = "";
    /// The secrets in the payload, as JSON pointers.
    const SECRETS: &'static [&'static str] = &[];
    /// Whether it is a service of AWS, which is called with the installation's own credentials.
    const IS_AWS: bool = false;

    /// Reads the payload. It checks the structure only: the types of values, names from a fixed
    /// list, and everything that becomes a part of a host name or a path.
    fn read(fields: &Fields<'_>) -> Result<Self::Payload, Refusal>;

    /// Checks the limits, which do not apply to a stored document.
    fn check(payload: &Self::Payload, fields: &Fields<'_>) -> Result<(), Refusal>;

    /// Writes the payload in the order and case of the original's answers.
    fn write(payload: &Self::Payload) -> ObjectBuilder;

    /// The texts in which templates may stand.
    fn texts(payload: &mut Self::Payload) -> Vec<Text<'_>>;

    /// Sends an event, as JSON, instead of what the payload contains.
    fn set_event(payload: &mut Self::Payload, event: String);

    /// The message of an attempt that failed before the target answered: `what` is a word that
    /// clients know, `why` a sentence without secrets.
    fn failure(payload: &Self::Payload, what: &str, why: &str) -> String;

    /// The place that the secrets of a payload may be sent to, given the property of its document
    /// that tells the place.
    fn place(_text: &str) -> String {
        String::new()
    }

    /// The value of that property.
    fn place_text(_payload: &Self::Payload) -> Option<&str> {
        None
    }

    /// Whether it authenticates in a way that the plan Free does not include.
    fn authenticates(_payload: &Self::Payload) -> bool {
        false
    }
}

/// Generates [`Target`] and all that depends on the list of action types.
macro_rules! action_types {
    ($($(#[$doc:meta])* $variant:ident($payload:ty) is $kind:ty;)*) => {
        /// The type of an action with its properties.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Target {
            $($(#[$doc])* $variant($payload),)*
        }

        impl Target {
            /// The names of all types, as answered.
            pub const TYPES: &'static [&'static str] = &[$(<$kind as ActionType>::TYPE),*];

            /// Each type, and whether it is a service of AWS.
            const SERVICES: &'static [(&'static str, bool)] =
                &[$((<$kind as ActionType>::TYPE, <$kind as ActionType>::IS_AWS)),*];

            /// The properties that hold the payloads of all types, in the order of the types.
            const PROPERTIES: &'static [&'static str] = &[$(<$kind as ActionType>::PROPERTY),*];

            /// The payload of each type that sends something, and the property in it that holds that.
            fn contents() -> impl Iterator<Item = (&'static str, &'static str)> {
                let all = [$((<$kind as ActionType>::PROPERTY, <$kind as ActionType>::CONTENT)),*];
                all.into_iter().filter_map(|(property, content)| Some((property, content?)))
            }

            /// The texts in which templates may stand.
            fn texts(&mut self) -> Vec<Text<'_>> {
                match self {
                    $(Self::$variant(payload) => <$kind as ActionType>::texts(payload),)*
                }
            }

            /// Sends an event, as JSON, instead of what the payload contains.
            fn set_event(&mut self, event: String) {
                match self {
                    $(Self::$variant(payload) => <$kind as ActionType>::set_event(payload, event),)*
                }
            }

            /// The name of the type, as answered.
            #[must_use]
            pub const fn type_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$kind as ActionType>::TYPE,)*
                }
            }

            /// The property of the action that holds the payload.
            pub(crate) const fn property(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$kind as ActionType>::PROPERTY,)*
                }
            }

            /// Whether it is a service of AWS, which is called with the installation's own
            /// credentials.
            #[must_use]
            pub const fn is_aws(&self) -> bool {
                match self {
                    $(Self::$variant(_) => <$kind as ActionType>::IS_AWS,)*
                }
            }

            /// Whether it authenticates in a way that the plan Free does not include.
            #[must_use]
            pub fn authenticates(&self) -> bool {
                match self {
                    $(Self::$variant(payload) => <$kind as ActionType>::authenticates(payload),)*
                }
            }

            /// The message of an attempt that failed before the target answered: `what` is a word
            /// that clients know, `why` a sentence without secrets.
            #[must_use]
            pub fn failure(&self, what: &str, why: &str) -> String {
                match self {
                    $(Self::$variant(payload) => <$kind as ActionType>::failure(payload, what, why),)*
                }
            }

            /// The place that its secrets may be sent to.
            fn destination(&self) -> String {
                match self {
                    $(Self::$variant(payload) => {
                        <$kind as ActionType>::place_text(payload)
                            .map(<$kind as ActionType>::place)
                            .unwrap_or_default()
                    })*
                }
            }

            /// The secrets in the document of a payload, by its property, as JSON pointers.
            #[must_use]
            pub fn secrets(property: &str) -> &'static [&'static str] {
                $(if property == <$kind as ActionType>::PROPERTY {
                    return <$kind as ActionType>::SECRETS;
                })*
                &[]
            }

            /// The place that the secrets in the document of a payload may be sent to.
            pub(crate) fn place(property: &str, document: &Value) -> Option<String> {
                $(if property == <$kind as ActionType>::PROPERTY {
                    let text = document.get(<$kind as ActionType>::PLACE)?.as_str()?;
                    return Some(<$kind as ActionType>::place(text));
                })*
                None
            }

            fn write(&self) -> ObjectBuilder {
                match self {
                    $(Self::$variant(payload) => <$kind as ActionType>::write(payload),)*
                }
            }

            /// Reads the payload of a type by its canonical name.
            fn read(type_name: &str, action: &Fields<'_>) -> Result<Self, Refusal> {
                $(if type_name == <$kind as ActionType>::TYPE {
                    let fields = action.required_object(<$kind as ActionType>::PROPERTY)?;
                    let payload = <$kind as ActionType>::read(&fields)?;
                    if fields.limiting_plan().is_some() {
                        <$kind as ActionType>::check(&payload, &fields)?;
                    }
                    return Ok(Self::$variant(payload));
                })*
                let wrong = action.wrong("type", &format!("use one of {}", Self::TYPES.join(", ")));
                Err(wrong.or(Fix::one_of(type_name, Self::TYPES.iter().copied())))
            }
        }

        const ERROR_ACTION: &[(&str, Shape)] = &[
            $((<$kind as ActionType>::PROPERTY, <$kind as ActionType>::SHAPE),)*
            ("type", Shape::Leaf),
            ("retryPolicy", RETRY_POLICY),
        ];

        /// The names of the failure action of a collection. Its content is refused with a reason.
        pub(crate) const FAILURE_ACTION: Shape = Shape::Object(&[
            $((<$kind as ActionType>::PROPERTY, <$kind as ActionType>::SHAPE),)*
            ("type", Shape::Leaf),
            ("retryPolicy", RETRY_POLICY),
            ("format", Shape::Leaf),
            ("after", Shape::Leaf),
            ("recovered", Shape::Leaf),
            ("every", Shape::Leaf),
            ("alsoTell", ALSO_TOLD),
        ]);

        /// The names of an action: those of an error action, and the error action itself.
        pub(crate) const MAIN_ACTION: Shape = Shape::Object(&[
            $((<$kind as ActionType>::PROPERTY, <$kind as ActionType>::SHAPE),)*
            ("type", Shape::Leaf),
            ("retryPolicy", RETRY_POLICY),
            ("errorAction", Shape::Object(ERROR_ACTION)),
        ]);
    };
}

action_types! {
    /// Calls a URL.
    Http(HttpRequest) is http::Request<false>;
    /// Calls a URL that must be an HTTPS URL.
    Https(HttpRequest) is http::Request<true>;
    /// Puts a message into a Storage queue.
    StorageQueue(StorageQueue) is StorageQueue;
    /// Sends a message to a Service Bus queue.
    ServiceBusQueue(ServiceBus) is service_bus::Message<false>;
    /// Sends a message to a Service Bus topic.
    ServiceBusTopic(ServiceBus) is service_bus::Message<true>;
    /// Sends a message to an SQS queue.
    Sqs(Sqs) is Sqs;
    /// Publishes a message to an SNS topic.
    Sns(Sns) is Sns;
    /// Invokes a Lambda function without waiting for its result.
    Lambda(Lambda) is Lambda;
    /// Puts an event on an `EventBridge` bus.
    EventBridge(EventBridge) is EventBridge;
    /// Sends nothing, and waits for a ping.
    Expect(Expect) is Expect;
}

impl Target {
    /// Whether a name is that of a property that holds a payload.
    pub(crate) fn is_payload(property: &str) -> bool {
        Self::PROPERTIES.contains(&property)
    }

    /// Whether a property holds a request, whose headers and URL may contain credentials.
    #[must_use]
    pub fn is_request(property: &str) -> bool {
        property == <http::Request<true> as ActionType>::PROPERTY
    }

    /// What it reaches: the origin of a URL, an account, a namespace, or a service. Attempts under way
    /// are counted by it.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{} {}", self.property(), self.destination())
    }

    /// What it calls, in a few words without secrets: the method and host of a request, the account,
    /// namespace or service of a message.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Http(request) | Self::Https(request) => {
                format!("{} {}", request.method.to_uppercase(), host(&request.uri))
            }
            Self::Expect(_) => "a ping".to_owned(),
            other => other.destination(),
        }
    }

    /// The names of the types that an installation offers.
    pub fn offered(has_aws: bool) -> impl Iterator<Item = &'static str> {
        Self::SERVICES.iter().filter(move |(_, is_aws)| has_aws || !is_aws).map(|(name, _)| *name)
    }

    /// The property that holds the payload of a type, whose name is given in any case.
    #[must_use]
    pub fn property_of_type(type_name: &str) -> Option<&'static str> {
        let mut types = Self::TYPES.iter().zip(Self::PROPERTIES);
        let known = types.find(|(known, _)| known.eq_ignore_ascii_case(type_name));
        known.map(|(_, property)| *property)
    }
}

impl MainAction {
    pub(crate) fn read(action: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            action: Action::read(action)?,
            error_action: action.part("errorAction", Action::read_sending)?.map(Box::new),
        })
    }

    /// How long around an instant a ping is owed, if one is.
    #[must_use]
    pub fn ping_window(&self) -> Option<PingWindow> {
        match &self.action.target {
            Target::Expect(expect) => Some(expect.window()),
            _ => None,
        }
    }

    pub(crate) fn write(&self) -> ObjectBuilder {
        let error_action = self.error_action.as_deref().map(Action::write);
        self.action.write().object("errorAction", error_action)
    }

    /// The targets of the action and of its error action.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        [&self.action].into_iter().chain(self.error_action.as_deref()).map(|action| &action.target)
    }

    /// The same, to change them.
    pub fn targets_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        let error_action = self.error_action.as_deref_mut();
        [&mut self.action].into_iter().chain(error_action).map(|action| &mut action.target)
    }
}

impl Action {
    /// Reads an action that has to send something.
    fn read_sending(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let action = Self::read(fields)?;
        match action.target {
            Target::Expect(_) => Err(Refusal::about(
                fields.path("type"),
                "is 'Expect', which sends nothing; only the action of a job can expect a ping. Use another type.",
            )),
            _ => Ok(action),
        }
    }

    fn read(action: &Fields<'_>) -> Result<Self, Refusal> {
        let names = Target::TYPES.join(", ");
        let known = |text: &str| {
            Target::TYPES.iter().copied().find(|known| known.eq_ignore_ascii_case(text))
        };
        let type_name = action.required_one_of("type", known, &names)?;
        let target = Target::read(type_name, action)?;
        refuse_beside_ping(&target, action)?;
        Ok(Self { target, retry_policy: action.part("retryPolicy", RetryPolicy::read)? })
    }

    fn write(&self) -> ObjectBuilder {
        ObjectBuilder::default()
            .object(self.target.property(), Some(self.target.write()))
            .set("type", self.target.type_name())
            .object("retryPolicy", self.retry_policy.map(RetryPolicy::write))
    }
}

/// Refuses something to send beside a ping that is expected, and such a ping beside something to send. What is left
/// over of two other types is ignored, as the original does.
fn refuse_beside_ping(target: &Target, action: &Fields<'_>) -> Result<(), Refusal> {
    let ping = <Expect as ActionType>::PROPERTY;
    let expects = matches!(target, Target::Expect(_));
    let mut others = Target::PROPERTIES.iter().filter(|&&property| (property == ping) != expects);
    match others.find(|property| action.value(property).is_some()) {
        None => Ok(()),
        Some(property) => Err(Refusal::about(
            action.path(property),
            format!(
                "has no effect with an action of type {}. Leave it out, set it to null, or change the type.",
                target.type_name()
            ),
        )),
    }
}

#[cfg(test)]
mod tests;
