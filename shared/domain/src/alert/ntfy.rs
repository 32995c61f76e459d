//! The request to a topic of ntfy, published as JSON.
//!
//! ntfy takes JSON at the root of its server, with the topic in the body. Users know the URL of their topic,
//! so that is what they give, and the two parts are taken from it here.

use serde_json::json;
use url::Url;

use super::AlertRequest;
use super::text::AlertText;

/// The most bytes of a message. ntfy makes an attachment of a longer one.
const MESSAGE_BYTES_MAX: usize = 4_096;
/// The most characters of a topic.
const TOPIC_CHARS_MAX: usize = 64;
/// The priorities of bad and of good news: 3 is ntfy's default.
const HIGH: u32 = 4;
const DEFAULT: u32 = 3;

pub(super) fn check_uri(uri: &str) -> Result<(), &'static str> {
    split(uri).map(drop).ok_or(
        "does not end with a topic; use the URL of a topic of ntfy, such as \
         https://ntfy.sh/my-secret-topic, with letters, digits, '-' and '_' in the topic",
    )
}

/// `None` if the URL has no topic, which is refused before.
pub(super) fn request(uri: &str, text: &AlertText) -> Option<AlertRequest> {
    let (root, topic) = split(uri)?;
    let (tag, priority) =
        if text.is_good { ("white_check_mark", DEFAULT) } else { ("rotating_light", HIGH) };
    let body = json!({
        "topic": topic,
        "title": text.title,
        "message": cut_bytes(&text.plain_lines()),
        "tags": [tag],
        "priority": priority,
    });
    Some(AlertRequest { uri: root, body: body.to_string() })
}

/// The URL of the server, and the topic.
fn split(uri: &str) -> Option<(String, String)> {
    let mut url = Url::parse(uri).ok()?;
    let topic = url.path_segments()?.next_back()?.to_owned();
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if topic.is_empty() || topic.len() > TOPIC_CHARS_MAX || !topic.chars().all(is_valid) {
        return None;
    }
    url.path_segments_mut().ok()?.pop().push("");
    Some((url.into(), topic))
}

/// A message of at most so many bytes, cut between characters.
fn cut_bytes(message: &str) -> String {
    if message.len() <= MESSAGE_BYTES_MAX {
        return message.to_owned();
    }
    let room = MESSAGE_BYTES_MAX - '…'.len_utf8();
    let (cut, _) = message.split_at(message.floor_char_boundary(room));
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::text::tests::texts;
    use super::*;

    /// What ntfy publishes of messages in JSON.
    fn check(request: &AlertRequest) {
        assert_eq!(request.uri, "https://ntfy.sh/");
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body["topic"], "my-topic_1");
        let message = body["message"].as_str().unwrap();
        assert!((1..=MESSAGE_BYTES_MAX).contains(&message.len()));
        assert!(!body["title"].as_str().unwrap().is_empty());
        assert!((1..=5).contains(&body["priority"].as_u64().unwrap()));
        assert!(body["tags"].as_array().unwrap().iter().all(Value::is_string));
    }

    #[test]
    fn every_text_keeps_to_the_rules_of_ntfy() {
        for text in texts() {
            check(&request("https://ntfy.sh/my-topic_1", &text).unwrap());
        }
    }

    #[test]
    fn the_topic_is_the_end_of_the_url() {
        for (uri, expected) in [
            ("https://ntfy.sh/t", Some(("https://ntfy.sh/", "t"))),
            ("http://h:8080/ntfy/t-1?auth=x", Some(("http://h:8080/ntfy/?auth=x", "t-1"))),
            ("https://ntfy.sh/", None),
            ("https://ntfy.sh/a%20b", None),
            ("https://ntfy.sh", None),
        ] {
            let expected = expected.map(|(root, topic)| (root.to_owned(), topic.to_owned()));
            assert_eq!(split(uri), expected, "{uri}");
            assert_eq!(check_uri(uri).is_ok(), expected.is_some());
        }
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(cut_bytes("short"), "short");
        let cut = cut_bytes(&"ä".repeat(3_000));
        assert!(cut.len() <= MESSAGE_BYTES_MAX && cut.ends_with("ä…"));
    }
}
