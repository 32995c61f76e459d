//! The addresses at which targets report the end of their work.
//!
//! An address ends with a key: the identity of an attempt, and a part of 128 bits that only who knows the key of
//! the installation can make. So making one writes nothing, reading a wrong one reads nothing, and an attempt
//! that is made again has the same.
//!
//! The key is fetched when it is first needed, and kept.

use std::fmt;
use std::sync::{Arc, OnceLock};

use hmac::{Hmac, KeyInit as _, Mac as _};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::ids::{hex, unhex};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::{PurposeKey, PurposeKeyError, SealError};
use sha2::Sha256;

/// The path below which the addresses are.
pub const PING_PATH: &str = "/ping";

/// What the key of an installation is for, from which these keys are made.
pub const COMPLETION_KEY: &str = "completion";
/// The bytes of a key that cannot be guessed.
const MAC_BYTES: usize = 16;
/// The most characters of a key. Ours are shorter: two ids, an attempt, the name of a job.
const KEY_CHARS_MAX: usize = 500;
/// The parts of an attempt.
const ATTEMPT_PARTS: usize = 4;

/// Makes and reads the addresses.
pub struct CompletionUrls {
    base: String,
    key: Arc<dyn PurposeKey>,
    /// Knows the key, once it was needed.
    mac: OnceLock<Hmac<Sha256>>,
}

impl fmt::Debug for CompletionUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionUrls").field("base", &self.base).finish_non_exhaustive()
    }
}

impl CompletionUrls {
    /// The addresses of a server with this public address, and a key of this installation for this purpose
    /// alone.
    #[must_use]
    pub fn new(public_url: &str, key: Arc<dyn PurposeKey>) -> Self {
        let base = format!("{}{PING_PATH}", public_url.trim_end_matches('/'));
        Self { base, key, mac: OnceLock::new() }
    }

    /// The address for a key of another kind below the same path.
    #[must_use]
    pub fn below(&self, key: &str) -> String {
        format!("{}/{key}", self.base)
    }

    /// The address for an attempt.
    ///
    /// # Errors
    ///
    /// If the key cannot be fetched.
    pub async fn url(&self, job: &JobRef, attempt: &Attempt) -> Result<String, PurposeKeyError> {
        Ok(format!("{}/{}", self.base, key(self.mac().await?, job, attempt)))
    }

    /// The attempt of a key; `None` if it is not one of ours.
    ///
    /// # Errors
    ///
    /// If the key of the installation cannot be fetched.
    pub async fn read(&self, key: &str) -> Result<Option<(JobRef, Attempt)>, PurposeKeyError> {
        // What cannot be a key fetches nothing.
        let Some((id, mac)) = parts(key) else { return Ok(None) };
        Ok(attempt(self.mac().await?, id, &mac))
    }

    async fn mac(&self) -> Result<&Hmac<Sha256>, PurposeKeyError> {
        if let Some(mac) = self.mac.get() {
            return Ok(mac);
        }
        let key = self.key.key().await?;
        // A key of any length is one.
        let mac = Hmac::new_from_slice(&key).map_err(|error| SealError::NoKey(error.into()))?;
        Ok(self.mac.get_or_init(|| mac))
    }
}

/// The key for an attempt.
fn key(mac: &Hmac<Sha256>, job: &JobRef, attempt: &Attempt) -> String {
    let JobRef { uid, collection_uid, key } = job;
    let id = format!("{uid}.{collection_uid}.{}.{key}", attempt_key(attempt));
    let mac = mac.clone().chain_update(&id).finalize().into_bytes();
    let mac: Vec<u8> = mac.into_iter().take(MAC_BYTES).collect();
    format!("{id}.{}", hex(&mac))
}

/// What a key names, and its MAC.
fn parts(key: &str) -> Option<(&str, Vec<u8>)> {
    if key.len() > KEY_CHARS_MAX {
        return None;
    }
    let (id, mac) = key.rsplit_once('.')?;
    Some((id, unhex(mac).filter(|mac| mac.len() == MAC_BYTES)?))
}

/// The attempt that is named, if the MAC is ours.
fn attempt(ours: &Hmac<Sha256>, id: &str, mac: &[u8]) -> Option<(JobRef, Attempt)> {
    // In constant time.
    ours.clone().chain_update(id).verify_truncated_left(mac).ok()?;
    let mut parts = id.splitn(2 + ATTEMPT_PARTS + 1, '.');
    let (uid, collection_uid) = (parts.next()?, parts.next()?);
    let attempt: Vec<&str> = parts.by_ref().take(ATTEMPT_PARTS).collect();
    let attempt = read_attempt(&attempt.join("."), None)?;
    let text = str::to_owned;
    let job =
        JobRef { uid: text(uid), collection_uid: text(collection_uid), key: text(parts.next()?) };
    Some((job, attempt))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use minutehand_domain::attempt::{Occurrence, run_id};
    use minutehand_domain::chain::Depth;

    use minutehand_ports::GivenKey;

    use super::*;

    fn given(byte: u8) -> Arc<dyn PurposeKey> {
        Arc::new(GivenKey(vec![byte; 32].into()))
    }

    fn read(urls: &CompletionUrls, key: &str) -> Option<(JobRef, Attempt)> {
        pollster::block_on(urls.read(key)).unwrap()
    }

    #[test]
    fn a_key_reads_back_and_nothing_else_does() {
        let urls = CompletionUrls::new("https://example.org/", given(7));
        let other = CompletionUrls::new("https://example.org", given(8));
        let at = DateTime::from_timestamp(60, 0).unwrap();
        let text = str::to_owned;
        let uid = "0123456789abcdef0123456789abcdef";
        let job = JobRef { uid: text(uid), collection_uid: text("c1"), key: text("a.b-c_1..") };
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at });
        let run = Attempt::first(
            1,
            Occurrence::Run { asked_at: at, run_id: run_id("5f", Depth::new(2)) },
        );
        for attempt in [first.clone(), Attempt { number: 12, ..first }, run] {
            let url = pollster::block_on(urls.url(&job, &attempt)).unwrap();
            let key = url.strip_prefix("https://example.org/ping/").unwrap();
            assert!(key.len() < KEY_CHARS_MAX / 2, "{key}");
            assert_eq!(read(&urls, key), Some((job.clone(), attempt)));
            assert_eq!(read(&other, key), None);
            for place in 0..key.len() {
                let mut wrong = key.to_owned().into_bytes();
                wrong[place] = if wrong[place] == b'0' { b'1' } else { b'0' };
                assert_eq!(read(&urls, std::str::from_utf8(&wrong).unwrap()), None);
                assert_eq!(read(&urls, &key[..place]), None);
            }
        }
        for wrong in ["", ".", "a.b.c", &"x".repeat(1_000)] {
            assert_eq!(read(&urls, wrong), None);
        }
        assert!(!format!("{urls:?}").contains('7'));
    }
}
