//! Text that does not appear in logs by accident.

use std::fmt;

/// A secret of a job: `Debug` does not print it, and there is no `Display`.
///
/// A job that is only shown is read without its secrets; each is then [`Secret::withheld`]. A job
/// that fires is read by [`crate::document::load`], which refuses a job whose secrets are missing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Option<String>);

impl Secret {
    /// A secret that is known.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Some(text.into()))
    }

    /// A secret that was not opened.
    #[must_use]
    pub const fn withheld() -> Self {
        Self(None)
    }

    /// The text, to send it or to seal it; empty if it is withheld.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.known().unwrap_or_default()
    }

    /// The text, unless it is withheld.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_print_a_secret() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some(Secret(…))");
    }
}
