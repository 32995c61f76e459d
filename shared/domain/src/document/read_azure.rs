//! Documents in: messages for Storage queues and Service Bus.

use super::fields::Fields;
use super::read_action::{CONNECTION_HEADERS, is_of_token};
use crate::action::{BrokeredProperties, MessageFormat, ServiceBus, StorageQueue, Transport};
use crate::refusal::Refusal;

/// Headers that the HTTPS API of Service Bus knows, or every request has.
const BUS_HEADERS: [&str; 8] = [
    "accept",
    "authorization",
    "brokerproperties",
    "content-encoding",
    "content-type",
    "expect",
    "host",
    "user-agent",
];

pub(super) fn read_storage_queue(message: &Fields<'_>) -> Result<StorageQueue, Refusal> {
    let text = read_message(message)?;
    // It goes there inside XML.
    if let Some(c) = text.chars().find(|c| !is_of_xml(*c)) {
        let (path, code) = (message.path("message"), u32::from(c));
        return Err(Refusal::invalid(format!(
            "'{path}' holds the character U+{code:04X}, which a Storage queue does not take."
        )));
    }
    Ok(StorageQueue {
        account: read_host_label(message, "storageAccount")?,
        queue: read_path(message, "queueName")?,
        sas_token: message.required_secret("sasToken")?,
        message: text,
        format: read_format(message)?,
    })
}

pub(super) fn read_message(message: &Fields<'_>) -> Result<String, Refusal> {
    let text = message.text("message")?;
    text.map(str::to_owned).ok_or_else(|| message.missing("message", "it has to be text"))
}

/// Whether XML 1.0 can hold a character.
const fn is_of_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

fn read_format(message: &Fields<'_>) -> Result<Option<MessageFormat>, Refusal> {
    let known = |text: &str| {
        MessageFormat::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(text))
    };
    message.one_of("messageFormat", known, &MessageFormat::ALL.map(MessageFormat::name).join(", "))
}

pub(super) fn read_service_bus(message: &Fields<'_>, entity: &str) -> Result<ServiceBus, Refusal> {
    let authentication = message.required_object("authentication")?;
    let names = "netMessaging, AMQP";
    let known = |text: &str| {
        Transport::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(text))
    };
    let sas = |text: &str| {
        let known = ["SharedAccessKey", "NotSpecified"];
        known.iter().any(|known| known.eq_ignore_ascii_case(text)).then_some(())
    };
    authentication.one_of("type", sas, "sharedAccessKey")?;
    let brokered = message.object("brokeredMessageProperties")?;
    let custom = message.texts("customMessageProperties")?;
    let transport = message.one_of("transportType", known, names)?;
    if transport != Some(Transport::Amqp) {
        check_header_names(message, custom.as_deref().unwrap_or_default())?;
    }
    Ok(ServiceBus {
        entity: read_path(message, entity)?,
        namespace: read_host_label(message, "namespace")?,
        transport,
        key_name: authentication.required_text("sasKeyName")?.to_owned(),
        key: authentication.required_secret("sasKey")?,
        message: read_message(message)?,
        format: read_format(message)?,
        brokered: brokered.map(|fields| read_brokered(&fields)).transpose()?,
        custom,
    })
}

/// Over the HTTPS API each property of the user's is a header.
fn check_header_names(message: &Fields<'_>, custom: &[(String, String)]) -> Result<(), Refusal> {
    let taken = |name: &str| {
        let lower = name.to_ascii_lowercase();
        CONNECTION_HEADERS.contains(&lower.as_str()) || BUS_HEADERS.contains(&lower.as_str())
    };
    for (name, _) in custom {
        if name.is_empty() || !name.chars().all(is_of_token) || taken(name) {
            let path = message.path("customMessageProperties");
            let shown = name.escape_debug();
            return Err(Refusal::invalid(format!(
                "'{path}.{shown}' cannot be a header of the HTTPS API; use another name, or \
                 transportType AMQP."
            )));
        }
    }
    Ok(())
}

fn read_brokered(fields: &Fields<'_>) -> Result<BrokeredProperties, Refusal> {
    let text = |name| fields.text(name).map(|text| text.map(str::to_owned));
    let content_type = text("contentType")?;
    if !content_type.iter().flat_map(|text| text.chars()).all(|c| matches!(c, ' '..='~')) {
        return Err(fields.wrong("contentType", "use printable characters of ASCII"));
    }
    let (session, partition) = (text("sessionId")?, text("partitionKey")?);
    if let (Some(session), Some(partition)) = (&session, &partition)
        && session != partition
    {
        return Err(
            fields.wrong("partitionKey", "where there is a sessionId, it has to be the same")
        );
    }
    Ok(BrokeredProperties {
        content_type,
        correlation_id: text("correlationId")?,
        force_persistence: fields.flag("forcePersistence")?,
        label: text("label")?,
        message_id: text("messageId")?,
        partition_key: partition,
        reply_to: text("replyTo")?,
        reply_to_session_id: text("replyToSessionId")?,
        scheduled_enqueue_time: fields.date("scheduledEnqueueTimeUtc")?,
        session_id: session,
        time_to_live: fields.span("timeToLive")?,
        to: text("to")?,
        via_partition_key: text("viaPartitionKey")?,
    })
}

/// The part of a host name that the user gives: it must not be able to name another host.
fn read_host_label(fields: &Fields<'_>, name: &str) -> Result<String, Refusal> {
    let text = fields.required_text(name)?;
    let label = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && text.len() <= 63;
    if label {
        Ok(text.to_owned())
    } else {
        Err(fields.wrong(name, "use up to 63 letters, digits and '-', without the domain"))
    }
}

/// The part of a path that the user gives.
fn read_path(fields: &Fields<'_>, name: &str) -> Result<String, Refusal> {
    let text = fields.required_text(name)?;
    let path = |c: char| c.is_ascii_alphanumeric() || "-_./~".contains(c);
    // These lead elsewhere.
    if text.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(fields.wrong(name, "'.' and '..' are not parts of a path here"));
    }
    if text.chars().all(path) && text.len() <= 260 {
        Ok(text.to_owned())
    } else {
        Err(fields.wrong(name, "use up to 260 letters, digits, '-', '_', '.', '~' and '/'"))
    }
}
