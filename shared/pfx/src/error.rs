//! Why a file was not opened.

use const_oid::ObjectIdentifier;
use const_oid::db::DB;

use crate::{FILE_BYTES_MAX, ITERATIONS_MAX};

/// Why a file was not opened, and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PfxError {
    /// Larger than [`FILE_BYTES_MAX`].
    #[error(
        "the file has {bytes} bytes and may have {FILE_BYTES_MAX}; \
         export one certificate with its chain and its key"
    )]
    TooLarge {
        /// How large it is; of base64, at least.
        bytes: usize,
    },
    /// The text is not base64.
    #[error(
        "the file is not base64; encode the bytes of the .pfx or .p12 file, without header lines"
    )]
    NotBase64,
    /// The bytes are something else, or the beginning or end is missing.
    #[error(
        "the file is not PKCS#12, or not all of it; send a whole .pfx or .p12 file in DER encoding"
    )]
    NotPkcs12,
    /// The MAC does not match; where there is none, nothing sensible was decrypted.
    ///
    /// A file that was altered inside looks the same: the MAC covers both.
    #[error("the password does not open the file; check it, or export the file again")]
    WrongPassword,
    /// The password is right, and the content makes no sense.
    #[error("the file is damaged: {what} cannot be read; export it again")]
    Damaged {
        /// The part that cannot be read.
        what: &'static str,
    },
    /// An algorithm or a form that is not supported.
    #[error(
        "the file uses {what}, which is not supported; \
         export it again, with AES-256-CBC and a MAC with SHA-256"
    )]
    Unsupported {
        /// Its name and object identifier.
        what: String,
    },
    /// More rounds of key derivation than [`ITERATIONS_MAX`].
    #[error(
        "the file asks for {asked} iterations of key derivation and may ask for {ITERATIONS_MAX} \
         in all; export it again with fewer"
    )]
    TooManyIterations {
        /// How many were counted up to where it was given up.
        asked: u64,
    },
    /// No private key.
    #[error("the file has no private key; export the certificate together with its key")]
    NoKey,
    /// More than one private key, so that it is not clear which one is meant.
    #[error("the file has {count} private keys; export one certificate with its key")]
    SeveralKeys {
        /// How many.
        count: usize,
    },
    /// A private key, and no certificate that goes with it.
    #[error("the file has no certificate for its private key; export both together")]
    NoCertificate,
}

impl PfxError {
    /// An algorithm, by the name people know it by.
    pub(crate) fn unsupported(oid: &ObjectIdentifier) -> Self {
        // Two that are met in such files, and not in the registry of names.
        let known = match oid.to_string().as_str() {
            "1.2.840.113549.1.5.14" => Some("PBMAC1"),
            "1.3.6.1.4.1.11591.4.11" => Some("scrypt"),
            _ => DB.by_oid(oid),
        };
        let what = match known {
            Some(name) => format!("{name} ({oid})"),
            None => format!("the algorithm {oid}"),
        };
        Self::Unsupported { what }
    }
}
