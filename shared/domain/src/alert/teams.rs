//! The body for a workflow of Microsoft Teams: a message with one Adaptive Card.
//!
//! A text run of a card shows its text as it is. A text block or a set of facts would read markdown in it.

use serde_json::{Value, json};

use super::text::AlertText;

/// The version of the schema that Teams supports on all its clients.
const CARD_VERSION: &str = "1.4";

pub(super) fn body(text: &AlertText) -> Value {
    let color = if text.is_good { "good" } else { "attention" };
    let title = json!({"type": "TextRun", "text": text.title, "weight": "bolder", "size": "large",
        "color": color});
    let mut blocks = vec![paragraph(&[title])];
    blocks.extend(text.facts.iter().map(|(name, value)| {
        let name = json!({"type": "TextRun", "text": format!("{name}: "), "weight": "bolder"});
        paragraph(&[name, json!({"type": "TextRun", "text": value})])
    }));
    blocks.extend(text.said.as_ref().map(|said| {
        paragraph(&[json!({"type": "TextRun", "text": said, "fontType": "monospace"})])
    }));
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": CARD_VERSION,
                "body": blocks,
            },
        }],
    })
}

fn paragraph(runs: &[Value]) -> Value {
    json!({"type": "RichTextBlock", "inlines": runs})
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::texts;
    use super::*;

    /// The most bytes of a message.
    const BYTES_MAX: usize = 28 * 1_024;

    /// What Microsoft publishes of messages with cards.
    fn check(body: &Value) {
        assert!(body.to_string().len() <= BYTES_MAX);
        assert_eq!(body["type"], "message");
        let [attachment] = &body["attachments"].as_array().unwrap()[..] else { panic!() };
        assert_eq!(attachment["contentType"], "application/vnd.microsoft.card.adaptive");
        let card = &attachment["content"];
        assert_eq!((&card["type"], &card["version"]), (&json!("AdaptiveCard"), &json!("1.4")));
        for block in card["body"].as_array().unwrap() {
            assert_eq!(block["type"], "RichTextBlock");
            for run in block["inlines"].as_array().unwrap() {
                assert_eq!(run["type"], "TextRun");
                assert!(!run["text"].as_str().unwrap().is_empty(), "{block}");
            }
        }
    }

    #[test]
    fn every_text_keeps_to_the_rules_of_teams() {
        for text in texts() {
            check(&body(&text));
        }
    }

    #[test]
    fn an_alert_as_a_card() {
        let [failed, ..] = &texts()[..] else { panic!() };
        let body = body(failed);
        let blocks = body.pointer("/attachments/0/content/body").unwrap();
        assert_eq!(blocks[0]["inlines"][0]["text"], "ops/report failed: HTTP 500");
        assert_eq!(blocks[1]["inlines"][0]["text"], "Occurrence: ");
        assert_eq!(blocks[1]["inlines"][1]["text"], "2027-01-01 08:00:00 UTC");
    }
}
