//! Which collections a caller may reach: all of them, or those that patterns name.

use std::fmt;
use std::sync::Arc;

use crate::collection_place::CollectionPlace;

/// The most patterns of one caller.
pub const PATTERNS_MAX: usize = 50;
/// The longest pattern: three names of the longest kind, and two slashes.
const PATTERN_CHARS_MAX: usize = 300;
/// Matches every name.
const EVERY: &str = "*";

/// The collections that a caller may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
    /// The whole installation.
    #[default]
    Everything,
    /// Only collections that match one of these patterns.
    Only(Arc<[CollectionPattern]>),
}

/// A pattern of the paths of collections. A `*` stands for any number of characters of one name, and
/// names match in any case. What a pattern leaves out in front matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionPattern {
    /// `None` matches every subscription.
    subscription: Option<String>,
    group: String,
    name: String,
}

/// Why a text is not a list of patterns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(String);

impl Reach {
    /// Reads patterns that are separated by commas.
    ///
    /// # Errors
    ///
    /// If there is none, if there are too many, or if one of them is not a pattern.
    pub fn read(text: &str) -> Result<Self, InvalidPattern> {
        let patterns =
            text.split(',').map(CollectionPattern::read).collect::<Result<Vec<_>, _>>()?;
        if patterns.len() > PATTERNS_MAX {
            let message = format!("it has {} patterns; {PATTERNS_MAX} are allowed", patterns.len());
            return Err(InvalidPattern(message));
        }
        Ok(Self::Only(patterns.into()))
    }

    /// Whether the caller may reach the whole installation.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// The patterns; `None` for everything.
    #[must_use]
    pub fn patterns(&self) -> Option<&[CollectionPattern]> {
        match self {
            Self::Everything => None,
            Self::Only(patterns) => Some(patterns),
        }
    }

    /// Whether the caller may reach a collection.
    #[must_use]
    pub fn has(&self, path: &CollectionPlace) -> bool {
        self.any(|pattern| {
            pattern.is_in(path.subscription(), path.group()) && matches(&pattern.name, path.name())
        })
    }

    /// Whether the caller may reach a collection that a resource group has or could have.
    #[must_use]
    pub fn has_some_of(&self, subscription: &str, group: &str) -> bool {
        self.any(|pattern| pattern.is_in(subscription, group))
    }

    /// Whether the caller may reach every collection that a resource group has or could have.
    #[must_use]
    pub fn has_all_of(&self, subscription: &str, group: &str) -> bool {
        self.any(|pattern| {
            let is_every_name = pattern.name.chars().all(|c| c == '*');
            is_every_name && pattern.is_in(subscription, group)
        })
    }

    fn any(&self, holds: impl Fn(&CollectionPattern) -> bool) -> bool {
        self.patterns().is_none_or(|patterns| patterns.iter().any(holds))
    }
}

/// The patterns as [`Reach::read`] reads them; empty for everything.
impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, pattern) in self.patterns().unwrap_or_default().iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{pattern}")?;
        }
        Ok(())
    }
}

impl CollectionPattern {
    fn read(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = |problem: &str| {
            let text: String = text.chars().take(PATTERN_CHARS_MAX).collect();
            InvalidPattern(format!("the pattern '{}' {problem}", text.escape_debug()))
        };
        if text.chars().count() > PATTERN_CHARS_MAX {
            return Err(invalid(&format!("has more than {PATTERN_CHARS_MAX} characters")));
        }
        // Each of these ends a pattern, or what a pattern stands in.
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '#' | ':')) {
            return Err(invalid("has a space, a '#' or a ':'; write '*' in their place"));
        }
        let lower = text.to_lowercase();
        let mut names = lower.split('/').rev();
        let (name, group, subscription) = (names.next(), names.next(), names.next());
        if [name, group, subscription].contains(&Some("")) {
            return Err(invalid("has an empty name; write GROUP/COLLECTION"));
        }
        match (name, names.next()) {
            (Some(name), None) => Ok(Self {
                subscription: subscription.map(str::to_owned),
                group: group.unwrap_or(EVERY).to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(invalid("has too many names; write SUBSCRIPTION/GROUP/COLLECTION")),
        }
    }

    fn is_in(&self, subscription: &str, group: &str) -> bool {
        let own = self.subscription.as_deref();
        own.is_none_or(|own| matches(own, subscription)) && matches(&self.group, group)
    }
}

impl fmt::Display for CollectionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subscription) = &self.subscription {
            write!(f, "{subscription}/")?;
        }
        write!(f, "{}/{}", self.group, self.name)
    }
}

/// Whether a pattern in lower case matches a name. Each part between two stars is looked for behind the
/// part before it, the first time that it is there: a later one leaves less for the parts that follow.
fn matches(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some((_, behind)) = left.split_once(part) else {
            return false;
        };
        left = behind;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> CollectionPlace {
        CollectionPlace::read(path).unwrap()
    }

    #[test]
    fn a_star_stands_for_any_characters_of_one_name() {
        for (pattern, name, expected) in [
            ("a", "A", true),
            ("a", "ab", false),
            ("*", "anything", true),
            ("*", "", true),
            ("nightly-*", "Nightly-Report", true),
            ("nightly-*", "nightly", false),
            ("*-eu", "shop-EU", true),
            ("*-eu", "shop-eu2", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*ab*", "xxabyy", true),
            ("**", "x", true),
            ("a**", "ab", true),
            ("*a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_name_groups_and_may_name_subscriptions() {
        let reach = Reach::read("Shop/*,ops/nightly-*,prod/*/billing").unwrap();
        for (path, expected) in [
            ("default/shop/orders", true),
            ("other/SHOP/x", true),
            ("default/ops/Nightly-1", true),
            ("default/ops/daily", false),
            ("prod/any/billing", true),
            ("default/any/billing", false),
            ("default/shop2/orders", false),
        ] {
            assert_eq!(reach.has(&place(path)), expected, "{path}");
            assert!(Reach::Everything.has(&place(path)));
        }
        assert_eq!(reach.to_string(), "shop/*,ops/nightly-*,prod/*/billing");
        assert_eq!(Reach::read(&reach.to_string()), Ok(reach.clone()));
        let alone = Reach::read("Ops").unwrap();
        assert!(alone.has(&place("any/group/ops")) && !alone.has(&place("ops/ops/other")));
        assert_eq!(alone.to_string(), "*/ops");
        for (group, some, all) in [("shop", true, true), ("ops", true, false), ("x", false, false)]
        {
            assert_eq!(reach.has_some_of("s", group), some, "{group}");
            assert_eq!(reach.has_all_of("s", group), all, "{group}");
        }
        assert!(Reach::Everything.has_all_of("s", "g") && Reach::Everything.has_some_of("s", "g"));
    }

    #[test]
    fn a_text_that_is_no_pattern_says_what_to_write() {
        let many = vec!["a/b"; PATTERNS_MAX + 1].join(",");
        let long = format!("a/{}", "b".repeat(PATTERN_CHARS_MAX));
        for (text, why) in [
            ("", "has an empty name"),
            ("a/b,", "has an empty name"),
            ("/a", "has an empty name"),
            ("a//b", "has an empty name"),
            ("a/b/c/d", "has too many names"),
            ("my group/a", "write '*' in their place"),
            (&many, "it has 51 patterns"),
            (&long, "more than 300 characters"),
        ] {
            let found = Reach::read(text).unwrap_err().to_string();
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
