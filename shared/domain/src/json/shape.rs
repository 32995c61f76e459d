//! The names that an object may have.

/// What a value may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A value without property names of ours.
    Leaf,
    /// A value that is a secret.
    Secret,
    /// An object whose names the user chooses.
    Free,
    /// An object with these properties.
    Object(&'static [(&'static str, Shape)]),
    /// An object with these properties, which a PATCH replaces whole, and which checks its names
    /// itself.
    Whole(&'static [(&'static str, Shape)]),
}

use Shape::{Free, Leaf, Object, Secret, Whole};

impl Shape {
    /// Its properties, each once: two types of actions have the same payload.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&'static str, Shape)> + Clone {
        let all: &'static [_] = match self {
            Leaf | Secret | Free => &[],
            Object(properties) | Whole(properties) => properties,
        };
        let is_first = |(n, (name, _)): &(usize, &(&str, Shape))| {
            !all.iter().take(*n).any(|(earlier, _)| earlier == name)
        };
        all.iter().enumerate().filter(is_first).map(|(_, property)| *property)
    }

    /// The shape of one property, by its canonical name.
    pub(crate) fn property(&self, name: &str) -> Shape {
        let known = self.properties().find(|(known, _)| *known == name);
        known.map_or(Leaf, |(_, shape)| shape)
    }

    /// Whether it is an object with secrets among its own properties.
    pub(crate) fn has_secrets(&self) -> bool {
        self.properties().any(|(_, shape)| shape == Secret)
    }

    /// The canonical form of a name that is given in any case.
    pub(crate) fn canonical(&self, name: &str) -> Option<&'static str> {
        let mut names = self.properties().map(|(known, _)| known);
        names.find(|known| known.eq_ignore_ascii_case(name))
    }
}
