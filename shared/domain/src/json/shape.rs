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
    /// The shape of one property, by its canonical name.
    pub(crate) fn property(&self, name: &str) -> Shape {
        match self {
            Leaf | Secret | Free => Leaf,
            Object(properties) | Whole(properties) => {
                let known = properties.iter().find(|(known, _)| *known == name);
                known.map_or(Leaf, |(_, shape)| *shape)
            }
        }
    }

    /// Whether it is an object with secrets among its own properties.
    pub(crate) fn has_secrets(&self) -> bool {
        match self {
            Leaf | Secret | Free => false,
            Object(properties) | Whole(properties) => {
                properties.iter().any(|(_, shape)| *shape == Secret)
            }
        }
    }

    /// The canonical form of a name that is given in any case.
    pub(crate) fn canonical(&self, name: &str) -> Option<&'static str> {
        match self {
            Leaf | Secret | Free => None,
            Object(properties) | Whole(properties) => {
                let mut names = properties.iter().map(|(known, _)| *known);
                names.find(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }
}
