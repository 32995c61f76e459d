//! The envelopes in which Azure Scheduler sent messages.
//!
//! A Storage queue received an XML document that describes the execution and contains the message.
//! Service Bus received the message as a serialized .NET string. Receivers that were written for
//! Azure Scheduler depend on these forms. With `messageFormat: raw`, a job sends only its message.

use std::fmt::Write as _;

use minutehand_ports::AttemptContext;

use crate::context::{client_request_id, execution_tag};

/// The envelope of a message for a Storage queue.
///
/// The XML declaration names UTF-16 although the document is sent in UTF-8. That is what .NET writes
/// for a text in memory, and receivers expect it.
pub(crate) fn storage(message: &str, context: &AttemptContext) -> String {
    let expected_at = minutehand_recurrence::format_instant(context.expected_at);
    let elements = [
        ("ExecutionTag", execution_tag(context)),
        ("ClientRequestId", client_request_id(context)),
        // Azure wrote this time, which is UTC, without a zone.
        ("ExpectedExecutionTime", expected_at.trim_end_matches('Z').to_owned()),
        ("SchedulerJobId", context.job.clone()),
        ("SchedulerJobCollectionId", context.collection_uid.clone()),
        ("Region", context.region.clone()),
        ("Message", message.to_owned()),
    ];
    let mut document = "<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<StorageQueueMessage \
                        xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
                        xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\r\n"
        .to_owned();
    for (name, text) in elements {
        // Writing to a `String` cannot fail.
        let _ = write!(document, "  <{name}>{}</{name}>\r\n", escaped(&text));
    }
    document.push_str("</StorageQueueMessage>");
    document
}

/// The body of a Put Message request for a Storage queue.
pub(crate) fn put_message(text: &str) -> String {
    format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", escaped(text))
}

/// A text as the content of an XML element. Without escaping, XML parsers would turn a carriage
/// return into a line feed.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#xD;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// The envelope of a message for Service Bus: the text as .NET's `DataContractSerializer` writes it
/// into a `BrokeredMessage`, an element `string` in binary XML (MC-NBFX).
pub(crate) fn service_bus(message: &str) -> Vec<u8> {
    const SHORT_ELEMENT: u8 = 0x40;
    const SHORT_XMLNS: u8 = 0x08;
    const NAMESPACE: &str = "http://schemas.microsoft.com/2003/10/Serialization/";
    // These records also end the element.
    const CHARS_8: u8 = 0x99;
    const CHARS_16: u8 = 0x9b;
    const CHARS_32: u8 = 0x9d;
    const EMPTY: u8 = 0xa9;
    let mut bytes = Vec::with_capacity(message.len() + 72);
    bytes.extend([SHORT_ELEMENT, 6]);
    bytes.extend(b"string");
    bytes.extend([SHORT_XMLNS, 51]);
    bytes.extend(NAMESPACE.bytes());
    match (u8::try_from(message.len()), u16::try_from(message.len())) {
        (Ok(0), _) => bytes.push(EMPTY),
        (Ok(length), _) => bytes.extend([CHARS_8, length]),
        (_, Ok(length)) => {
            bytes.push(CHARS_16);
            bytes.extend(length.to_le_bytes());
        }
        (Err(_), Err(_)) => {
            // The length fits into 31 bits, since a job has at most 16 KB.
            let length = i32::try_from(message.len()).unwrap_or(i32::MAX);
            bytes.push(CHARS_32);
            bytes.extend(length.to_le_bytes());
        }
    }
    bytes.extend(message.bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use minutehand_domain::chain::Depth;
    use minutehand_domain::missed::Missed;

    use super::*;

    fn context() -> AttemptContext {
        AttemptContext {
            execution_id: "u1.3.600000000.m0".to_owned(),
            job: "nightly".to_owned(),
            job_path: "s/Grün, 1/c/nightly".to_owned(),
            job_uid: "u1".to_owned(),
            collection_uid: "c1".to_owned(),
            expected_at: DateTime::from_timestamp(1_441_843_200, 0).unwrap(),
            sent_at: DateTime::from_timestamp(1_441_843_200, 0).unwrap(),
            region: "West Europe".to_owned(),
            signed: None,
            time_max: None,
            missed: Missed::default(),
            depth: Depth::default().next(),
            completion_url: None,
        }
    }

    #[test]
    fn the_envelope_for_storage_queues_is_that_of_azure() {
        let context = context();
        let expected = format!(
            "<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n\
             <StorageQueueMessage xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\r\n  \
             <ExecutionTag>{}</ExecutionTag>\r\n  \
             <ClientRequestId>{}</ClientRequestId>\r\n  \
             <ExpectedExecutionTime>2015-09-10T00:00:00</ExpectedExecutionTime>\r\n  \
             <SchedulerJobId>nightly</SchedulerJobId>\r\n  \
             <SchedulerJobCollectionId>c1</SchedulerJobCollectionId>\r\n  \
             <Region>West Europe</Region>\r\n  \
             <Message>a &lt; b &amp;&amp; c &gt; \"d\"</Message>\r\n\
             </StorageQueueMessage>",
            execution_tag(&context),
            client_request_id(&context),
        );
        assert_eq!(storage("a < b && c > \"d\"", &context), expected);
    }

    #[test]
    fn texts_are_escaped_without_loss() {
        for (text, expected) in [
            ("", ""),
            ("plain ä € 🔑", "plain ä € 🔑"),
            ("<a b='c'>&amp;</a>", "&lt;a b='c'&gt;&amp;amp;&lt;/a&gt;"),
            ("]]>", "]]&gt;"),
            ("a\r\nb\tc\n", "a&#xD;\nb\tc\n"),
        ] {
            assert_eq!(
                put_message(text),
                format!("<QueueMessage><MessageText>{expected}</MessageText></QueueMessage>")
            );
        }
    }

    #[test]
    fn the_envelope_for_service_bus_is_a_serialized_dotnet_string() {
        let head = "@\u{6}string\u{8}3http://schemas.microsoft.com/2003/10/Serialization/";
        for (text, length) in [
            ("{\"key\":\"value\"}".to_owned(), vec![0x99, 15]),
            ("ä".to_owned(), vec![0x99, 2]),
            (String::new(), vec![0xa9]),
            ("x".repeat(255), vec![0x99, 255]),
            ("x".repeat(256), vec![0x9b, 0, 1]),
            ("x".repeat(65_535), vec![0x9b, 255, 255]),
            ("x".repeat(65_536), vec![0x9d, 0, 0, 1, 0]),
        ] {
            let expected = [head.as_bytes(), &length, text.as_bytes()].concat();
            assert_eq!(service_bus(&text), expected);
        }
    }
}
