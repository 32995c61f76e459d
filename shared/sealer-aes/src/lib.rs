//! Sealing secrets with AES-256-GCM, under a key that somebody else keeps.
//!
//! A sealed text is a version, a random nonce, and the ciphertext with its tag. The place for which
//! it was sealed (the job) is authenticated with it, so that nobody who can write to the store can
//! move one job's secrets into another.
//!
//! Nonces are random, of 96 bits: with one key, four billion texts may be sealed before two of them
//! share one with a chance of one in four billion.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use async_trait::async_trait;
use ports::{SealError, Sealer};
use zeroize::Zeroizing;

/// The first byte of what this crate seals.
const VERSION: u8 = 1;
/// The bytes of a nonce.
const NONCE: usize = 12;
/// The bytes of a key.
pub const KEY: usize = 32;

/// Seals under one key.
pub struct AesSealer {
    cipher: Aes256Gcm,
}

impl AesSealer {
    /// Seals under this key.
    #[must_use]
    pub fn new(key: &Zeroizing<[u8; KEY]>) -> Self {
        Self { cipher: Aes256Gcm::new(&Key::<Aes256Gcm>::from(**key)) }
    }

    /// Makes a key.
    ///
    /// # Errors
    ///
    /// If the system has no randomness to give.
    pub fn new_key() -> Result<Zeroizing<[u8; KEY]>, SealError> {
        let mut key = Zeroizing::new([0; KEY]);
        getrandom::fill(key.as_mut()).map_err(no_randomness)?;
        Ok(key)
    }

    /// Seals a text for one place, with the key that is at hand.
    ///
    /// # Errors
    ///
    /// If the system has no randomness to give.
    pub fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(no_randomness)?;
        let payload = Payload { msg: plain.as_bytes(), aad: place.as_bytes() };
        let ciphertext =
            self.cipher.encrypt(&Nonce::from(nonce), payload).map_err(|_| SealError::NotOurs)?;
        Ok([[VERSION].as_slice(), &nonce, &ciphertext].concat())
    }

    /// Opens what was sealed for this place.
    ///
    /// # Errors
    ///
    /// If it was sealed under another key or for another place, or is damaged.
    pub fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError> {
        let (version, rest) = sealed.split_first().ok_or(SealError::NotOurs)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE>().ok_or(SealError::NotOurs)?;
        if *version != VERSION {
            return Err(SealError::NotOurs);
        }
        let payload = Payload { msg: ciphertext, aad: place.as_bytes() };
        let plain =
            self.cipher.decrypt(&Nonce::from(*nonce), payload).map_err(|_| SealError::NotOurs)?;
        String::from_utf8(plain).map_err(|_| SealError::NotOurs)
    }
}

#[async_trait]
impl Sealer for AesSealer {
    async fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        self.seal(place, plain)
    }

    async fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError> {
        self.open(place, sealed)
    }
}

fn no_randomness(error: getrandom::Error) -> SealError {
    SealError::NoKey(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer() -> AesSealer {
        AesSealer::new(&AesSealer::new_key().unwrap())
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_only() {
        let ours = sealer();
        let sealed = ours.seal("job-1", "hunter2 ü").unwrap();
        assert_eq!(ours.open("job-1", &sealed).unwrap(), "hunter2 ü");
        assert!(matches!(ours.open("job-2", &sealed), Err(SealError::NotOurs)));
        assert!(matches!(sealer().open("job-1", &sealed), Err(SealError::NotOurs)));
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
    }

    #[test]
    fn the_same_secret_is_never_sealed_alike() {
        let sealer = sealer();
        assert_ne!(sealer.seal("job-1", "s").unwrap(), sealer.seal("job-1", "s").unwrap());
    }

    #[test]
    fn what_is_cut_or_changed_does_not_open() {
        let ours = sealer();
        let sealed = ours.seal("job-1", "secret").unwrap();
        for length in 0..sealed.len() {
            assert!(ours.open("job-1", &sealed[..length]).is_err(), "cut at {length}");
        }
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(ours.open("job-1", &changed).is_err(), "changed at {place}");
        }
    }
}
