//! Names of collections, jobs, subscriptions and resource groups, which match in any case.

use std::fmt;

use crate::refusal::Refusal;

const NAME_CHARS_MAX: usize = 100;
const SEGMENT_CHARS_MAX: usize = 90;

/// The name of a collection or a job, in the case in which it was first given.
///
/// Two names that differ only in case are equal.
#[derive(Debug, Clone)]
pub struct Name(String);

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// If it is not 1 to 100 letters, digits, `-`, `_` and `.` that start with a letter or a digit.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let first = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let rest = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if first && rest && text.len() <= NAME_CHARS_MAX {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::invalid(format!(
            "The name '{}' is not allowed; use 1 to {NAME_CHARS_MAX} letters, digits, '-', '_' and \
             '.', and start with a letter or a digit.",
            text.escape_debug()
        )))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The lower-case form, by which the store finds every spelling.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// The name of a subscription or a resource group, in the case in which it was first given.
#[derive(Debug, Clone)]
pub struct PathSegment(String);

impl PathSegment {
    /// Reads a segment that a client sends. Clients must be able to send it in a path again, and
    /// people to tell it from others.
    ///
    /// # Errors
    ///
    /// As [`PathSegment::new`]; and if it is `.` or `..`, or contains a character that is not shown or
    /// that changes the direction of the text, or one whose lower case is an ASCII letter.
    pub fn sent(text: &str) -> Result<Self, Refusal> {
        let is_hidden = |c: char| {
            matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        };
        // The Kelvin sign is a 'k' in lower case.
        let is_ascii_in_lower_case =
            |c: char| !c.is_ascii() && c.to_lowercase().any(|c| c.is_ascii());
        let segment = Self::new(text)?;
        if matches!(text, "." | "..")
            || text.contains(|c| is_hidden(c) || is_ascii_in_lower_case(c))
        {
            return Err(Refusal::invalid(format!(
                "The subscription or resource group '{}' is not allowed; use letters, digits and marks \
                 that are visible, and not '.' or '..' alone.",
                text.escape_default()
            )));
        }
        Ok(segment)
    }

    /// Reads a segment.
    ///
    /// # Errors
    ///
    /// If it is empty or longer than 90 characters, or contains `/`, `#` or a control character.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        // `#` separates the parts of keys in the store.
        let is_wrong = |c: char| c.is_control() || c == '/' || c == '#';
        let length = text.chars().count();
        if (1..=SEGMENT_CHARS_MAX).contains(&length) && !text.contains(is_wrong) {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::invalid(format!(
            "The subscription or resource group '{}' is not allowed; use 1 to \
             {SEGMENT_CHARS_MAX} characters without '/' and '#'.",
            text.chars().take(SEGMENT_CHARS_MAX).collect::<String>().escape_debug()
        )))
    }

    /// The segment as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The lower-case form, by which the store finds every spelling.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

macro_rules! equal_in_any_case {
    ($name:ty) => {
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.key() == other.key()
            }
        }

        impl Eq for $name {}

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

equal_in_any_case!(Name);
equal_in_any_case!(PathSegment);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_digits_and_three_marks() {
        for name in ["a", "9", "jc15349", "My.Job_1-x", &"n".repeat(100)] {
            assert_eq!(Name::new(name).unwrap().as_str(), name);
        }
        for name in ["", "-a", ".a", "_", "a b", "a/b", "ü", &"n".repeat(101), "a\n"] {
            let message = Name::new(name).unwrap_err().to_string();
            assert!(message.contains("letters, digits") && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn names_are_equal_in_any_case_and_keep_theirs() {
        let (given, asked) = (Name::new("MyJob").unwrap(), Name::new("myjob").unwrap());
        assert_eq!(given, asked);
        assert_eq!(given.to_string(), "MyJob");
        assert_eq!(
            PathSegment::new("CS-SouthCentralUS").unwrap(),
            PathSegment::new("cs-southcentralus").unwrap()
        );
    }

    #[test]
    fn a_segment_that_is_sent_can_be_read_and_sent_again() {
        for segment in ["group (1) ü", "...", "a.b", "Straße"] {
            assert_eq!(PathSegment::sent(segment).unwrap().as_str(), segment);
        }
        for segment in [".", "..", "a\u{202e}b", "\u{200b}a", "\u{212a}", "a\u{130}", "", "a/b"] {
            let message = PathSegment::sent(segment).unwrap_err().to_string();
            assert!(message.is_ascii(), "{message}");
            // A group of an earlier version can still be read.
            assert_eq!(
                PathSegment::new(segment).is_ok(),
                !matches!(segment, "" | "a/b"),
                "{segment}"
            );
        }
    }

    #[test]
    fn a_segment_is_any_text_without_separators() {
        assert!(PathSegment::new("group (1) ü").is_ok());
        for segment in ["", "a/b", "a#b", "a\u{7}", &"s".repeat(91)] {
            assert!(PathSegment::new(segment).is_err(), "{segment}");
        }
    }
}
