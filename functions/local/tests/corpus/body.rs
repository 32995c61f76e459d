//! Properties that hold for any input of `preview`. The fuzz target and the corpus test check them.

use chrono::DateTime;
use minutehand::preview::Preview;
use serde_json::Value;

/// The number of occurrences to preview.
const COUNT: u32 = 12;

/// Previews a text at two instants, as text and as JSON.
///
/// # Panics
///
/// If one of the properties does not hold.
pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // 2027-01-01, and an hour before the clocks of New York change.
    for from in [1_798_761_600, 1_805_004_000] {
        let from = DateTime::from_timestamp(from, 0).unwrap();
        match Preview::of(text, from, COUNT) {
            Ok(preview) => check_preview(&preview),
            Err(refused) => {
                assert_eq!(refused.to_string().lines().count(), 1, "{refused}");
                assert_ne!(refused.detail().as_deref(), Some(""), "{refused}");
            }
        }
    }
}

fn check_preview(preview: &Preview) {
    let json = preview.json();
    let answer: Value = serde_json::from_str(&json).unwrap();
    let occurrences = answer["occurrences"].as_array().unwrap();
    assert!(occurrences.len() <= COUNT as usize, "{json}");
    assert!(answer["ends"].is_boolean(), "{json}");
    if occurrences.len() < COUNT as usize {
        assert_eq!(answer["ends"], true, "{json}");
    }
    let instants = occurrences.iter().map(|at| at.as_str().unwrap());
    let instants: Vec<_> = instants.map(|at| DateTime::parse_from_rfc3339(at).unwrap()).collect();
    assert!(instants.is_sorted_by(|a, b| a < b), "{json}");
    // The table has a line per occurrence, after the sentence.
    let text = preview.text();
    assert!(text.lines().count() > occurrences.len(), "{text}");
}
