//! The body for an incoming webhook of Slack: `text` and `blocks`.
//!
//! Slack shows `text` in notifications, and the blocks in the channel. `<`, `>` and `&` are written as
//! entities, so that nothing in a name or an answer becomes a link or calls a channel. Servers that accept
//! Slack's webhooks without its blocks show `text`.

use serde_json::{Value, json};

use super::cut_escaped;
use super::text::AlertText;

/// The most characters of a header block.
const HEADER_CHARS_MAX: usize = 150;
/// The most characters of a text in a section block.
const SECTION_CHARS_MAX: usize = 3_000;
/// The most characters of `text` that Slack recommends.
const TEXT_CHARS_MAX: usize = 4_000;

pub(super) fn body(text: &AlertText) -> Value {
    let mark = if text.is_good { ":white_check_mark:" } else { ":red_circle:" };
    let line =
        |(name, value): &(&str, String)| format!("*{name}:* {}", escaped(value, SECTION_CHARS_MAX));
    let lines: Vec<String> = text.facts.iter().map(line).collect();
    let mut blocks = vec![
        json!({"type": "header", "text": {
            "type": "plain_text", "text": escaped(&text.title, HEADER_CHARS_MAX),
        }}),
        section(&in_whole_lines(&lines)),
    ];
    if let Some(said) = &text.said {
        blocks.push(section(&escaped(said, SECTION_CHARS_MAX)));
    }
    let summary = format!("{mark} {}", text.title);
    json!({"text": escaped(&summary, TEXT_CHARS_MAX), "blocks": blocks})
}

/// As many lines as a section has room for.
fn in_whole_lines(lines: &[String]) -> String {
    let mut chars = 0;
    let fitting = lines.iter().map(String::as_str).take_while(|line| {
        chars += line.chars().count() + 1;
        chars <= SECTION_CHARS_MAX
    });
    fitting.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

fn section(text: &str) -> Value {
    // Slack makes no links and mentions of a verbatim text.
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": true}})
}

fn escaped(text: &str, chars_max: usize) -> String {
    cut_escaped(text, chars_max, |c, text| match c {
        '&' => text.push_str("&amp;"),
        '<' => text.push_str("&lt;"),
        '>' => text.push_str("&gt;"),
        c => text.push(c),
    })
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::texts;
    use super::*;

    /// What Slack publishes of messages and blocks.
    fn check(body: &Value) {
        let chars = |value: &Value| value.as_str().unwrap().chars().count();
        assert!((1..=40_000).contains(&chars(&body["text"])));
        let blocks = body["blocks"].as_array().unwrap();
        assert!((1..=50).contains(&blocks.len()));
        for block in blocks {
            let (kind, max) = match block["type"].as_str().unwrap() {
                "header" => ("plain_text", 150),
                "section" => ("mrkdwn", 3_000),
                other => panic!("{other}"),
            };
            assert_eq!(block["text"]["type"], kind);
            assert!((1..=max).contains(&chars(&block["text"]["text"])), "{block}");
        }
        let written = body.to_string();
        assert!(!written.contains('<') && !written.contains('>'), "{written}");
    }

    #[test]
    fn every_text_keeps_to_the_rules_of_slack() {
        for text in texts() {
            check(&body(&text));
        }
    }

    #[test]
    fn an_alert_in_blocks() {
        let [failed, ..] = &texts()[..] else { panic!() };
        let body = body(failed);
        assert_eq!(body["text"], ":red_circle: ops/report failed: HTTP 500");
        assert_eq!(body["blocks"][0]["text"]["text"], "ops/report failed: HTTP 500");
        let facts = body["blocks"][1]["text"]["text"].as_str().unwrap();
        assert!(
            facts.starts_with("*Occurrence:* 2027-01-01 08:00:00 UTC\n*Attempts:* 3"),
            "{facts}"
        );
        assert_eq!(body["blocks"][2]["text"]["text"], "out of paper");
    }
}
