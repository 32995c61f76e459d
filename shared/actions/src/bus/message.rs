//! A message as AMQP 1.0 carries it, with Service Bus's own properties where its clients put them.

use chrono::{DateTime, Utc};
use domain::action::{BrokeredProperties, MessageFormat, ServiceBus};
use domain::duration::Span;
use fe2o3_amqp::types::messaging::{
    ApplicationProperties, Data, Header, Message, MessageAnnotations, MessageId, Properties,
};
use fe2o3_amqp::types::primitives::{SimpleValue, Symbol, Timestamp, Value};
use ports::Occasion;

use crate::envelope;

/// The message of a job.
pub(super) fn message(bus: &ServiceBus, occasion: &Occasion) -> Message<Data> {
    let none = BrokeredProperties::default();
    let brokered = bus.brokered.as_ref().unwrap_or(&none);
    let body = match bus.format.unwrap_or(MessageFormat::Envelope) {
        MessageFormat::Envelope => envelope::service_bus(&bus.message),
        MessageFormat::Raw => bus.message.clone().into_bytes(),
    };
    let custom = bus.custom.as_deref().unwrap_or_default();
    let mut own = ApplicationProperties::builder();
    for (name, value) in custom {
        own = own.insert(name.clone(), SimpleValue::String(value.clone()));
    }
    let annotations = annotations(brokered);
    Message::builder()
        .header(header(brokered))
        .message_annotations(annotations)
        .properties(properties(brokered, &occasion.execution_id, occasion.sent_at))
        .application_properties((!custom.is_empty()).then(|| own.build()))
        .data(body)
        .build()
}

fn header(brokered: &BrokeredProperties) -> Header {
    let ttl = brokered.time_to_live.map(|span| u32::try_from(span.millis()).unwrap_or(u32::MAX));
    Header {
        // A broker that is started again still has what it took.
        durable: brokered.force_persistence.unwrap_or(true),
        ttl,
        ..Header::default()
    }
}

/// A message without an identity gets that of its execution, by which the broker leaves out a double.
fn properties(brokered: &BrokeredProperties, message_id: &str, now: DateTime<Utc>) -> Properties {
    let id = |text: &str| MessageId::String(text.to_owned());
    // A header counts 49 days: what lives longer says when it ends.
    let long = brokered.time_to_live.map(Span::millis);
    let long = long.filter(|millis| u32::try_from(*millis).is_err());
    let created = now.timestamp_millis();
    let ends = long.and_then(|millis| created.checked_add(i64::try_from(millis).ok()?));
    Properties {
        message_id: Some(id(brokered.message_id.as_deref().unwrap_or(message_id))),
        to: brokered.to.clone(),
        subject: brokered.label.clone(),
        reply_to: brokered.reply_to.clone(),
        correlation_id: brokered.correlation_id.as_deref().map(id),
        content_type: brokered.content_type.as_deref().map(Symbol::from),
        absolute_expiry_time: ends.map(Timestamp::from_milliseconds),
        creation_time: ends.map(|_| Timestamp::from_milliseconds(created)),
        group_id: brokered.session_id.clone(),
        reply_to_group_id: brokered.reply_to_session_id.clone(),
        ..Properties::default()
    }
}

fn annotations(brokered: &BrokeredProperties) -> Option<MessageAnnotations> {
    let text = |text: &Option<String>| text.clone().map(Value::String);
    let at = brokered.scheduled_enqueue_time.map(|at| at.timestamp_millis());
    let all = [
        ("x-opt-partition-key", text(&brokered.partition_key)),
        ("x-opt-via-partition-key", text(&brokered.via_partition_key)),
        (
            "x-opt-scheduled-enqueue-time",
            at.map(|at| Value::Timestamp(Timestamp::from_milliseconds(at))),
        ),
    ];
    let mut annotations = MessageAnnotations::builder();
    let mut has_any = false;
    for (name, value) in all {
        if let Some(value) = value {
            annotations = annotations.insert(Symbol::from(name), value);
            has_any = true;
        }
    }
    has_any.then(|| annotations.build())
}
