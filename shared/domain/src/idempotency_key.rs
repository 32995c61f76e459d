//! Keys by which a client names a request that is to be done once, however often it sends it.

use chrono::TimeDelta;
use sha2::{Digest, Sha256};

use crate::ids::hex;
use crate::refusal::Refusal;

/// The header with the key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// For how long a key is remembered.
pub const IDEMPOTENCY_KEPT_FOR: TimeDelta = TimeDelta::hours(24);

/// The most characters of a key.
const CHARS_MAX: usize = 255;

/// How many bytes of its hash stand for a key in the store.
const HASH_BYTES: usize = 16;

/// A key of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Reads the value of the header.
    ///
    /// # Errors
    ///
    /// If it is empty, too long, or has a character that is not allowed.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let is_allowed = |c: char| c.is_ascii_graphic() || c == ' ';
        if (1..=CHARS_MAX).contains(&text.len()) && text.chars().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::invalid(format!(
            "The header '{IDEMPOTENCY_KEY}' must have 1 to {CHARS_MAX} printable ASCII characters. Send a \
             new UUID for each run that you want."
        )))
    }

    /// What stands for the key in the store: a hash, since users choose keys.
    #[must_use]
    pub fn stored(&self) -> String {
        let hash = Sha256::digest(self.0.as_bytes());
        format!("k{}", hex(hash.get(..HASH_BYTES).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_printable_and_stored_as_hashes() {
        let stored = |text: &str| IdempotencyKey::read(text).map(|key| key.stored());
        assert_eq!(stored("a").unwrap(), "kca978112ca1bbdcafac231b39a23dc4d");
        assert_ne!(stored("\"a b\""), stored("a b"));
        assert!(stored(&"x".repeat(CHARS_MAX)).is_ok());
        for wrong in ["", "ä", "a\u{7}", &"x".repeat(CHARS_MAX + 1)] {
            let message = stored(wrong).unwrap_err().message;
            assert!(message.contains("1 to 255 printable ASCII characters"), "{message}");
        }
    }
}
