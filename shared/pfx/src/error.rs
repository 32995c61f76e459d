//! The reasons for which a file does not open.

use const_oid::ObjectIdentifier;
use const_oid::db::DB;

use crate::{FILE_BYTES_MAX, ITERATIONS_MAX};

/// The reason for which a file does not open, and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PfxError {
    /// The file is larger than [`FILE_BYTES_MAX`].
    #[error(
        "the file has {bytes} bytes, and at most {FILE_BYTES_MAX} are allowed; \
         export one certificate with its chain and its key"
    )]
    TooLarge {
        /// The size of the file; a lower bound if the file is base64.
        bytes: usize,
    },
    /// The text is not base64.
    #[error(
        "the file is not base64; encode the bytes of the .pfx or .p12 file, without header lines"
    )]
    NotBase64,
    /// The bytes are not a PKCS#12 file, or a part of the file is missing.
    #[error(
        "the file is not PKCS#12, or is incomplete; send the whole .pfx or .p12 file in DER encoding"
    )]
    NotPkcs12,
    /// The MAC does not match; in a file without a MAC, the decrypted data is not valid.
    ///
    /// A modified file gives the same error, because the MAC depends on the password and the content.
    #[error("the password does not open the file; check it, or export the file again")]
    WrongPassword,
    /// The password is right, but the content is not valid.
    #[error("the file is damaged: {what} cannot be read; export it again")]
    Damaged {
        /// The part that cannot be read.
        what: &'static str,
    },
    /// The file uses an algorithm or a form that is not supported.
    #[error(
        "the file uses {what}, which is not supported; \
         export it again with AES-256-CBC and a SHA-256 MAC"
    )]
    Unsupported {
        /// The name and the object identifier of the algorithm.
        what: String,
    },
    /// The file needs more rounds of key derivation than [`ITERATIONS_MAX`].
    #[error(
        "the file needs {asked} iterations of key derivation, and at most {ITERATIONS_MAX} are \
         allowed; export it again with fewer"
    )]
    TooManyIterations {
        /// The number counted so far, when the limit was exceeded.
        asked: u64,
    },
    /// The file has no private key.
    #[error("the file has no private key; export the certificate together with its key")]
    NoKey,
    /// The file has more than one private key, so the choice is not clear.
    #[error("the file has {count} private keys; export one certificate with its key")]
    SeveralKeys {
        /// The number of private keys.
        count: usize,
    },
    /// The file has no certificate for its private key.
    #[error("the file has no certificate for its private key; export both together")]
    NoCertificate,
}

impl PfxError {
    /// Names an unsupported algorithm.
    pub(crate) fn unsupported(oid: &ObjectIdentifier) -> Self {
        // PKCS#12 files use these two algorithms, and the registry does not have their names.
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
