//! The action types `ServiceBusQueue` and `ServiceBusTopic`.

use chrono::{DateTime, Utc};
use minutehand_recurrence::{format_instant, named};

use super::ActionType;
use super::http_header::{belongs_to_connection, is_header_name};
use super::message_format::MessageFormat;
use super::queue_path::{read_host_label, read_message, read_path};
use super::texts::{Text, place_of};
use crate::duration::Span;
use crate::json::Shape::{Free, Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::secret::Secret;
use crate::template::TemplatePlace;

/// Headers that every request to the HTTPS API has, or that the API itself reads.
const BUS_HEADERS: [&str; 7] = [
    "accept",
    "authorization",
    "brokerproperties",
    "content-encoding",
    "content-type",
    "host",
    "user-agent",
];

/// A message for a Service Bus queue or topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceBus {
    /// The name of the queue, or the path of the topic.
    pub entity: String,
    /// The namespace.
    pub namespace: String,
    /// The transport as it was sent; `None` is the HTTPS API.
    pub transport: Option<Transport>,
    /// The name of the shared access key.
    pub key_name: String,
    /// The shared access key.
    pub key: Secret,
    /// The text of the message.
    pub message: String,
    /// The form of the message as it was sent; `None` is the envelope.
    pub format: Option<MessageFormat>,
    /// Properties that Service Bus interprets.
    pub brokered: Option<BrokeredProperties>,
    /// Properties that Service Bus only passes on, in their order.
    pub custom: Option<Vec<(String, String)>>,
}

named! {
    /// How a message is sent to Service Bus.
    pub enum Transport {
        /// No choice, which means the HTTPS API.
        NotSpecified = "notSpecified",
        /// The HTTPS API; the protocol that this once named no longer exists.
        NetMessaging = "netMessaging",
        /// AMQP 1.0.
        Amqp = "amqp",
    }
}

/// Properties of a message that Service Bus interprets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are Service Bus's own")]
pub struct BrokeredProperties {
    pub content_type: Option<String>,
    pub correlation_id: Option<String>,
    pub force_persistence: Option<bool>,
    pub label: Option<String>,
    pub message_id: Option<String>,
    pub partition_key: Option<String>,
    pub reply_to: Option<String>,
    pub reply_to_session_id: Option<String>,
    pub scheduled_enqueue_time: Option<DateTime<Utc>>,
    pub session_id: Option<String>,
    pub time_to_live: Option<Span>,
    pub to: Option<String>,
    pub via_partition_key: Option<String>,
}

/// A message for a queue or for a topic: two action types with one payload.
pub(super) struct Message<const TO_TOPIC: bool>;

impl<const TO_TOPIC: bool> Message<TO_TOPIC> {
    /// The property that names the queue or topic.
    const ENTITY: &'static str = if TO_TOPIC { "topicPath" } else { "queueName" };
}

impl<const TO_TOPIC: bool> ActionType for Message<TO_TOPIC> {
    type Payload = ServiceBus;
    const TYPE: &'static str = if TO_TOPIC { "ServiceBusTopic" } else { "ServiceBusQueue" };
    const PROPERTY: &'static str =
        if TO_TOPIC { "serviceBusTopicMessage" } else { "serviceBusQueueMessage" };
    const PLACE: &'static str = "namespace";
    const SECRETS: &'static [&'static str] = &["/authentication/sasKey"];
    const SHAPE: Shape = SHAPE;
    const CONTENT: Option<&'static str> = Some("message");

    fn read(fields: &Fields<'_>) -> Result<ServiceBus, Refusal> {
        let authentication = fields.required_object("authentication")?;
        let shared_access_key = |text: &str| {
            let known = ["SharedAccessKey", "NotSpecified"];
            known.iter().any(|known| known.eq_ignore_ascii_case(text)).then_some(())
        };
        authentication.one_of("type", shared_access_key, "sharedAccessKey")?;
        Ok(ServiceBus {
            entity: read_path(fields, Self::ENTITY)?,
            namespace: read_host_label(fields, "namespace")?,
            transport: fields.one_of(
                "transportType",
                Transport::read_name,
                "netMessaging, AMQP",
            )?,
            key_name: authentication.required_owned("sasKeyName")?,
            key: authentication.required_secret("sasKey")?,
            message: read_message(fields)?,
            format: MessageFormat::read(fields)?,
            brokered: fields.part("brokeredMessageProperties", read_brokered)?,
            custom: fields.texts("customMessageProperties")?,
        })
    }

    fn check(bus: &ServiceBus, fields: &Fields<'_>) -> Result<(), Refusal> {
        if bus.transport != Some(Transport::Amqp) {
            check_header_names(fields, bus.custom.as_deref().unwrap_or_default())?;
        }
        let (Some(brokered), Some(fields)) =
            (&bus.brokered, fields.object("brokeredMessageProperties")?)
        else {
            return Ok(());
        };
        let content_type = brokered.content_type.as_deref().unwrap_or_default();
        if !content_type.chars().all(|c| matches!(c, ' '..='~')) {
            return Err(fields.wrong("contentType", "use printable ASCII characters"));
        }
        match (&brokered.session_id, &brokered.partition_key) {
            (Some(session), Some(partition)) if session != partition => {
                Err(fields.wrong("partitionKey", "it must equal 'sessionId'"))
            }
            _ => Ok(()),
        }
    }

    fn write(bus: &ServiceBus) -> ObjectBuilder {
        let authentication = ObjectBuilder::default()
            .secret("sasKey", &bus.key)
            .set("sasKeyName", bus.key_name.as_str())
            .set("type", "sharedAccessKey");
        ObjectBuilder::default()
            .set(Self::ENTITY, bus.entity.as_str())
            .set("namespace", bus.namespace.as_str())
            .maybe("transportType", bus.transport.map(Transport::name))
            .object("authentication", Some(authentication))
            .set("message", bus.message.as_str())
            .maybe("messageFormat", bus.format.map(MessageFormat::name))
            .object("brokeredMessageProperties", bus.brokered.as_ref().map(write_brokered))
            .texts("customMessageProperties", bus.custom.as_deref())
    }

    fn texts(payload: &mut ServiceBus) -> Vec<Text<'_>> {
        let ServiceBus { message, brokered, custom, .. } = payload;
        let brokered = brokered.iter_mut().flat_map(|brokered| {
            let BrokeredProperties { correlation_id, label, message_id, .. } = brokered;
            let texts =
                [("correlationId", correlation_id), ("label", label), ("messageId", message_id)];
            texts.into_iter().filter_map(|(name, text)| {
                let path = format!("brokeredMessageProperties.{name}");
                Some(Text::new(path, TemplatePlace::Header, text.as_mut()?))
            })
        });
        let custom =
            Text::values("customMessageProperties", TemplatePlace::Header, custom.as_mut());
        let message = Text::new("message", place_of(message), message);
        [message].into_iter().chain(brokered).chain(custom).collect()
    }

    fn set_event(bus: &mut ServiceBus, event: String) {
        bus.message = event;
    }

    fn failure(bus: &ServiceBus, what: &str, why: &str) -> String {
        format!(
            "{} Action - Failed: message to '{}' in namespace '{}' failed: {what} {why}",
            Self::TYPE,
            bus.entity,
            bus.namespace
        )
    }

    fn place(namespace: &str) -> String {
        namespace.to_ascii_lowercase()
    }

    fn place_text(bus: &ServiceBus) -> Option<&str> {
        Some(&bus.namespace)
    }
}

const SHAPE: Shape = Object(&[
    ("queueName", Leaf),
    ("topicPath", Leaf),
    ("namespace", Leaf),
    ("transportType", Leaf),
    ("authentication", Object(&[("sasKeyName", Leaf), ("sasKey", Shape::Secret), ("type", Leaf)])),
    ("message", Leaf),
    ("messageFormat", Leaf),
    (
        "brokeredMessageProperties",
        Object(&[
            ("contentType", Leaf),
            ("correlationId", Leaf),
            ("forcePersistence", Leaf),
            ("label", Leaf),
            ("messageId", Leaf),
            ("partitionKey", Leaf),
            ("replyTo", Leaf),
            ("replyToSessionId", Leaf),
            ("scheduledEnqueueTimeUtc", Leaf),
            ("sessionId", Leaf),
            ("timeToLive", Leaf),
            ("to", Leaf),
            ("viaPartitionKey", Leaf),
        ]),
    ),
    ("customMessageProperties", Free),
]);

fn read_brokered(fields: &Fields<'_>) -> Result<BrokeredProperties, Refusal> {
    Ok(BrokeredProperties {
        content_type: fields.owned("contentType")?,
        correlation_id: fields.owned("correlationId")?,
        force_persistence: fields.flag("forcePersistence")?,
        label: fields.owned("label")?,
        message_id: fields.owned("messageId")?,
        partition_key: fields.owned("partitionKey")?,
        reply_to: fields.owned("replyTo")?,
        reply_to_session_id: fields.owned("replyToSessionId")?,
        scheduled_enqueue_time: fields.date("scheduledEnqueueTimeUtc")?,
        session_id: fields.owned("sessionId")?,
        time_to_live: fields.span("timeToLive")?,
        to: fields.owned("to")?,
        via_partition_key: fields.owned("viaPartitionKey")?,
    })
}

fn write_brokered(properties: &BrokeredProperties) -> ObjectBuilder {
    ObjectBuilder::default()
        .maybe("contentType", properties.content_type.as_deref())
        .maybe("correlationId", properties.correlation_id.as_deref())
        .maybe("forcePersistence", properties.force_persistence)
        .maybe("label", properties.label.as_deref())
        .maybe("messageId", properties.message_id.as_deref())
        .maybe("partitionKey", properties.partition_key.as_deref())
        .maybe("replyTo", properties.reply_to.as_deref())
        .maybe("replyToSessionId", properties.reply_to_session_id.as_deref())
        .maybe("scheduledEnqueueTimeUtc", properties.scheduled_enqueue_time.map(format_instant))
        .maybe("sessionId", properties.session_id.as_deref())
        .duration("timeToLive", properties.time_to_live)
        .maybe("to", properties.to.as_deref())
        .maybe("viaPartitionKey", properties.via_partition_key.as_deref())
}

/// The HTTPS API carries each custom property as a header.
fn check_header_names(fields: &Fields<'_>, custom: &[(String, String)]) -> Result<(), Refusal> {
    let is_taken = |name: &str| {
        let of_bus = BUS_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name));
        of_bus || belongs_to_connection(name)
    };
    let Some((name, _)) = custom.iter().find(|(name, _)| !is_header_name(name) || is_taken(name))
    else {
        return Ok(());
    };
    let (path, shown) = (fields.path("customMessageProperties"), name.escape_debug());
    let problem =
        "cannot be sent as a header of the HTTPS API; use another name, or transportType AMQP.";
    Err(Refusal::about(format!("{path}.{shown}"), problem))
}
