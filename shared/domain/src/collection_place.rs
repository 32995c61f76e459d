//! Where a collection is, as items of the store, the log and messages for people name it.

use std::fmt;

use crate::name::{Name, PathSegment};

/// Where a collection is: subscription, resource group and name, separated by slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionPlace(String);

impl CollectionPlace {
    /// The path of the collection of this name in a resource group.
    #[must_use]
    pub fn new(subscription: &PathSegment, group: &PathSegment, name: &Name) -> Self {
        Self(format!("{subscription}/{group}/{name}"))
    }

    /// Reads a path that was stored; `None` if one of its three parts is missing or has a slash.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let are_three = parts.by_ref().take(3).filter(|part| !part.is_empty()).count() == 3;
        (are_three && parts.next().is_none()).then(|| Self(text.to_owned()))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The subscription.
    #[must_use]
    pub fn subscription(&self) -> &str {
        self.part(0)
    }

    /// The resource group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.part(1)
    }

    /// The name of the collection.
    #[must_use]
    pub fn name(&self) -> &str {
        self.part(2)
    }

    fn part(&self, number: usize) -> &str {
        // A path has three parts.
        self.0.split('/').nth(number).unwrap_or_default()
    }
}

impl fmt::Display for CollectionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_three_parts() {
        let segment = |text| PathSegment::new(text).unwrap();
        let path =
            CollectionPlace::new(&segment("Sub"), &segment("my group"), &Name::new("Ops").unwrap());
        assert_eq!(path.as_str(), "Sub/my group/Ops");
        assert_eq!(CollectionPlace::read(path.as_str()), Some(path.clone()));
        let parts = [path.subscription(), path.group(), path.name()];
        assert_eq!(parts, ["Sub", "my group", "Ops"]);
    }

    #[test]
    fn a_path_that_misses_a_part_is_none() {
        for text in ["", "s", "s/g", "s//c", "/g/c", "s/g/", "//", "s/g/c/", "s/g/c/d"] {
            assert_eq!(CollectionPlace::read(text), None, "{text}");
        }
    }
}
