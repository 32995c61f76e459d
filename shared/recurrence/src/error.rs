//! Why a rule is refused.

use std::fmt::Write as _;

/// The longest piece of a refused value that a message repeats.
const GIVEN_CHARS_MAX: usize = 60;

/// Why a recurrence was refused: a message for whoever wrote it, and where it went wrong.
///
/// `Display` is the message that the API answers. Three of them are the original service's own
/// words, to the letter; [`detail`](Self::detail) then says what they leave out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A value that its property does not take.
    #[error("'{field}' is {given}; {allowed}.")]
    NotAllowed {
        /// The property, such as `recurrence.interval`.
        field: String,
        /// What was given, cut short.
        given: String,
        /// What would be right.
        allowed: String,
    },
    /// A property that has to be there.
    #[error("'{field}' is missing; {allowed}.")]
    Missing {
        /// The property.
        field: String,
        /// What it takes.
        allowed: String,
    },
    /// A property that does not exist.
    #[error("'{field}' is not a property; {hint}")]
    Unknown {
        /// The property as it was written.
        field: String,
        /// The nearest one that exists, or all of them.
        hint: String,
    },
    /// The same property in two spellings.
    #[error("'{field}' is given twice, as '{first}' and as '{second}'; keep one of them.")]
    Twice {
        /// The property.
        field: String,
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
    /// A part of the schedule that goes with another frequency.
    #[error("Cannot set {what} with recurrence unit '{unit}'.")]
    WrongUnit {
        /// The property.
        field: String,
        /// What it sets, in the original service's words.
        what: &'static str,
        /// The frequency, in the original service's words.
        unit: &'static str,
        /// The frequencies it goes with.
        allowed: &'static str,
    },
    /// `monthDays` beside `monthlyOccurrences`.
    #[error("Cannot set days of month together with monthly occurrences.")]
    DaysAndOccurrences,
    /// A rule that matches nothing, whatever its end.
    #[error("The recurrence never occurs: {why}.")]
    NeverOccurs {
        /// What makes it impossible.
        why: String,
    },
}

impl Refused {
    pub(crate) fn not_allowed(
        field: impl Into<String>,
        given: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::NotAllowed { field: field.into(), given: shorten(given), allowed: allowed.into() }
    }

    /// The property that has to change, such as `recurrence.schedule.hours`.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Self::NotAllowed { field, .. }
            | Self::Missing { field, .. }
            | Self::Unknown { field, .. }
            | Self::Twice { field, .. }
            | Self::WrongUnit { field, .. } => field,
            Self::DaysAndOccurrences => "recurrence.schedule.monthDays",
            Self::NeverOccurs { .. } => "recurrence",
        }
    }

    /// What to change, where the message itself does not say it.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::WrongUnit { field, allowed, .. } => {
                Some(format!("'{field}' goes with frequency {allowed} only"))
            }
            Self::DaysAndOccurrences => Some(
                "keep one of 'recurrence.schedule.monthDays' and \
                 'recurrence.schedule.monthlyOccurrences'"
                    .to_owned(),
            ),
            Self::NotAllowed { .. }
            | Self::Missing { .. }
            | Self::Unknown { .. }
            | Self::Twice { .. }
            | Self::NeverOccurs { .. } => None,
        }
    }
}

/// A value as a message repeats it: on one line, and not longer than a line.
fn shorten(given: impl std::fmt::Display) -> String {
    let mut short = String::new();
    // Writing to a string does not fail.
    let _ = write!(short, "{given}");
    if let Some((end, _)) = short.char_indices().nth(GIVEN_CHARS_MAX) {
        short.truncate(end);
        short.push('…');
    }
    short.retain(|c| !c.is_control());
    short
}

/// The nearest of some names, if one is near enough to be meant.
pub(crate) fn nearest<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Longer words are no misspelt names; and the distance costs their product.
    if written.len() > GIVEN_CHARS_MAX {
        return None;
    }
    // At least one letter has to be right, or anything short would do.
    let limit = (written.len().max(4) / 3 + 1).min(written.len().saturating_sub(1));
    names
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters have to be put in, left out or changed, case aside.
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
    fn the_nearest_name_is_the_one_that_was_meant() {
        let names = ["frequency", "interval", "count", "endTime", "schedule", "timeZone"];
        for (written, meant) in [
            ("frequncy", Some("frequency")),
            ("SCHEDUL", Some("schedule")),
            ("timezones", Some("timeZone")),
            ("end_time", Some("endTime")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
    }

    #[test]
    fn a_long_value_is_cut_and_stays_on_its_line() {
        let refused = Refused::not_allowed("recurrence.interval", "9\n".repeat(100), "be short");
        assert_eq!(refused.to_string().lines().count(), 1);
        assert!(refused.to_string().len() < 120, "{refused}");
    }
}
