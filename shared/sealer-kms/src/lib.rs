//! Seals secrets with data keys from AWS KMS.
//!
//! The API's function, the executor and the archiver call it through its port. It never knows the
//! store.
//!
//! A process asks KMS for a data key when it first seals a secret. The sealed text contains the data key
//! in encrypted form, so only a process that may call KMS can open it. Processes share the key of a month:
//! the first one keeps it, encrypted, and the others have KMS decrypt it. Decrypted data keys are cached,
//! so an executor asks KMS for one key for each month in which its secrets were saved.
//!
//! A sealed text is a version, the length of the encrypted data key, that key, and a text sealed by
//! `sealer-aes`. The inner text is bound to its place. The encryption context of KMS binds the data key to its
//! purpose. The context does not depend on the table, so the secrets of a restored table still open.
//!
//! A crash leaves the kept key of a month or none. Nothing depends on it: a sealed text has its own copy.

mod cache;

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_kms::Client;
use aws_sdk_kms::error::SdkError;
use aws_sdk_kms::operation::decrypt::DecryptError;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use minutehand_ports::{Clock, DataKeys, SealError, Sealer};
use minutehand_sealer_aes::{AesSealer, KEY_BYTES};
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::cache::KeyCache;

/// The version of the format, which is the first byte of a sealed text; `sealer-aes` uses 1.
const VERSION: u8 = 2;
/// The name and the value in the encryption context of all data keys.
pub const CONTEXT: (&str, &str) = ("minutehand", "secrets");
/// The maximum length of an encrypted data key; KMS documents 6,144 bytes and returns about 200.
const ENCRYPTED_KEY_BYTES_MAX: usize = 6_144;

/// Seals and opens texts with data keys of one KMS key.
pub struct KmsSealer {
    client: Client,
    key_id: String,
    sharing: Option<Sharing>,
    /// The key with which this process seals, and its name.
    own_key: Mutex<Option<(String, Arc<DataKey>)>>,
    decrypted: KeyCache,
}

/// Where data keys are kept for other processes.
struct Sharing {
    keys: Arc<dyn DataKeys>,
    clock: Arc<dyn Clock>,
}

impl Sharing {
    /// The name of this month's key.
    fn name(&self) -> String {
        format!("data-{}", self.clock.work_now().format("%Y-%m"))
    }
}

/// A data key in both forms: decrypted, as a sealer, and encrypted.
struct DataKey {
    sealer: Arc<AesSealer>,
    encrypted: Vec<u8>,
}

impl KmsSealer {
    /// Creates a sealer for a KMS key, given by its id, its ARN or its alias.
    #[must_use]
    pub fn new(client: Client, key_id: impl Into<String>) -> Self {
        Self {
            client,
            key_id: key_id.into(),
            sharing: None,
            own_key: Mutex::default(),
            decrypted: KeyCache::default(),
        }
    }

    /// The same, with the data key of the month that all processes share.
    #[must_use]
    pub fn sharing(self, keys: Arc<dyn DataKeys>, clock: Arc<dyn Clock>) -> Self {
        Self { sharing: Some(Sharing { keys, clock }), ..self }
    }

    /// Returns the data key with which this process seals now.
    ///
    /// Concurrent callers wait for one request to KMS. If it fails, only its caller gets the error,
    /// and the next caller tries again.
    async fn own_key(&self) -> Result<Arc<DataKey>, SealError> {
        let name = self.sharing.as_ref().map(Sharing::name).unwrap_or_default();
        let mut own_key = self.own_key.lock().await;
        if let Some((of, key)) = own_key.as_ref()
            && *of == name
        {
            return Ok(key.clone());
        }
        let key = match &self.sharing {
            Some(sharing) => self.shared_key(&*sharing.keys, &name).await?,
            None => self.new_data_key().await?,
        };
        Ok(own_key.insert((name, Arc::new(key))).1.clone())
    }

    /// The key of this name: the kept one, or a new one that is kept from now on.
    async fn shared_key(&self, keys: &dyn DataKeys, name: &str) -> Result<DataKey, SealError> {
        if let Some(key) = self.kept_key(keys, name).await? {
            return Ok(key);
        }
        let key = self.new_data_key().await?;
        if keys.keep(name, &key.encrypted).await.map_err(no_key)? {
            return Ok(key);
        }
        // Another process came first; or what is kept is of another key of KMS.
        Ok(self.kept_key(keys, name).await?.unwrap_or(key))
    }

    /// The kept key of this name; `None` if there is none, or it was encrypted with another key of KMS, as
    /// in a table that was restored beside a new one.
    async fn kept_key(
        &self,
        keys: &dyn DataKeys,
        name: &str,
    ) -> Result<Option<DataKey>, SealError> {
        let Some(encrypted) = keys.kept(name).await.map_err(no_key)? else { return Ok(None) };
        match self.sealer_of(&encrypted).await {
            Ok(sealer) => Ok(Some(DataKey { sealer, encrypted })),
            Err(SealError::NotOurs) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn new_data_key(&self) -> Result<DataKey, SealError> {
        let generated = self
            .client
            .generate_data_key()
            .key_id(&self.key_id)
            .key_spec(DataKeySpec::Aes256)
            .encryption_context(CONTEXT.0, CONTEXT.1)
            .send()
            .await
            .map_err(no_key)?;
        let sealer = sealer(&plaintext(generated.plaintext))?;
        let encrypted = generated.ciphertext_blob.map(Blob::into_inner).unwrap_or_default();
        if encrypted.is_empty() || encrypted.len() > ENCRYPTED_KEY_BYTES_MAX {
            return Err(SealError::NoKey(
                "KMS returned a data key without its encrypted form".into(),
            ));
        }
        // The process that seals a text is likely to open it, too.
        self.decrypted.put(&encrypted, sealer.clone());
        Ok(DataKey { sealer, encrypted })
    }

    /// Returns the sealer of an encrypted data key, from the cache or from KMS.
    async fn sealer_of(&self, encrypted: &[u8]) -> Result<Arc<AesSealer>, SealError> {
        let slot = self.decrypted.get(encrypted);
        let decrypt = || async { sealer(&self.decrypted_bytes(encrypted).await?) };
        slot.get_or_try_init(decrypt).await.cloned()
    }

    /// Decrypts what was encrypted with the KMS key, in the encryption context of data keys.
    ///
    /// # Errors
    ///
    /// If it was encrypted otherwise, or KMS does not answer.
    pub async fn decrypted_bytes(&self, encrypted: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let decrypted = self
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
        Ok(plaintext(decrypted.plaintext))
    }
}

#[async_trait]
impl Sealer for KmsSealer {
    async fn seal(&self, place: &str, plain: &str) -> Result<Vec<u8>, SealError> {
        let key = self.own_key().await?;
        let length = u16::try_from(key.encrypted.len()).map_err(|_| SealError::NotOurs)?;
        let sealed = key.sealer.seal(place, plain)?;
        Ok([[VERSION].as_slice(), &length.to_be_bytes(), &key.encrypted, &sealed].concat())
    }

    async fn open(&self, place: &str, sealed: &[u8]) -> Result<String, SealError> {
        let (encrypted, sealed) = split(sealed).ok_or(SealError::NotOurs)?;
        self.sealer_of(encrypted).await?.open(place, sealed)
    }
}

/// Splits a sealed text into the encrypted data key and the text sealed with it.
fn split(sealed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (version, rest) = sealed.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let is_ours = *version == VERSION && (1..=ENCRYPTED_KEY_BYTES_MAX).contains(&length);
    is_ours.then(|| rest.split_at_checked(length)).flatten()
}

/// What KMS decrypted; nothing if it did not say.
fn plaintext(plaintext: Option<Blob>) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(plaintext.map(Blob::into_inner).unwrap_or_default())
}

/// Creates the sealer of a data key from KMS.
fn sealer(bytes: &[u8]) -> Result<Arc<AesSealer>, SealError> {
    let key = <[u8; KEY_BYTES]>::try_from(bytes).map(Zeroizing::new);
    let key = key.map_err(|_| {
        SealError::NoKey("KMS returned a data key with an unexpected length".into())
    })?;
    Ok(Arc::new(AesSealer::new(&key)))
}

/// Returns whether KMS reports that the data key was not encrypted with this key and context.
fn is_not_ours<R>(error: &SdkError<DecryptError, R>) -> bool {
    let error = error.as_service_error();
    error.is_some_and(|error| {
        error.is_invalid_ciphertext_exception() || error.is_incorrect_key_exception()
    })
}

fn no_key<E: std::error::Error + Send + Sync + 'static>(error: E) -> SealError {
    SealError::NoKey(Box::new(error))
}
