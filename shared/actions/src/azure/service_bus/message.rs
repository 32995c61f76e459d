//! Messages in AMQP 1.0, with Service Bus properties in the sections where its clients put them.

use chrono::{DateTime, Utc};
use fe2o3_amqp::types::messaging::{
    ApplicationProperties, Data, Header, Message, MessageAnnotations, MessageId, Properties,
};
use fe2o3_amqp::types::primitives::{SimpleValue, Symbol, Timestamp, Value};
use minutehand_domain::action::{BrokeredProperties, MessageFormat, ServiceBus};
use minutehand_domain::duration::Span;
use minutehand_ports::AttemptContext;

use crate::azure::envelope;

/// The AMQP message of a job.
pub(super) fn message(bus: &ServiceBus, context: &AttemptContext) -> Message<Data> {
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
        .properties(properties(brokered, &context.execution_id, context.sent_at))
        .application_properties((!custom.is_empty()).then(|| own.build()))
        .data(body)
        .build()
}

fn header(brokered: &BrokeredProperties) -> Header {
    let ttl = brokered.time_to_live.map(|span| u32::try_from(span.millis()).unwrap_or(u32::MAX));
    Header {
        // A durable message survives a restart of the broker.
        durable: brokered.force_persistence.unwrap_or(true),
        ttl,
        ..Header::default()
    }
}

/// The default message id is the id of the execution, by which the broker detects duplicates.
fn properties(brokered: &BrokeredProperties, message_id: &str, now: DateTime<Utc>) -> Properties {
    let id = |text: &str| MessageId::String(text.to_owned());
    // The header can express 49 days. A message that lives longer has an explicit expiry.
    let long = brokered.time_to_live.map(Span::millis);
    let long = long.filter(|millis| u32::try_from(*millis).is_err());
    let created = now.timestamp_millis();
    let expires = long.and_then(|millis| created.checked_add(i64::try_from(millis).ok()?));
    Properties {
        message_id: Some(id(brokered.message_id.as_deref().unwrap_or(message_id))),
        to: brokered.to.clone(),
        subject: brokered.label.clone(),
        reply_to: brokered.reply_to.clone(),
        correlation_id: brokered.correlation_id.as_deref().map(id),
        content_type: brokered.content_type.as_deref().map(Symbol::from),
        absolute_expiry_time: expires.map(Timestamp::from_milliseconds),
        creation_time: expires.map(|_| Timestamp::from_milliseconds(created)),
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

#[cfg(test)]
mod tests {
    use minutehand_domain::chain::Depth;
    use minutehand_domain::missed::Missed;
    use minutehand_domain::secret::Secret;

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn message_with(brokered: BrokeredProperties, custom: &[(&str, &str)]) -> Message<Data> {
        let now = DateTime::from_timestamp_millis(NOW).unwrap();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let bus = ServiceBus {
            entity: "orders".to_owned(),
            namespace: "contoso".to_owned(),
            transport: None,
            key_name: "send".to_owned(),
            key: Secret::new("key"),
            message: "text".to_owned(),
            format: Some(MessageFormat::Raw),
            brokered: Some(brokered),
            custom: Some(custom.iter().map(pair).collect()),
        };
        let context = AttemptContext {
            execution_id: "u1.1.2.m0".to_owned(),
            job: "nightly".to_owned(),
            job_path: "s/Grün, 1/c/nightly".to_owned(),
            job_uid: "u1".to_owned(),
            collection_uid: "c1".to_owned(),
            expected_at: now,
            sent_at: now,
            region: "local".to_owned(),
            signed: None,
            time_max: None,
            missed: Missed::default(),
            depth: Depth::default().next(),
            completion_url: None,
        };
        message(&bus, &context)
    }

    #[test]
    fn without_properties_only_the_message_id_is_sent() {
        let message = message_with(BrokeredProperties::default(), &[]);
        let identity = MessageId::String("u1.1.2.m0".to_owned());
        let expected = Properties { message_id: Some(identity), ..Properties::default() };
        assert_eq!(message.properties, Some(expected));
        assert_eq!(message.header, Some(Header { durable: true, ..Header::default() }));
        assert_eq!((message.message_annotations, message.application_properties), (None, None));
        assert_eq!(message.body.0.as_ref(), b"text");
    }

    #[test]
    fn a_time_to_live_above_49_days_has_an_explicit_expiry() {
        let day = 86_400_000;
        for (days, ttl, ends) in [
            (1, 86_400_000, None),
            (49, 4_233_600_000, None),
            (50, u32::MAX, Some(NOW + 50 * day)),
            (36_500, u32::MAX, Some(NOW + 36_500 * day)),
        ] {
            let time_to_live = Some(Span::days(days));
            let message =
                message_with(BrokeredProperties { time_to_live, ..Default::default() }, &[]);
            assert_eq!(message.header.unwrap().ttl, Some(ttl), "{days} days");
            let properties = message.properties.unwrap();
            assert_eq!(properties.absolute_expiry_time.map(Timestamp::into_inner), ends);
            let created = ends.map(|_| NOW);
            assert_eq!(properties.creation_time.map(Timestamp::into_inner), created);
        }
    }

    #[test]
    fn custom_properties_are_texts() {
        let message = message_with(BrokeredProperties::default(), &[("a", "1"), ("größe", "")]);
        let own = message.application_properties.unwrap();
        let text = |text: &str| SimpleValue::String(text.to_owned());
        assert_eq!((own.get("a"), own.get("größe")), (Some(&text("1")), Some(&text(""))));
    }
}
