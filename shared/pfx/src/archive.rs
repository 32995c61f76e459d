//! From the bytes of a file to the keys and certificates in it.
//!
//! A file is an envelope, which may have a MAC over all the rest; a list of safes, each in clear or
//! encrypted; and in each safe a list of bags: a certificate, a key, or an encrypted key. Whether a
//! failure is the password's fault depends on the MAC: once it holds, the password is right.

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

/// How a file begins that is BER of indefinite length: a sequence whose end is marked, not counted.
const INDEFINITE_SEQUENCE: [u8; 2] = [0x30, 0x80];

/// What a file has in it.
#[derive(Default)]
pub(crate) struct Contents {
    /// Private keys, as PKCS#8 DER.
    pub(crate) keys: Vec<Bag<Zeroizing<Vec<u8>>>>,
    /// X.509 certificates, as DER.
    pub(crate) certificates: Vec<Bag<Vec<u8>>>,
}

/// One of them.
pub(crate) struct Bag<T> {
    pub(crate) der: T,
    /// What a key and its certificate have in common, where the writer has set it.
    pub(crate) local_key_id: Option<Vec<u8>>,
}

/// Reads a file, with every reading of its password.
pub(crate) fn read(file: &[u8], password: &str) -> Result<Contents, PfxError> {
    let pfx = Pfx::from_der(file).map_err(|_| {
        if file.starts_with(&INDEFINITE_SEQUENCE) {
            PfxError::Unsupported { what: "BER encoding of indefinite length".to_owned() }
        } else {
            PfxError::NotPkcs12
        }
    })?;
    let mut rounds = Rounds::default();
    for password in &Password::readings(password) {
        let mut opener = Opener { password, proved: false, rounds: &mut rounds };
        match opener.open(&pfx) {
            Err(PfxError::WrongPassword) => {}
            settled => return settled,
        }
    }
    Err(PfxError::WrongPassword)
}

/// Opens one file with one reading of the password.
struct Opener<'a> {
    password: &'a Password<'a>,
    /// Whether the password is known to be right.
    proved: bool,
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
            self.proved = cipher::mac_holds(mac, content.value(), self.password, self.rounds)?;
            if !self.proved {
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
                        .map_err(|failure| self.blame(failure, WHAT))?;
                let bags = SafeContents::from_der(&clear)
                    .map_err(|_| self.blame(CipherFailure::Content, WHAT))?;
                self.proved = true;
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
                    .map_err(|failure| self.blame(failure, WHAT))?;
                // A wrong key leaves a valid padding once in 256 times, and hardly ever DER.
                AnyRef::from_der(&der).map_err(|_| self.blame(CipherFailure::Content, WHAT))?;
                self.proved = true;
                contents.keys.push(Bag { der, local_key_id });
            }
            _ => {}
        }
        Ok(())
    }

    /// Says whose fault it is that `what` was not decrypted.
    fn blame(&self, failure: CipherFailure, what: &'static str) -> PfxError {
        match failure {
            CipherFailure::Certain(error) => error,
            CipherFailure::Content if self.proved => PfxError::Damaged { what },
            CipherFailure::Content => PfxError::WrongPassword,
        }
    }
}

/// The value of a bag stands in a `[0]` of its own.
fn value_of<T>(bag: &SafeBag, what: &'static str) -> Result<T, PfxError>
where
    T: for<'a> Decode<'a, Error = der::Error> + Tagged,
{
    ContextSpecific::<T>::from_der(&bag.bag_value)
        .map(|tagged| tagged.value)
        .map_err(|_| PfxError::Damaged { what })
}

/// The key of a bag that is not encrypted.
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
