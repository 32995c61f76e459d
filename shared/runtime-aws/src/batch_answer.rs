//! What a function answers to a batch of a queue or a stream.

use serde::Serialize;

/// The parts of a batch that failed, and come again: messages of a queue, or the first record from which
/// on a stream comes again.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchAnswer {
    batch_item_failures: Vec<ItemFailure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemFailure {
    item_identifier: String,
}

impl FromIterator<String> for BatchAnswer {
    /// Reports the parts with these ids as failed. All others are done.
    fn from_iter<T: IntoIterator<Item = String>>(ids: T) -> Self {
        let failure = |item_identifier| ItemFailure { item_identifier };
        Self { batch_item_failures: ids.into_iter().map(failure).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_form_that_lambda_reads() {
        let answer = BatchAnswer::from_iter(["a".to_owned()]);
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(text, r#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#);
        let text = serde_json::to_string(&BatchAnswer::default()).unwrap();
        assert_eq!(text, r#"{"batchItemFailures":[]}"#);
    }
}
