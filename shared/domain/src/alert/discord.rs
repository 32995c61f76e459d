//! The body for a webhook of Discord: a line of content, and an embed with the facts.

use serde_json::{Value, json};

use super::cut_escaped;
use super::markdown::escape;
use super::text::AlertText;

/// The most characters of the content of a message.
const CONTENT_CHARS_MAX: usize = 2_000;
/// The most characters of the description of an embed.
const DESCRIPTION_CHARS_MAX: usize = 4_096;
/// The most characters of the value of a field. Discord takes 1,024, and 6,000 in all texts of an embed.
const VALUE_CHARS_MAX: usize = 500;
/// The colours of bad and of good news.
const RED: u32 = 0x00D8_3C3E;
const GREEN: u32 = 0x002D_7D46;

pub(super) fn body(text: &AlertText) -> Value {
    let field = |(name, value): &(&str, String)| json!({"name": name, "value": escaped(value, VALUE_CHARS_MAX)});
    let fields: Vec<Value> = text.facts.iter().map(field).collect();
    let mut embed = json!({
        "color": if text.is_good { GREEN } else { RED },
        "fields": fields,
    });
    if let (Some(said), Some(embed)) = (&text.said, embed.as_object_mut()) {
        embed.insert("description".to_owned(), escaped(said, DESCRIPTION_CHARS_MAX).into());
    }
    let title = escaped(&text.title, CONTENT_CHARS_MAX);
    // Nothing in the text calls anyone.
    json!({"content": title, "embeds": [embed], "allowed_mentions": {"parse": []}})
}

fn escaped(text: &str, chars_max: usize) -> String {
    cut_escaped(text, chars_max, escape)
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::texts;
    use super::*;

    /// The most characters of all texts of the embeds of a message.
    const EMBEDS_CHARS_MAX: usize = 6_000;
    /// The most fields of an embed.
    const FIELDS_MAX: usize = 25;

    /// What Discord publishes of messages of webhooks.
    fn check(body: &Value) {
        let chars = |value: &Value| value.as_str().unwrap().chars().count();
        assert!((1..=2_000).contains(&chars(&body["content"])));
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
        let [embed] = &body["embeds"].as_array().unwrap()[..] else { panic!() };
        let mut all = 0;
        if let Some(description) = embed.get("description") {
            assert!((1..=4_096).contains(&chars(description)));
            all += chars(description);
        }
        let fields = embed["fields"].as_array().unwrap();
        assert!(fields.len() <= FIELDS_MAX);
        for field in fields {
            assert!((1..=256).contains(&chars(&field["name"])));
            assert!((1..=1_024).contains(&chars(&field["value"])));
            all += chars(&field["name"]) + chars(&field["value"]);
        }
        assert!(all <= EMBEDS_CHARS_MAX, "{all}");
    }

    #[test]
    fn every_text_keeps_to_the_rules_of_discord() {
        for text in texts() {
            check(&body(&text));
        }
    }

    #[test]
    fn an_alert_in_an_embed_and_nothing_in_it_is_markup() {
        let [failed, worst, ..] = &texts()[..] else { panic!() };
        let body = super::body(failed);
        assert_eq!(body["content"], "ops/report failed: HTTP 500");
        assert_eq!(body["embeds"][0]["description"], "out of paper");
        let worst = super::body(worst).to_string();
        assert!(!worst.contains("](http") && worst.contains(r"\\]\\(http"), "{worst}");
    }
}
