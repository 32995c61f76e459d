//! What a target said of a failure, from the message of an attempt.

use serde_json::Value;

/// What stands before the body of an answer.
const BODY: &str = " Body: ";
/// The most characters of what a target said.
const SAID_CHARS_MAX: usize = 200;

/// What the target said of its failure in its own words, from the body in the message about its answer: the
/// title or the detail of a problem document, the message of an error, or the first line of a text.
#[must_use]
pub fn said(message: &str) -> Option<String> {
    let (_, body) = message.split_once(BODY)?;
    let body = body.trim();
    let text = match serde_json::from_str::<Value>(body) {
        Ok(document) => sentence_of(&document)?.to_owned(),
        // Markup says little in its first line, and what is not a text nothing.
        Err(_) if body.starts_with(['<', '{', '[']) => return None,
        Err(_) => body.lines().next()?.to_owned(),
    };
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let said: String = printable.take(SAID_CHARS_MAX).collect();
    let is_text = !said.contains(char::REPLACEMENT_CHARACTER);
    Some(said.trim().to_owned()).filter(|said| is_text && !said.is_empty())
}

/// The sentence of an error document.
fn sentence_of(document: &Value) -> Option<&str> {
    let paths = ["/error/message", "/detail", "/title", "/message", "/Message", "/error"];
    let found = paths.iter().find_map(|path| document.pointer(path).and_then(Value::as_str));
    found.or_else(|| document.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_said_is_its_own_sentence() {
        let answer = |body: &str| {
            format!(
                "Http Action - Response from host 'h': 'X' Response Headers: A: b\r\n Body: {body}"
            )
        };
        for (body, expected) in [
            ("out of paper", Some("out of paper")),
            ("  first\nsecond", Some("first")),
            (r#"{"title":"Nope","status":500}"#, Some("Nope")),
            (r#"{"title":"Nope","detail":"The disk is full."}"#, Some("The disk is full.")),
            (r#"{"error":{"code":"E1","message":"No such user"}}"#, Some("No such user")),
            (r#"{"error":"no"}"#, Some("no")),
            (r#""short""#, Some("short")),
            (r#"{"a":1}"#, None),
            (r#"{"message":"cut of"#, None),
            ("<html><body>Error</body></html>", None),
            ("", None),
            ("\u{1}", None),
            ("\u{fffd}PNG\u{fffd}", None),
        ] {
            assert_eq!(said(&answer(body)).as_deref(), expected, "{body}");
        }
        assert_eq!(said("Http Action - Request to host 'h' failed: Timeout It took long."), None);
    }
}
