//! The forms in which the original put a message into a queue.
//!
//! A Storage queue got a document that tells of the execution, with the message inside; Service Bus
//! got what .NET makes of a string when it sends an object. Whoever read the one or the other then
//! reads it now. Neither is what the user wrote, so there is `messageFormat: raw`.

use std::fmt::Write as _;

use ports::AttemptContext;

use crate::occasion::{client_request_id, execution_tag};

/// The document in which a Storage queue gets a message.
///
/// It names an encoding that it does not have: it is what a .NET program writes of a text in memory,
/// and its readers know.
pub(crate) fn storage(message: &str, occasion: &AttemptContext) -> String {
    let expected_at = recurrence::format_instant(occasion.expected_at);
    let elements = [
        ("ExecutionTag", execution_tag(occasion)),
        ("ClientRequestId", client_request_id(occasion)),
        // Without the zone, as the original wrote it: it is UTC.
        ("ExpectedExecutionTime", expected_at.trim_end_matches('Z').to_owned()),
        ("SchedulerJobId", occasion.job.clone()),
        ("SchedulerJobCollectionId", occasion.collection_uid.clone()),
        ("Region", occasion.region.clone()),
        ("Message", message.to_owned()),
    ];
    let mut document = "<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n<StorageQueueMessage \
                        xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
                        xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\r\n"
        .to_owned();
    for (name, text) in elements {
        // Writing to a text does not fail.
        let _ = write!(document, "  <{name}>{}</{name}>\r\n", escaped(&text));
    }
    document.push_str("</StorageQueueMessage>");
    document
}

/// The body of a request that puts a text into a Storage queue.
pub(crate) fn put_message(text: &str) -> String {
    format!("<QueueMessage><MessageText>{}</MessageText></QueueMessage>", escaped(text))
}

/// A text as the content of an element. A carriage return that is not escaped is read as a line feed.
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

/// A text as .NET's `DataContractSerializer` writes it into a `BrokeredMessage`: an element `string`
/// in the binary form of XML (MC-NBFX).
pub(crate) fn service_bus(message: &str) -> Vec<u8> {
    const SHORT_ELEMENT: u8 = 0x40;
    const SHORT_XMLNS: u8 = 0x08;
    const NAMESPACE: &str = "http://schemas.microsoft.com/2003/10/Serialization/";
    // Each of these ends the element, too.
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
            // A job has 16 KB: no message needs more than 31 bits.
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

    use super::*;

    fn occasion() -> AttemptContext {
        AttemptContext {
            execution_id: "u1.3.600000000.m0".to_owned(),
            job: "nightly".to_owned(),
            job_uid: "u1".to_owned(),
            collection_uid: "c1".to_owned(),
            expected_at: DateTime::from_timestamp(1_441_843_200, 0).unwrap(),
            sent_at: DateTime::from_timestamp(1_441_843_200, 0).unwrap(),
            region: "West Europe".to_owned(),
        }
    }

    #[test]
    fn a_storage_queue_gets_the_document_of_the_original() {
        let occasion = occasion();
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
            execution_tag(&occasion),
            client_request_id(&occasion),
        );
        assert_eq!(storage("a < b && c > \"d\"", &occasion), expected);
    }

    #[test]
    fn texts_are_escaped_so_that_they_are_read_as_they_were() {
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
    fn service_bus_gets_a_string_as_dotnet_serializes_it() {
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
