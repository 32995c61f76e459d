//! A PKCS#12 file and its password in, a client certificate out.
//!
//! A job may authenticate with a client certificate, which is sent as a PFX file. This crate opens
//! it and answers what the API shows (thumbprint, subject, expiry) and what a TLS client presents
//! (chain and key). It is pure: bytes in, a value or an error out; no clock, so an expired
//! certificate opens like any other.
//!
//! ```
//! let file = include_bytes!("../tests/fixtures/makecert.p12");
//! let certificate = minutehand_pfx::open(file, "minutehand")?;
//! assert_eq!(certificate.subject, "CN=May14SchedulerMgmt");
//! assert_eq!(certificate.thumbprint, "37F61B86F8DFF522706ECC29A8651A3C8D73FA35");
//!
//! let error = minutehand_pfx::open(file, "Minutehand").unwrap_err();
//! assert_eq!(error, minutehand_pfx::PfxError::WrongPassword);
//! # Ok::<(), minutehand_pfx::PfxError>(())
//! ```
//!
//! # What opens
//!
//! | Part | Algorithms |
//! | --- | --- |
//! | MAC | HMAC with SHA-1, SHA-224, SHA-256, SHA-384 or SHA-512, or none |
//! | encryption | AES-CBC of PBES2 with PBKDF2; Triple DES and RC2 of PKCS#12, as old Windows and OpenSSL wrote them; none |
//! | key | any that PKCS#8 carries; RSA and EC keys are matched with their certificate by value |
//!
//! Everything else is named in [`PfxError::Unsupported`]. Bags that are neither a key nor an X.509
//! certificate (revocation lists, secrets, nested safes) are passed over.
//!
//! # A hostile file
//!
//! The bytes come from a stranger, and the password too. A file costs at most [`FILE_BYTES_MAX`] of
//! input and [`ITERATIONS_MAX`] rounds of key derivation, counted over all its parts: the count
//! stands in the file, once for each part, and parts may hide in an encrypted one. That is why the
//! crate walks the file itself, over the structures of `pkcs12`: the libraries that open a file in
//! one call bound each part alone, and 64 KB hold hundreds of them.
//!
//! No message, and no `Debug`, has a byte of a password or a key.

mod archive;
mod cipher;
mod error;
mod identity;
mod name;
mod password;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use zeroize::Zeroizing;

pub use error::PfxError;

/// The largest file that is opened, in bytes: a chain with its key takes 3 to 8 KB.
pub const FILE_BYTES_MAX: usize = 64 * 1024;

/// The most rounds of key derivation that a file may ask for, in all its parts together.
///
/// OpenSSL and Windows write some 2,000 for each of three parts, Java 10,000, careful people
/// 100,000 and more. A million takes well under a second.
pub const ITERATIONS_MAX: u32 = 1_000_000;

/// A certificate that a TLS client can present, opened from a PKCS#12 file.
#[derive(Debug, Clone)]
pub struct OpenedCertificate {
    /// The SHA-1 of the certificate as DER, in upper-case hexadecimal.
    pub thumbprint: String,
    /// The subject, in the form that .NET prints: `CN=jobs, O="Contoso, Ltd.", C=US`.
    pub subject: String,
    /// The end of its validity.
    pub expires_at: DateTime<Utc>,
    /// The certificate, then who issued it, and so on, as far as the file has them; each as DER.
    pub chain: Vec<Vec<u8>>,
    /// Its private key.
    pub key: PrivateKey,
}

/// A private key as PKCS#8 DER; its memory is cleared when it is dropped.
#[derive(Clone)]
pub struct PrivateKey(Zeroizing<Vec<u8>>);

impl PrivateKey {
    /// The key itself, for whoever signs with it.
    #[must_use]
    pub fn pkcs8_der(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// Opens a file that was sent as base64; white space in it is passed over.
///
/// # Errors
///
/// Where the text is not base64, and as [`open`].
pub fn open_base64(text: &str, password: &str) -> Result<OpenedCertificate, PfxError> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let digits = text.len() - text.bytes().filter(is_space).count();
    // Checked before decoding, so that what is too large is not copied first; up to two of the
    // digits may be padding.
    check_size((digits / 4 * 3).saturating_sub(2))?;
    let packed: Zeroizing<Vec<u8>> =
        Zeroizing::new(text.bytes().filter(|byte| !is_space(byte)).collect());
    let file = STANDARD.decode(&*packed).map(Zeroizing::new).map_err(|_| PfxError::NotBase64)?;
    open(&file, password)
}

/// Opens a file.
///
/// # Errors
///
/// Where the file cannot be opened with this password, or does not hold one private key with its
/// certificate; each variant of [`PfxError`] says what to change.
pub fn open(file: &[u8], password: &str) -> Result<OpenedCertificate, PfxError> {
    check_size(file.len())?;
    identity::identify(archive::read(file, password)?)
}

fn check_size(bytes: usize) -> Result<(), PfxError> {
    if bytes > FILE_BYTES_MAX { Err(PfxError::TooLarge { bytes }) } else { Ok(()) }
}
