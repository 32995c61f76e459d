//! New identities.

/// Makes identities that were never made before.
pub trait IdSource: Send + Sync {
    /// A new one: letters and digits, usable in a key.
    fn new_id(&self) -> String;
}
