//! Bodies of failures that are kept: much more than the history shows, within a bound for all together.

use std::sync::Arc;

use minutehand_domain::attempt::BODY_BYTES_MAX;
use minutehand_ports::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{ReadBody, Secrets};

/// The most kilobytes of bodies that are in memory at the same time: 16 MiB. The body of a further
/// failure is not kept.
const KILOBYTES_MAX: usize = 16 * 1024;
/// The room that a body has while it is read, since nothing tells how long it is.
const READ_KILOBYTES: u32 = 256;
const _: () = assert!(READ_KILOBYTES as usize * 1024 == BODY_BYTES_MAX);

/// The room for the bodies that are read and not yet stored.
#[derive(Clone)]
pub(crate) struct KeptBodies(Arc<Semaphore>);

/// The room for one body.
pub(crate) struct Room(OwnedSemaphorePermit);

/// A body, with its room.
struct KeptBody {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for KeptBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl KeptBodies {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(KILOBYTES_MAX)))
    }

    /// Room for a body, if there is any.
    pub(crate) fn room(&self) -> Option<Room> {
        self.0.clone().try_acquire_many_owned(READ_KILOBYTES).ok().map(Room)
    }
}

impl Room {
    /// A body without the secrets that were sent, as far as they were sent back as they were. Its room is
    /// free when it is dropped. An empty body is none.
    pub(crate) fn keep(mut self, body: &ReadBody, secrets: &Secrets) -> Option<Bytes> {
        let mut bytes = secrets.redact_plain(&body.bytes);
        bytes.truncate(BODY_BYTES_MAX);
        bytes.shrink_to_fit();
        if bytes.is_empty() {
            return None;
        }
        let room = self.0.split(bytes.len().div_ceil(1024));
        Some(Bytes::from_owner(KeptBody { bytes, _room: room }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> ReadBody {
        ReadBody { bytes: text.as_bytes().to_vec(), is_cut: false }
    }

    #[test]
    fn the_bodies_in_memory_have_a_bound_and_there_is_room_again_when_they_are_dropped() {
        let bodies = KeptBodies::new();
        let secrets = Secrets::default();
        let keep = |length: usize| {
            bodies.room().and_then(|room| room.keep(&body(&"x".repeat(length)), &secrets))
        };
        let mut long: Vec<Bytes> = std::iter::from_fn(|| keep(BODY_BYTES_MAX)).collect();
        assert_eq!(long.len() * BODY_BYTES_MAX, 16 << 20);
        let copy = long.pop().unwrap();
        let copies = (copy.clone(), copy);
        assert!(bodies.room().is_none());
        drop(copies.0);
        assert!(bodies.room().is_none());
        drop(copies.1);
        assert_eq!(keep(0), None);
        // Short bodies take as much as they have, once they are read.
        let short: Vec<Bytes> = std::iter::from_fn(|| keep(1_000)).collect();
        assert_eq!(short.len(), 1);
        drop((long, short));
        let short: Vec<Bytes> = std::iter::from_fn(|| keep(1_000)).collect();
        assert_eq!(short.len(), KILOBYTES_MAX - 255);
    }

    #[test]
    fn a_secret_that_was_sent_back_as_it_was_is_not_kept() {
        let mut secrets = Secrets::default();
        secrets.add("sesame-open");
        secrets.add("abc");
        let keep = |text: &str| {
            let room = KeptBodies::new().room().unwrap();
            room.keep(&body(text), &secrets).unwrap()
        };
        assert_eq!(
            keep("a sesame-open sesame-opensesame-open\0"),
            "a [redacted] [redacted][redacted]\0"
        );
        // A short secret is a word of its own, or no secret.
        assert_eq!(keep("abc abcd (abc) xabc abc"), "[redacted] abcd ([redacted]) xabc [redacted]");
        let long = "sesame-open ".repeat(BODY_BYTES_MAX / 12);
        assert!(keep(&long).len() <= BODY_BYTES_MAX);
        let kept = keep(&"abc ".repeat(BODY_BYTES_MAX / 4));
        assert_eq!(kept.len(), BODY_BYTES_MAX, "what has become longer is cut");
    }
}
