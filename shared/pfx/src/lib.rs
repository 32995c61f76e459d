//! Opens PKCS#12 files (PFX) as client certificates.
//!
//! `actions` and `runtime` call it, for jobs that authenticate with a client certificate. It returns
//! what the API shows (thumbprint, subject, expiry) and what a TLS client presents (chain and key). It
//! is pure, and never knows a clock: an expired certificate opens like any other.
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
//! # Supported files
//!
//! | Part | Algorithms |
//! | --- | --- |
//! | MAC | HMAC with SHA-1, SHA-224, SHA-256, SHA-384 or SHA-512, or none |
//! | encryption | AES-CBC of PBES2 with PBKDF2; Triple DES and RC2 of PKCS#12, as old Windows and OpenSSL wrote them; none |
//! | key | any that PKCS#8 carries; RSA and EC keys are matched with their certificate by value |
//!
//! [`PfxError::Unsupported`] names every other algorithm. Bags that are neither a key nor an X.509
//! certificate (revocation lists, secrets, nested safes) are skipped.
//!
//! # Hostile files
//!
//! Both the file and the password are untrusted. A file has at most [`FILE_BYTES_MAX`] bytes, and
//! opening it takes at most [`ITERATIONS_MAX`] rounds of key derivation over all its parts. Each part
//! of a file states its own number of rounds, and an encrypted part can contain further parts.
//! Libraries that open a file in one call limit each part separately, and 64 KB have room for hundreds
//! of parts. This crate therefore reads the parts itself, with the structures of `pkcs12`.
//!
//! Neither messages nor `Debug` contain a byte of a password or a key.

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

/// The maximum size of a file in bytes; a chain with its key takes 3 to 8 KB.
pub const FILE_BYTES_MAX: usize = 64 * 1024;

/// The maximum number of key derivation rounds of a file, in all its parts together.
///
/// OpenSSL and Windows use about 2,000 for each of three parts, and Java uses 10,000. Cautious users
/// choose 100,000 or more. A million rounds take well under a second.
pub const ITERATIONS_MAX: u32 = 1_000_000;

/// A certificate that a TLS client can present, opened from a PKCS#12 file.
#[derive(Debug, Clone)]
pub struct OpenedCertificate {
    /// The SHA-1 of the certificate in DER, in upper-case hexadecimal.
    pub thumbprint: String,
    /// The subject, in the form of .NET: `CN=jobs, O="Contoso, Ltd.", C=US`.
    pub subject: String,
    /// The end of the validity of the certificate.
    pub expires_at: DateTime<Utc>,
    /// The certificate, its issuer, the issuer of that, and so on, as far as the file has them; each
    /// in DER.
    pub chain: Vec<Vec<u8>>,
    /// The private key of the certificate.
    pub key: PrivateKey,
}

/// A private key in PKCS#8 DER; dropping it clears its memory.
#[derive(Clone)]
pub struct PrivateKey(Zeroizing<Vec<u8>>);

impl PrivateKey {
    /// Returns the key, for signing.
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

/// Opens a file in base64; white space in the text is ignored.
///
/// # Errors
///
/// [`PfxError::NotBase64`] if the text is not base64, and every error of [`open`].
pub fn open_base64(text: &str, password: &str) -> Result<OpenedCertificate, PfxError> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let digits = text.len() - text.bytes().filter(is_space).count();
    // Checked before decoding, so that a file that is too large is not copied. Up to two of the
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
/// [`PfxError`] if the password does not open the file, or if the file does not contain exactly one
/// private key and its certificate. Each variant says what to change.
pub fn open(file: &[u8], password: &str) -> Result<OpenedCertificate, PfxError> {
    check_size(file.len())?;
    identity::identify(archive::read(file, password)?)
}

fn check_size(bytes: usize) -> Result<(), PfxError> {
    if bytes > FILE_BYTES_MAX { Err(PfxError::TooLarge { bytes }) } else { Ok(()) }
}
