//! Sealing secrets under data keys of a KMS key.
//!
//! A process asks for a data key when it first seals something, and seals with it from then on: what
//! is stored carries the data key as KMS encrypted it, so that whoever may ask KMS opens it, and
//! nobody else. A data key that was decrypted once is remembered, so that firing asks KMS for next to
//! nothing: the jobs that one process of the API has made share a key.
//!
//! A sealed text is a version, the length of the encrypted key, that key, and what `sealer-aes` makes
//! of the text: bound to its place there. The data key itself is bound to its purpose by KMS's
//! encryption context, which is the same for all, so that a table that was restored under another
//! name still opens.
//!
//! Nothing is kept but what is stored, so a crash leaves nothing to repair.

mod cache;

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::SdkError;
use aws_sdk_kms::operation::decrypt::DecryptError;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use ports::{SealError, Sealer};
use sealer_aes::{AesSealer, KEY};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::cache::KeyCache;

/// The first byte of what this crate seals; `sealer-aes` has 1.
const VERSION: u8 = 2;
/// What data keys are bound to: the name and the value of their encryption context.
pub const CONTEXT: (&str, &str) = ("minutehand", "secrets");
/// The most bytes of an encrypted data key: KMS says 6,144, and makes some 200.
const ENCRYPTED_KEY_BYTES_MAX: usize = 6_144;

/// Seals under data keys of one key of KMS.
pub struct KmsSealer {
    client: Client,
    key_id: String,
    own: OnceCell<DataKey>,
    opened: KeyCache,
}

/// A data key, open and encrypted.
struct DataKey {
    sealer: Arc<AesSealer>,
    encrypted: Vec<u8>,
}

impl KmsSealer {
    /// Seals under this key: its id, its ARN, or its alias.
    #[must_use]
    pub fn new(client: Client, key_id: impl Into<String>) -> Self {
        Self { client, key_id: key_id.into(), own: OnceCell::new(), opened: KeyCache::default() }
    }

    /// The data key of this process. Who comes while it is asked for waits for it; a failure is
    /// nobody's but the caller's.
    async fn own(&self) -> Result<&DataKey, SealError> {
        self.own.get_or_try_init(|| self.new_data_key()).await
    }

    async fn new_data_key(&self) -> Result<DataKey, SealError> {
        let made = self
            .client
            .generate_data_key()
            .key_id(&self.key_id)
            .key_spec(DataKeySpec::Aes256)
            .encryption_context(CONTEXT.0, CONTEXT.1)
            .send()
            .await
            .map_err(no_key)?;
        let sealer = sealer(made.plaintext)?;
        let encrypted = made.ciphertext_blob.map(Blob::into_inner).unwrap_or_default();
        if encrypted.is_empty() || encrypted.len() > ENCRYPTED_KEY_BYTES_MAX {
            return Err(SealError::NoKey("KMS made a data key without its encrypted form".into()));
        }
        // What is sealed here is likely opened here.
        self.opened.put(&encrypted, sealer.clone());
        Ok(DataKey { sealer, encrypted })
    }

    /// A data key that was encrypted, open.
    async fn opened(&self, encrypted: &[u8]) -> Result<Arc<AesSealer>, SealError> {
        let key = self.opened.get(encrypted);
        let sealer = key.get_or_try_init(|| self.decrypt(encrypted)).await?;
        Ok(sealer.clone())
    }

    async fn decrypt(&self, encrypted: &[u8]) -> Result<Arc<AesSealer>, SealError> {
        let opened = self
            .client
            .decrypt()
            .key_id(&self.key_id)
            .ciphertext_blob(Blob::new(encrypted))
            .encryption_context(CONTEXT.0, CONTEXT.1)
            .send()
            .await
            .map_err(
                |error| if is_not_ours(&error) { SealError::NotOurs } else { no_key(error) },
            )?;
        sealer(opened.plaintext)
    }
}

#[async_trait]
impl Sealer for KmsSealer {
    async fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        let key = self.own().await?;
        let length = u16::try_from(key.encrypted.len()).map_err(|_| SealError::NotOurs)?;
        let sealed = key.sealer.seal(place, plain)?;
        Ok([[VERSION].as_slice(), &length.to_be_bytes(), &key.encrypted, &sealed].concat())
    }

    async fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError> {
        let (encrypted, sealed) = take_apart(sealed).ok_or(SealError::NotOurs)?;
        self.opened(encrypted).await?.open(place, sealed)
    }
}

/// The encrypted data key, and what is sealed with it.
fn take_apart(sealed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (version, rest) = sealed.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let is_ours = *version == VERSION && (1..=ENCRYPTED_KEY_BYTES_MAX).contains(&length);
    is_ours.then(|| rest.split_at_checked(length)).flatten()
}

/// What seals with a data key that KMS handed over.
fn sealer(plaintext: Option<Blob>) -> Result<Arc<AesSealer>, SealError> {
    let bytes = Zeroizing::new(plaintext.map(Blob::into_inner).unwrap_or_default());
    let key = <[u8; KEY]>::try_from(bytes.as_slice()).map(Zeroizing::new);
    let key = key.map_err(|_| SealError::NoKey("KMS gave a key of another length".into()))?;
    Ok(Arc::new(AesSealer::new(&key)))
}

/// Whether KMS says that it never encrypted this under the key, for this purpose.
fn is_not_ours<R>(error: &SdkError<DecryptError, R>) -> bool {
    let error = error.as_service_error();
    error.is_some_and(|error| {
        error.is_invalid_ciphertext_exception() || error.is_incorrect_key_exception()
    })
}

fn no_key<E: std::error::Error + Send + Sync + 'static>(error: E) -> SealError {
    SealError::NoKey(Box::new(error))
}
