//! Who follows an export or an import.

/// Is told how far an export or an import is, and may end it.
pub trait Watcher {
    /// Another part begins, with so many things as far as is known.
    fn begin(&self, _doing: &'static str, _things: u64) {}

    /// There are more things than was known.
    fn grow(&self, _by: u64) {}

    /// One more thing is done.
    fn step(&self) {}

    /// Something is done that is worth a line.
    fn note(&self, _text: &str) {}

    /// Whether the time is over.
    fn is_over(&self) -> bool {
        false
    }
}

/// For an export or an import whose progress is not shown.
impl Watcher for () {}
