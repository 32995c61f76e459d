//! New ids.

/// Makes unique ids.
pub trait IdSource: Send + Sync {
    /// Makes an id of letters and digits, which can be part of a key.
    fn new_id(&self) -> String;
}
