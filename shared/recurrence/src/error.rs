//! The reasons for which a rule is refused.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde_json::Value;

/// A message quotes at most this many characters of an invalid value.
const GIVEN_CHARS_MAX: usize = 60;

/// So many values are offered at most in place of a wrong one.
const OFFERED_MAX: usize = 6;

/// What would make a property right that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// This value in its place.
    Use(Value),
    /// The same value under this name.
    Rename(String),
    /// Without it.
    LeaveOut,
}

impl Fix {
    /// One of some names in place of a word: first the one that was most likely meant, and the others if they are
    /// few.
    #[must_use]
    pub fn one_of<'a>(
        written: &str,
        names: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
    ) -> Vec<Self> {
        let names = names.into_iter();
        let meant = nearest(written, names.clone());
        let are_few = names.clone().count() <= OFFERED_MAX;
        let others = names.filter(|name| are_few && Some(*name) != meant);
        meant.into_iter().chain(others).map(|name| Self::Use(name.into())).collect()
    }

    /// The nearest number of a range in place of one that is outside.
    #[must_use]
    pub fn nearest_of(written: &Value, range: RangeInclusive<i64>) -> Vec<Self> {
        let written = written.as_i64().filter(|number| !range.contains(number));
        let nearest = written.map(|number| number.clamp(*range.start(), *range.end()));
        nearest.map(|number| Self::Use(number.into())).into_iter().collect()
    }
}

/// The reason for which a recurrence is refused, and the property to change.
///
/// `Display` writes a message for the author of the recurrence. Three messages are exactly those of
/// Azure Scheduler; for these, [`detail`](Self::detail) adds what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A property has an invalid value.
    #[error("'{field}' is {given}; {allowed}.")]
    NotAllowed {
        /// The property, such as `recurrence.interval`.
        field: String,
        /// The invalid value, shortened.
        given: String,
        /// The values that are allowed.
        allowed: String,
        /// What would make it right.
        fixes: Vec<Fix>,
    },
    /// A required property is missing.
    #[error("'{field}' is missing; {allowed}.")]
    Missing {
        /// The property.
        field: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// A property has an unknown name.
    #[error("'{field}' is not a property; {hint}")]
    Unknown {
        /// The property as the author wrote it.
        field: String,
        /// The nearest known name, or all known names.
        hint: String,
        /// That name, if there is one.
        meant: Option<&'static str>,
    },
    /// A property occurs twice, in two spellings.
    #[error("'{field}' is given twice, as '{first}' and as '{second}'; keep one of them.")]
    Twice {
        /// The property.
        field: String,
        /// The spelling that comes first.
        first: String,
        /// The spelling that comes second.
        second: String,
    },
    /// The text is not JSON.
    #[error("The recurrence is not valid JSON: {problem}.")]
    InvalidJson {
        /// What the JSON parser expected, with line and column.
        problem: String,
    },
    /// A part of the schedule belongs to another frequency.
    #[error("Cannot set {what} with recurrence unit '{unit}'.")]
    WrongUnit {
        /// The property.
        field: String,
        /// What the property sets, as Azure Scheduler calls it.
        what: &'static str,
        /// The frequency, as Azure Scheduler writes it.
        unit: &'static str,
        /// The frequencies that allow the property.
        allowed: &'static str,
    },
    /// The schedule has both `monthDays` and `monthlyOccurrences`.
    #[error("Cannot set days of month together with monthly occurrences.")]
    DaysAndOccurrences,
    /// The rule never matches an instant, even without its end and its count.
    #[error("The recurrence never occurs: {why}.")]
    NeverOccurs {
        /// The reason, and what to change.
        why: String,
    },
}

impl Refused {
    pub(crate) fn not_allowed(
        field: impl Into<String>,
        given: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        let (field, allowed) = (field.into(), allowed.into());
        Self::NotAllowed {
            field,
            given: shortened(given, GIVEN_CHARS_MAX),
            allowed,
            fixes: Vec::new(),
        }
    }

    /// Adds what would make the property right.
    #[must_use]
    pub(crate) fn or(mut self, more: impl IntoIterator<Item = Fix>) -> Self {
        if let Self::NotAllowed { fixes, .. } = &mut self {
            fixes.extend(more);
        }
        self
    }

    /// Returns what would make the property right, the likeliest first; nothing if that is not known.
    #[must_use]
    pub fn fixes(&self) -> Vec<Fix> {
        match self {
            Self::NotAllowed { fixes, .. } => fixes.clone(),
            Self::Unknown { meant: Some(meant), .. } => vec![Fix::Rename((*meant).to_owned())],
            _ => Vec::new(),
        }
    }

    /// Returns the property to change, such as `recurrence.schedule.hours`.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Self::NotAllowed { field, .. }
            | Self::Missing { field, .. }
            | Self::Unknown { field, .. }
            | Self::Twice { field, .. }
            | Self::WrongUnit { field, .. } => field,
            Self::DaysAndOccurrences => "recurrence.schedule.monthDays",
            Self::InvalidJson { .. } | Self::NeverOccurs { .. } => "recurrence",
        }
    }

    /// Returns what to change, if the message itself does not say it.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::WrongUnit { field, allowed, .. } => {
                Some(format!("'{field}' is only allowed with frequency {allowed}"))
            }
            Self::DaysAndOccurrences => Some(
                "keep one of 'recurrence.schedule.monthDays' and \
                 'recurrence.schedule.monthlyOccurrences'"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// A value of at most so many characters, on one line, so that a message can quote it.
#[must_use]
pub fn shortened(given: impl std::fmt::Display, chars_max: usize) -> String {
    let mut short = String::new();
    // Writing to a `String` cannot fail.
    let _ = write!(short, "{given}");
    if let Some((end, _)) = short.char_indices().nth(chars_max) {
        short.truncate(end);
        short.push('…');
    }
    short.retain(|c| !c.is_control());
    short
}

/// Finds the name that the author most likely meant, if one is similar enough.
#[must_use]
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A longer word is not a misspelt name, and the cost of comparing grows with its length.
    if written.len() > GIVEN_CHARS_MAX {
        return None;
    }
    // At least one letter must match; otherwise every short word would be similar to every name.
    let limit = (written.len().max(4) / 3 + 1).min(written.len().saturating_sub(1));
    // Few mistype the first letter, so 'some' does not mean 'none'. But 'unregister' has all of 'register'.
    let lowercase = written.to_ascii_lowercase();
    let is_near = |name: &str| {
        let name = name.to_ascii_lowercase();
        lowercase.as_bytes().first() == name.as_bytes().first() || lowercase.ends_with(&name)
    };
    let limit_of = |name: &str| if is_near(name) { limit } else { limit.min(1) };
    names
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(distance, name)| *distance <= limit_of(name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The end of a sentence that lists names: the one that the author most likely meant, if there is one.
#[must_use]
pub fn meant<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, names).map_or_else(String::new, |name| format!(" (is '{name}' meant?)"))
}

/// Returns the edit distance of two words, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<u8> = b.bytes().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (other, above) in b.iter().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(!letter.eq_ignore_ascii_case(other));
            left = changed.min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_the_name_that_a_typo_means() {
        let names = ["frequency", "interval", "count", "endTime", "schedule", "timeZone"];
        for (written, meant) in [
            ("frequncy", Some("frequency")),
            ("SCHEDUL", Some("schedule")),
            ("timezones", Some("timeZone")),
            ("end_time", Some("endTime")),
            ("conut", Some("count")),
            ("cuont", Some("count")),
            ("cunt", Some("count")),
            ("coat", Some("count")),
            ("mount", Some("count")),
            ("moant", None),
            ("theInterval", Some("interval")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
    }

    #[test]
    fn what_is_offered_is_what_was_meant() {
        let names = ["last", "none", "all"];
        let using = |names: &[&str]| -> Vec<Fix> {
            names.iter().map(|name| Fix::Use((*name).into())).collect()
        };
        assert_eq!(Fix::one_of("nome", names), using(&["none", "last", "all"]));
        assert_eq!(Fix::one_of("x", names), using(&names));
        let many = ["aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff", "gggg"];
        assert_eq!(Fix::one_of("bbb", many), using(&["bbbb"]));
        assert_eq!(Fix::one_of("?", many), []);
        for (written, nearest) in [("0", Some(1)), ("9", Some(5)), ("3", None), ("\"9\"", None)] {
            let written = serde_json::from_str(written).unwrap();
            let fixes: Vec<_> = nearest.map(|it: i64| Fix::Use(it.into())).into_iter().collect();
            assert_eq!(Fix::nearest_of(&written, 1..=5), fixes, "{written}");
        }
    }

    #[test]
    fn a_long_value_is_shortened_to_one_line() {
        let refused = Refused::not_allowed("recurrence.interval", "9\n".repeat(100), "be short");
        assert_eq!(refused.to_string().lines().count(), 1);
        assert!(refused.to_string().len() < 120, "{refused}");
    }
}
