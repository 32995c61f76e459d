//! Where a walk goes on, as text: another process may read it, hours later.

use std::collections::VecDeque;

use minutehand_domain::name::PathSegment;
use minutehand_ports::store::Part;
use serde::{Deserialize, Serialize};

/// A place in the walk over what is carried. The default is its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BackupPosition {
    /// What is to be listed. Collections come before the jobs of any.
    pub(crate) steps: VecDeque<Step>,
    /// The first shard whose retries are still to be read, when all else is done.
    pub(crate) next_shard: u32,
}

/// A page that is to be listed, from a position on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Step {
    Subscriptions(Option<String>),
    Part(#[serde(with = "PartText")] Part, Option<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Part", rename_all = "camelCase")]
enum PartText {
    CloudServices(#[serde(with = "segment")] PathSegment),
    Collections(#[serde(with = "segment")] PathSegment),
    Jobs(String),
    Retries(u32),
}

mod segment {
    use minutehand_domain::name::PathSegment;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        segment: &PathSegment,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(segment.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathSegment, D::Error> {
        let text = String::deserialize(deserializer)?;
        PathSegment::new(&text).map_err(|refusal| D::Error::custom(refusal.message))
    }
}

impl Default for BackupPosition {
    fn default() -> Self {
        Self { steps: VecDeque::from([Step::Subscriptions(None)]), next_shard: 0 }
    }
}

impl BackupPosition {
    /// Reads a position from its text.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("the position is damaged: {error}"))
    }

    /// The position as a line of text.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Texts and numbers are always written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_line_that_reads_back_and_a_damaged_one_says_why() {
        let segment = || PathSegment::new("Süb \"1\"\u{a0}").unwrap();
        let some = |text: &str| Some(text.to_owned());
        let position = BackupPosition {
            steps: VecDeque::from([
                Step::Subscriptions(some("a\nb")),
                Step::Part(Part::CloudServices(segment()), None),
                Step::Part(Part::Collections(segment()), some("c")),
                Step::Part(Part::Jobs("5e1f".to_owned()), None),
                Step::Part(Part::Retries(7), some("d")),
            ]),
            next_shard: 8,
        };
        let text = position.to_text();
        assert!(!text.contains('\n'), "{text}");
        assert_eq!(BackupPosition::read(&text), Ok(position));
        for (from, to, why) in [
            ("],\"nextShard\":8}", "", "EOF"),
            ("5e1f", "5e1f\",\"", "expected"),
            ("Süb", "S#b", "is not allowed"),
            ("\"jobs\"", "\"runs\"", "unknown variant `runs`"),
            ("\"nextShard\":8", "\"nextShard\":-8", "invalid value"),
            ("\"nextShard\"", "\"shard\"", "unknown field `shard`"),
        ] {
            assert!(text.contains(from), "{from} in {text}");
            let problem = BackupPosition::read(&text.replace(from, to)).unwrap_err();
            assert!(problem.starts_with("the position is damaged: "), "{problem}");
            assert!(problem.contains(why), "{why}: {problem}");
        }
    }
}
