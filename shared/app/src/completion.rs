//! The addresses at which targets report the end of their work.
//!
//! An address ends with a key: the identity of an attempt, and a part of 128 bits that only who knows the key of
//! the installation can make. So making one writes nothing, reading a wrong one reads nothing, and an attempt
//! that is made again has the same.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::attempt_key::{attempt_key, read_attempt};
use minutehand_domain::ids::{hex, unhex};
use minutehand_domain::work_item::JobRef;
use sha2::Sha256;

/// The path below which the addresses are.
pub const PING_PATH: &str = "/ping";

/// The bytes of a key that cannot be guessed.
const MAC_BYTES: usize = 16;
/// The most characters of a key. Ours are shorter: two ids, an attempt, the name of a job.
const KEY_CHARS_MAX: usize = 500;
/// The parts of an attempt.
const ATTEMPT_PARTS: usize = 4;

/// Makes and reads the addresses.
#[derive(Clone)]
pub struct CompletionUrls {
    base: String,
    /// Knows the key of the installation.
    mac: Hmac<Sha256>,
}

impl fmt::Debug for CompletionUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionUrls").field("base", &self.base).finish_non_exhaustive()
    }
}

impl CompletionUrls {
    /// The addresses of a server with this public address, and a key of this installation for this purpose
    /// alone; `None` if it is no key.
    #[must_use]
    pub fn new(public_url: &str, key: &[u8]) -> Option<Self> {
        let mac = Hmac::new_from_slice(key).ok()?;
        Some(Self { base: format!("{}{PING_PATH}", public_url.trim_end_matches('/')), mac })
    }

    /// The address for an attempt.
    #[must_use]
    pub fn url(&self, job: &JobRef, attempt: &Attempt) -> String {
        format!("{}/{}", self.base, self.key(job, attempt))
    }

    /// The key for an attempt.
    fn key(&self, JobRef { uid, collection_uid, key }: &JobRef, attempt: &Attempt) -> String {
        let id = format!("{uid}.{collection_uid}.{}.{key}", attempt_key(attempt));
        let mac = self.mac.clone().chain_update(&id).finalize().into_bytes();
        let mac: Vec<u8> = mac.into_iter().take(MAC_BYTES).collect();
        format!("{id}.{}", hex(&mac))
    }

    /// The attempt of a key; `None` if it is not one of ours.
    #[must_use]
    pub fn read(&self, key: &str) -> Option<(JobRef, Attempt)> {
        if key.len() > KEY_CHARS_MAX {
            return None;
        }
        let (id, mac) = key.rsplit_once('.')?;
        let mac = unhex(mac).filter(|mac| mac.len() == MAC_BYTES)?;
        // In constant time.
        self.mac.clone().chain_update(id).verify_truncated_left(&mac).ok()?;
        let mut parts = id.splitn(2 + ATTEMPT_PARTS + 1, '.');
        let (uid, collection_uid) = (parts.next()?, parts.next()?);
        let attempt: Vec<&str> = parts.by_ref().take(ATTEMPT_PARTS).collect();
        let attempt = read_attempt(&attempt.join("."), None)?;
        let text = str::to_owned;
        let job = JobRef {
            uid: text(uid),
            collection_uid: text(collection_uid),
            key: text(parts.next()?),
        };
        Some((job, attempt))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use minutehand_domain::attempt::Occurrence;
    use minutehand_domain::chain::Depth;

    use super::*;

    #[test]
    fn a_key_reads_back_and_nothing_else_does() {
        let urls = CompletionUrls::new("https://example.org/", &[7; 32]).unwrap();
        let other = CompletionUrls::new("https://example.org", &[8; 32]).unwrap();
        let at = DateTime::from_timestamp(60, 0).unwrap();
        let text = str::to_owned;
        let uid = "0123456789abcdef0123456789abcdef";
        let job = JobRef { uid: text(uid), collection_uid: text("c1"), key: text("a.b-c_1..") };
        let first = Attempt::first(3, Occurrence::Scheduled { nominal_at: at });
        let run = Attempt::first(1, Occurrence::run(at, "5f", Depth::new(2)));
        for attempt in [first.clone(), Attempt { number: 12, ..first }, run] {
            let url = urls.url(&job, &attempt);
            let key = url.strip_prefix("https://example.org/ping/").unwrap();
            assert!(key.len() < KEY_CHARS_MAX / 2, "{key}");
            assert_eq!(urls.read(key), Some((job.clone(), attempt)));
            assert_eq!(other.read(key), None);
            for place in 0..key.len() {
                let mut wrong = key.to_owned().into_bytes();
                wrong[place] = if wrong[place] == b'0' { b'1' } else { b'0' };
                assert_eq!(urls.read(std::str::from_utf8(&wrong).unwrap()), None);
                assert_eq!(urls.read(&key[..place]), None);
            }
        }
        for wrong in ["", ".", "a.b.c", &"x".repeat(1_000)] {
            assert_eq!(urls.read(wrong), None);
        }
        assert!(!format!("{urls:?}").contains('7'));
    }
}
