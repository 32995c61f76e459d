//! The properties of a message as headers of the HTTPS API.
//!
//! The properties that the broker interprets are JSON in one header. Each custom property is a header
//! of its own. Characters outside of ASCII are escaped as in JSON.

use std::fmt::Write as _;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use minutehand_domain::action::BrokeredProperties;
use minutehand_domain::duration::Span;
use serde_json::{Map, Value};

/// The API's format of an instant, which is that of HTTP.
const HTTP_DATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// The header with the properties that the broker interprets.
const BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// The headers of a message's properties, with a default content type.
///
/// `None` if a property is not valid in a header.
pub(crate) fn headers(
    brokered: &BrokeredProperties,
    custom: &[(String, String)],
    message_id: &str,
    content_type: &'static str,
) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(custom.len() + 4);
    for (name, value) in custom {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        headers.insert(name, HeaderValue::try_from(in_ascii(&Value::from(value.as_str()))).ok()?);
    }
    let content_type = brokered.content_type.as_deref().unwrap_or(content_type);
    headers.insert(CONTENT_TYPE, HeaderValue::try_from(content_type).ok()?);
    let interpreted = in_ascii(&Value::Object(broker_properties(brokered, message_id)));
    headers.insert(BROKER_PROPERTIES, HeaderValue::try_from(interpreted).ok()?);
    Some(headers)
}

/// The properties that the broker interprets, without the content type. The default message id is the
/// id of the execution, by which the broker detects duplicates.
fn broker_properties(brokered: &BrokeredProperties, message_id: &str) -> Map<String, Value> {
    let BrokeredProperties {
        content_type: _,
        correlation_id,
        force_persistence,
        label,
        message_id: given_id,
        partition_key,
        reply_to,
        reply_to_session_id,
        scheduled_enqueue_time,
        session_id,
        time_to_live,
        to,
        via_partition_key,
    } = brokered;
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let message_id = given_id.as_deref().unwrap_or(message_id);
    let at = scheduled_enqueue_time.map(|at| Value::from(at.format(HTTP_DATE).to_string()));
    let properties = [
        ("CorrelationId", text(correlation_id)),
        ("ForcePersistence", force_persistence.map(Value::from)),
        ("Label", text(label)),
        ("MessageId", Some(Value::from(message_id))),
        ("PartitionKey", text(partition_key)),
        ("ReplyTo", text(reply_to)),
        ("ReplyToSessionId", text(reply_to_session_id)),
        ("ScheduledEnqueueTimeUtc", at),
        ("SessionId", text(session_id)),
        ("TimeToLive", time_to_live.map(seconds)),
        ("To", text(to)),
        ("ViaPartitionKey", text(via_partition_key)),
    ];
    let given = properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}

/// A duration in seconds, as an integer if possible.
fn seconds(span: Span) -> Value {
    let millis = span.millis();
    if millis.is_multiple_of(1_000) {
        Value::from(millis / 1_000)
    } else {
        let (seconds, rest) = (millis / 1_000, millis % 1_000);
        let text = format!("{seconds}.{rest:03}");
        // The text is always a valid number.
        serde_json::from_str(&text).unwrap_or(Value::from(seconds))
    }
}

/// JSON text in which all non-ASCII characters are escaped.
fn in_ascii(value: &Value) -> String {
    let json = value.to_string();
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn all_broker_properties_have_the_names_and_formats_of_the_api() {
        let all = BrokeredProperties {
            content_type: Some("application/json".to_owned()),
            correlation_id: Some("c".to_owned()),
            force_persistence: Some(true),
            label: Some("Grüße".to_owned()),
            message_id: Some("m".to_owned()),
            partition_key: Some("p".to_owned()),
            reply_to: Some("r".to_owned()),
            reply_to_session_id: Some("rs".to_owned()),
            scheduled_enqueue_time: DateTime::from_timestamp(784_111_777, 0),
            session_id: Some("p".to_owned()),
            time_to_live: Some(Span::seconds(90)),
            to: Some("t\"".to_owned()),
            via_partition_key: Some("v".to_owned()),
        };
        let headers = headers(&all, &[], "id", "text/plain").unwrap();
        assert_eq!(
            headers["BrokerProperties"],
            concat!(
                r#"{"CorrelationId":"c","ForcePersistence":true,"Label":"Gr\u00fc\u00dfe","#,
                r#""MessageId":"m","PartitionKey":"p","ReplyTo":"r","ReplyToSessionId":"rs","#,
                r#""ScheduledEnqueueTimeUtc":"Sun, 06 Nov 1994 08:49:37 GMT","SessionId":"p","#,
                r#""TimeToLive":90,"To":"t\"","ViaPartitionKey":"v"}"#
            )
        );
        assert_eq!(headers["Content-Type"], "application/json");
    }

    #[test]
    fn without_properties_only_the_message_id_is_sent() {
        let headers = headers(&BrokeredProperties::default(), &[], "u1.1.2.m0", "text/plain");
        let headers = headers.unwrap();
        assert_eq!(headers["BrokerProperties"], r#"{"MessageId":"u1.1.2.m0"}"#);
        assert_eq!(
            (headers["Content-Type"].clone(), headers.len()),
            (HeaderValue::from_static("text/plain"), 2)
        );
    }

    #[test]
    fn durations_are_seconds() {
        for (text, expected) in [
            ("00:00:00", "0"),
            ("00:00:01.5", "1.5"),
            ("1.00:00:00", "86400"),
            ("00:00:00.001", "0.001"),
        ] {
            assert_eq!(seconds(Span::read(text).unwrap()).to_string(), expected);
        }
    }

    #[test]
    fn custom_properties_are_texts_in_quotes() {
        let custom = [("Priority", "High"), ("who", "a \"b\" \\ c"), ("ä-free", "🔑\n")];
        let custom = custom.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers(&BrokeredProperties::default(), &custom, "i", "t"), None);
        let headers = headers(&BrokeredProperties::default(), &custom[..2], "i", "t").unwrap();
        assert_eq!(headers["priority"], "\"High\"");
        assert_eq!(headers["who"], r#""a \"b\" \\ c""#);
        assert_eq!(in_ascii(&Value::from("🔑\n\u{7f}")), r#""\ud83d\udd11\n\u007f""#);
    }
}
