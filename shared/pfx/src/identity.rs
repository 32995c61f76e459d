//! Selects the private key, its certificate, and the chain of issuers.

use chrono::DateTime;
use const_oid::db::{rfc5753, rfc5912};
use der::{Decode, Encode};
use pkcs1::RsaPrivateKeyRef;
use pkcs8::PrivateKeyInfoRef;
use sec1::EcPrivateKey;
use sha1::{Digest, Sha1};
use x509_cert::certificate::{CertificateInner, Raw, TbsCertificateInner};

use crate::archive::{Bag, Contents};
use crate::{OpenedCertificate, PfxError, PrivateKey, name};

/// A certificate, in DER and parsed.
struct Certificate {
    der: Vec<u8>,
    local_key_id: Option<Vec<u8>>,
    /// Parsed with the lenient profile, because makecert writes negative serial numbers. Many users of
    /// Azure Scheduler made their certificates with it.
    parsed: CertificateInner<Raw>,
}

impl Certificate {
    fn parse(Bag { der, local_key_id }: Bag<Vec<u8>>) -> Result<Self, PfxError> {
        let parsed = CertificateInner::from_der(&der)
            .map_err(|_| PfxError::Damaged { what: "a certificate" })?;
        Ok(Self { der, local_key_id, parsed })
    }

    fn tbs(&self) -> &TbsCertificateInner<Raw> {
        self.parsed.tbs_certificate()
    }
}

/// Finds the only key and its certificate.
pub(crate) fn identify(contents: Contents) -> Result<OpenedCertificate, PfxError> {
    let count = contents.keys.len();
    let mut keys = contents.keys.into_iter();
    let key = match (keys.next(), count) {
        (Some(key), 1) => key,
        (Some(_), count) => return Err(PfxError::SeveralKeys { count }),
        (None, _) => return Err(PfxError::NoKey),
    };
    let certificates: Result<Vec<_>, _> =
        contents.certificates.into_iter().map(Certificate::parse).collect();
    let mut others = certificates?;

    let leaf = leaf_index(&key, &others)?.ok_or(PfxError::NoCertificate)?;
    let leaf = others.swap_remove(leaf);
    let seconds = leaf.tbs().validity().not_after.to_unix_duration().as_secs();
    let expires_at = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .ok_or(PfxError::Damaged { what: "the expiry of the certificate" })?;

    Ok(OpenedCertificate {
        thumbprint: name::hex(&Sha1::digest(&leaf.der)),
        subject: name::format_like_dotnet(leaf.tbs().subject()),
        expires_at,
        chain: chain(leaf, others),
        key: PrivateKey(key.der),
    })
}

/// Returns the index of the certificate for `key`.
///
/// The public key decides if the private key contains it, and the local key id otherwise. If several
/// certificates match, as after a renewal, the one with the local key id of the key is preferred.
fn leaf_index(
    key: &Bag<impl AsRef<[u8]>>,
    certificates: &[Certificate],
) -> Result<Option<usize>, PfxError> {
    let info = PrivateKeyInfoRef::from_der(key.der.as_ref())
        .map_err(|_| PfxError::Damaged { what: "the private key" })?;
    let public = public_key(&info);
    let has_key_id = |certificate: &Certificate| {
        key.local_key_id.is_some() && certificate.local_key_id == key.local_key_id
    };
    let fits = |certificate: &Certificate| {
        let spki = certificate.tbs().subject_public_key_info();
        match &public {
            Some(public) => spki.subject_public_key.raw_bytes() == public,
            // The only certificate of a file matches if its algorithm does.
            None if certificates.len() == 1 => spki.algorithm.oid == info.algorithm.oid,
            None => has_key_id(certificate),
        }
    };
    let mut fitting = certificates.iter().enumerate().filter(|(_, one)| fits(one));
    let first = fitting.next().map(|(index, one)| (index, has_key_id(one)));
    Ok(match first {
        Some((index, false)) => {
            Some(fitting.find(|(_, one)| has_key_id(one)).map_or(index, |(index, _)| index))
        }
        first => first.map(|(index, _)| index),
    })
}

/// Returns the public key in the form of a certificate; `None` if the private key does not contain it
/// and only arithmetic on the curve could compute it.
fn public_key(info: &PrivateKeyInfoRef<'_>) -> Option<Vec<u8>> {
    let key = info.private_key.as_bytes();
    match info.algorithm.oid {
        rfc5912::RSA_ENCRYPTION => RsaPrivateKeyRef::from_der(key).ok()?.public_key().to_der().ok(),
        rfc5753::ID_EC_PUBLIC_KEY => EcPrivateKey::from_der(key).ok()?.public_key.map(Vec::from),
        _ => info.public_key.map(|bits| bits.raw_bytes().to_vec()),
    }
}

/// Returns the leaf, its issuer, and so on up to the root or to the last issuer in the file.
///
/// Other certificates are left out. The loop ends because each step removes one of `others`.
fn chain(leaf: Certificate, mut others: Vec<Certificate>) -> Vec<Vec<u8>> {
    let mut chain = Vec::new();
    let mut next = Some(leaf);
    while let Some(last) = next {
        let (subject, issuer) = (last.tbs().subject(), last.tbs().issuer());
        let above = if subject == issuer {
            None
        } else {
            others.iter().position(|other| other.tbs().subject() == issuer)
        };
        next = above.map(|index| others.swap_remove(index));
        chain.push(last.der);
    }
    chain
}
