//! Seals secrets with AES-256-GCM.
//!
//! The program for one machine, the archiver and `sealer-kms` call it. It never knows where the key is
//! stored.
//!
//! A sealed text is a version, a random nonce, and the ciphertext with its tag. The tag also
//! authenticates the place of the secret, which is its job. Write access to the store is therefore
//! not enough to move a secret from one job to another.
//!
//! Nonces are random and have 96 bits. After four billion texts under one key, the probability that
//! two of them share a nonce is one in four billion.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use async_trait::async_trait;
use hmac::{Hmac, Mac as _};
use minutehand_ports::{SealError, Sealer};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The version of the format, which is the first byte of a sealed text.
const VERSION: u8 = 1;
/// The length of a nonce in bytes.
const NONCE_BYTES: usize = 12;
/// The length of a key in bytes.
pub const KEY_BYTES: usize = 32;

/// Seals and opens texts with one key.
pub struct AesSealer {
    cipher: Aes256Gcm,
    mac: Hmac<Sha256>,
}

impl AesSealer {
    /// Creates a sealer for a key.
    #[must_use]
    pub fn new(key: &Zeroizing<[u8; KEY_BYTES]>) -> Self {
        // A key that is shorter than a block is filled up with zeros.
        let mut block = Zeroizing::new([0; 64]);
        block.iter_mut().zip(key.iter()).for_each(|(to, from)| *to = *from);
        let mac = Hmac::<Sha256>::new(&(*block).into());
        Self { cipher: Aes256Gcm::new(&Key::<Aes256Gcm>::from(**key)), mac }
    }

    /// A key for another purpose, the same for the same key and purpose. It tells nothing of the key.
    #[must_use]
    pub fn derived(&self, purpose: &str) -> Zeroizing<[u8; KEY_BYTES]> {
        let derived = self.mac.clone().chain_update(purpose).finalize().into_bytes();
        Zeroizing::new(derived.into())
    }

    /// Makes a random key.
    ///
    /// # Errors
    ///
    /// [`SealError::NoKey`] if the random number generator of the system fails.
    pub fn new_key() -> Result<Zeroizing<[u8; KEY_BYTES]>, SealError> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(key.as_mut()).map_err(no_randomness)?;
        Ok(key)
    }

    /// Seals a text for one place.
    ///
    /// # Errors
    ///
    /// [`SealError::NoKey`] if the random number generator of the system fails.
    pub fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(no_randomness)?;
        let payload = Payload { msg: plain.as_bytes(), aad: place.as_bytes() };
        let ciphertext =
            self.cipher.encrypt(&Nonce::from(nonce), payload).map_err(|_| SealError::NotOurs)?;
        Ok([[VERSION].as_slice(), &nonce, &ciphertext].concat())
    }

    /// Opens a text that was sealed for this place.
    ///
    /// # Errors
    ///
    /// [`SealError::NotOurs`] if the text was sealed with another key or for another place, or if it is
    /// damaged.
    pub fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError> {
        let (version, rest) = sealed.split_first().ok_or(SealError::NotOurs)?;
        let (nonce, ciphertext) =
            rest.split_first_chunk::<NONCE_BYTES>().ok_or(SealError::NotOurs)?;
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
    fn a_sealed_text_opens_with_its_key_and_in_its_place_only() {
        let ours = sealer();
        let sealed = ours.seal("job-1", "hunter2 ü").unwrap();
        assert_eq!(ours.open("job-1", &sealed).unwrap(), "hunter2 ü");
        assert!(matches!(ours.open("job-2", &sealed), Err(SealError::NotOurs)));
        assert!(matches!(sealer().open("job-1", &sealed), Err(SealError::NotOurs)));
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
    }

    #[test]
    fn each_purpose_and_each_key_has_a_key_of_its_own() {
        let key = AesSealer::new_key().unwrap();
        let ours = AesSealer::new(&key);
        assert_eq!(ours.derived("a"), AesSealer::new(&key).derived("a"));
        assert_ne!(ours.derived("a"), ours.derived("b"));
        assert_ne!(ours.derived("a"), sealer().derived("a"));
        assert_ne!(ours.derived("a"), key);
    }

    #[test]
    fn sealing_a_secret_twice_gives_different_texts() {
        let sealer = sealer();
        assert_ne!(sealer.seal("job-1", "s").unwrap(), sealer.seal("job-1", "s").unwrap());
    }

    #[test]
    fn a_cut_or_changed_text_does_not_open() {
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
