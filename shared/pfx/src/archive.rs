//! Reads the keys and certificates of a file.
//!
//! A file is an envelope, which may have a MAC over its content. The content is a list of safes, each
//! plain or encrypted. A safe is a list of bags: a certificate, a key or an encrypted key. If the MAC
//! matches, the password is right, and a later failure means that the file is damaged.

use const_oid::ObjectIdentifier;
use const_oid::db::{rfc2985, rfc5911, rfc6268};
use der::asn1::{ContextSpecific, OctetString, OctetStringRef};
use der::{Any, AnyRef, Decode, Encode, Tag, Tagged};
use pkcs12::cms::content_info::ContentInfo;
use pkcs12::cms::encrypted_data::EncryptedData;
use pkcs12::pbe_params::EncryptedPrivateKeyInfo;
use pkcs12::safe_bag::SafeContents;
use pkcs12::{AuthenticatedSafe, CertBag, Pfx, SafeBag};
use zeroize::{Zeroize, Zeroizing};

use crate::PfxError;
use crate::cipher::{self, CipherFailure, Rounds};
use crate::password::Password;

/// The first bytes of a file in BER with indefinite length: a sequence with an end marker.
const INDEFINITE_SEQUENCE: [u8; 2] = [0x30, 0x80];

/// The keys and certificates of a file.
#[derive(Default)]
pub(crate) struct Contents {
    /// Private keys in PKCS#8 DER.
    pub(crate) keys: Vec<Bag<Zeroizing<Vec<u8>>>>,
    /// X.509 certificates in DER.
    pub(crate) certificates: Vec<Bag<Vec<u8>>>,
}

/// A key or a certificate with its attributes.
pub(crate) struct Bag<T> {
    pub(crate) der: T,
    /// The id that a key shares with its certificate, if the file has one.
    pub(crate) local_key_id: Option<Vec<u8>>,
}

/// Reads a file, trying each encoding of the password.
pub(crate) fn read(file: &[u8], password: &str) -> Result<Contents, PfxError> {
    let pfx = Pfx::from_der(file).map_err(|_| {
        if file.starts_with(&INDEFINITE_SEQUENCE) {
            PfxError::Unsupported { what: "BER encoding of indefinite length".to_owned() }
        } else {
            PfxError::NotPkcs12
        }
    })?;
    let mut rounds = Rounds::default();
    for password in &Password::encodings(password) {
        let mut opener = Opener { password, password_proved: false, rounds: &mut rounds };
        match opener.open(&pfx) {
            Err(PfxError::WrongPassword) => {}
            result => return result,
        }
    }
    Err(PfxError::WrongPassword)
}

/// Opens a file with one encoding of the password.
struct Opener<'a> {
    password: &'a Password<'a>,
    /// Whether the password is known to be right.
    password_proved: bool,
    rounds: &'a mut Rounds,
}

impl Opener<'_> {
    fn open(&mut self, pfx: &Pfx) -> Result<Contents, PfxError> {
        let ContentInfo { content_type, content } = &pfx.auth_safe;
        if *content_type != rfc6268::ID_DATA {
            return Err(PfxError::unsupported(content_type));
        }
        if content.tag() != Tag::OctetString {
            return Err(PfxError::NotPkcs12);
        }
        if let Some(mac) = &pfx.mac_data {
            self.password_proved =
                cipher::mac_matches(mac, content.value(), self.password, self.rounds)?;
            if !self.password_proved {
                return Err(PfxError::WrongPassword);
            }
        }

        let safes = AuthenticatedSafe::from_der(content.value())
            .map_err(|_| PfxError::Damaged { what: "its list of safes" })?;
        let mut contents = Contents::default();
        for safe in &safes {
            for bag in self.open_safe(safe)? {
                self.open_bag(bag, &mut contents)?;
            }
        }
        Ok(contents)
    }

    fn open_safe(&mut self, safe: &ContentInfo) -> Result<SafeContents, PfxError> {
        const WHAT: &str = "a safe";
        let damaged = |_| PfxError::Damaged { what: WHAT };
        match safe.content_type {
            rfc6268::ID_DATA => {
                let data = safe.content.decode_as::<&OctetStringRef>().map_err(damaged)?;
                SafeContents::from_der(data.as_bytes()).map_err(damaged)
            }
            rfc5911::ID_ENCRYPTED_DATA => {
                let sealed = safe.content.decode_as::<EncryptedData>().map_err(damaged)?;
                let info = sealed.enc_content_info;
                let data = info.encrypted_content.as_ref().map_or(&[][..], OctetString::as_bytes);
                let clear =
                    cipher::decrypt(&info.content_enc_alg, data, self.password, self.rounds)
                        .map_err(|failure| self.decryption_error(failure, WHAT))?;
                let bags = SafeContents::from_der(&clear)
                    .map_err(|_| self.decryption_error(CipherFailure::Content, WHAT))?;
                self.password_proved = true;
                Ok(bags)
            }
            other => Err(PfxError::unsupported(&other)),
        }
    }

    fn open_bag(&mut self, mut bag: SafeBag, contents: &mut Contents) -> Result<(), PfxError> {
        let local_key_id = local_key_id(&bag);
        match bag.bag_id {
            pkcs12::PKCS_12_CERT_BAG_OID => {
                let cert: CertBag = value_of(&bag, "a certificate")?;
                if cert.cert_id == pkcs12::PKCS_12_X509_CERT_OID {
                    let der = cert.cert_value.into_bytes().into();
                    contents.certificates.push(Bag { der, local_key_id });
                }
            }
            pkcs12::PKCS_12_KEY_BAG_OID => {
                let der = clear_key(&bag)?;
                bag.bag_value.zeroize();
                contents.keys.push(Bag { der, local_key_id });
            }
            pkcs12::PKCS_12_PKCS8_KEY_BAG_OID => {
                const WHAT: &str = "the private key";
                let sealed: EncryptedPrivateKeyInfo = value_of(&bag, WHAT)?;
                let (algorithm, data) = (&sealed.encryption_algorithm, &sealed.encrypted_data);
                let der = cipher::decrypt(algorithm, data.as_bytes(), self.password, self.rounds)
                    .map_err(|failure| self.decryption_error(failure, WHAT))?;
                // With a wrong key, the padding is valid once in 256 times, but the result is hardly
                // ever DER.
                AnyRef::from_der(&der)
                    .map_err(|_| self.decryption_error(CipherFailure::Content, WHAT))?;
                self.password_proved = true;
                contents.keys.push(Bag { der, local_key_id });
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the error for a failure to decrypt `what`: a wrong password or a damaged file.
    fn decryption_error(&self, failure: CipherFailure, what: &'static str) -> PfxError {
        match failure {
            CipherFailure::Certain(error) => error,
            CipherFailure::Content if self.password_proved => PfxError::Damaged { what },
            CipherFailure::Content => PfxError::WrongPassword,
        }
    }
}

/// Returns the value of a bag, which is wrapped in a `[0]` tag.
fn value_of<T>(bag: &SafeBag, what: &'static str) -> Result<T, PfxError>
where
    T: for<'a> Decode<'a, Error = der::Error> + Tagged,
{
    ContextSpecific::<T>::from_der(&bag.bag_value)
        .map(|tagged| tagged.value)
        .map_err(|_| PfxError::Damaged { what })
}

/// Returns the key of a bag that is not encrypted.
fn clear_key(bag: &SafeBag) -> Result<Zeroizing<Vec<u8>>, PfxError> {
    ContextSpecific::<AnyRef<'_>>::from_der(&bag.bag_value)
        .and_then(|tagged| tagged.value.to_der())
        .map(Zeroizing::new)
        .map_err(|_| PfxError::Damaged { what: "the private key" })
}

fn local_key_id(bag: &SafeBag) -> Option<Vec<u8>> {
    const OID: ObjectIdentifier = rfc2985::PKCS_9_AT_LOCAL_KEY_ID;
    let attribute = bag.bag_attributes.as_ref()?.iter().find(|attribute| attribute.oid == OID)?;
    attribute.values.iter().next().map(Any::value).map(<[u8]>::to_vec)
}
