//! Derives keys from a password, and decrypts with them.

use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, KeyInit, KeyIvInit};
use const_oid::ObjectIdentifier;
use const_oid::db::rfc7292;
use der::{Any, Decode, Encode};
use des::{TdesEde2, TdesEde3};
use hmac::digest::block_api::BlockSizeUser;
use hmac::digest::{Digest, FixedOutputReset};
use hmac::{Mac, SimpleHmac};
use pkcs5::pbes2;
use pkcs12::MacData;
use pkcs12::kdf::{Pkcs12KeyType, derive_key};
use pkcs12::pbe_params::{Pbes2Params, Pkcs12PbeParams};
use rc2::Rc2;
use sha1::Sha1;
use x509_cert::spki::AlgorithmIdentifierOwned;
use zeroize::Zeroizing;

use crate::password::Password;
use crate::{ITERATIONS_MAX, PfxError};

/// The length of a block and of an initialisation vector of DES and RC2.
const BLOCK_BYTES: usize = 8;

/// A failure to decrypt.
#[derive(Debug)]
pub(crate) enum CipherFailure {
    /// Either the key is wrong or the content is damaged.
    Content,
    /// An error that does not depend on the password.
    Certain(PfxError),
}

/// The rounds of key derivation that a file has used so far.
#[derive(Debug, Default)]
pub(crate) struct Rounds(u64);

impl Rounds {
    /// Counts rounds before they run; the number comes from the file.
    fn spend(&mut self, rounds: i64) -> Result<(), PfxError> {
        let Some(rounds) = u64::try_from(rounds).ok().filter(|&rounds| rounds > 0) else {
            return Err(PfxError::Damaged { what: "an iteration count" });
        };
        self.0 = self.0.saturating_add(rounds);
        if self.0 > u64::from(ITERATIONS_MAX) {
            return Err(PfxError::TooManyIterations { asked: self.0 });
        }
        Ok(())
    }
}

/// Returns whether `mac` matches `content` and `password`.
pub(crate) fn mac_matches(
    mac: &MacData,
    content: &[u8],
    password: &Password<'_>,
    rounds: &mut Rounds,
) -> Result<bool, PfxError> {
    use const_oid::db::rfc5912 as oid;

    let check = match mac.mac.algorithm.oid {
        oid::ID_SHA_1 => mac_matches_with::<Sha1>,
        oid::ID_SHA_224 => mac_matches_with::<sha2::Sha224>,
        oid::ID_SHA_256 => mac_matches_with::<sha2::Sha256>,
        oid::ID_SHA_384 => mac_matches_with::<sha2::Sha384>,
        oid::ID_SHA_512 => mac_matches_with::<sha2::Sha512>,
        other => return Err(PfxError::unsupported(&other)),
    };
    rounds.spend(mac.iterations.into())?;
    Ok(check(mac, content, password))
}

fn mac_matches_with<D>(mac: &MacData, content: &[u8], password: &Password<'_>) -> bool
where
    D: Digest + FixedOutputReset + BlockSizeUser,
{
    let key = Zeroizing::new(derive_key::<D>(
        &password.utf16,
        mac.mac_salt.as_bytes(),
        Pkcs12KeyType::Mac,
        mac.iterations,
        <D as Digest>::output_size(),
    ));
    SimpleHmac::<D>::new_from_slice(&key).is_ok_and(|hmac| {
        hmac.chain_update(content).verify_slice(mac.mac.digest.as_bytes()).is_ok()
    })
}

/// Decrypts `data` with `algorithm`.
pub(crate) fn decrypt(
    algorithm: &AlgorithmIdentifierOwned,
    data: &[u8],
    password: &Password<'_>,
    rounds: &mut Rounds,
) -> Result<Zeroizing<Vec<u8>>, CipherFailure> {
    let parameters = algorithm.parameters.as_ref();
    let decrypt = match algorithm.oid {
        pbes2::PBES2_OID => return decrypt_pbes2(parameters, data, password, rounds),
        rfc7292::PBE_WITH_SHA_AND_3_KEY_TRIPLE_DES_CBC => decrypt_pbes1::<TdesEde3, 24>,
        rfc7292::PBE_WITH_SHA_AND_2_KEY_TRIPLE_DES_CBC => decrypt_pbes1::<TdesEde2, 16>,
        rfc7292::PBE_WITH_SHA_AND_128_BIT_RC_2_CBC => decrypt_pbes1::<Rc2, 16>,
        pkcs12::PKCS_12_PBEWITH_SHAAND40_BIT_RC2_CBC => decrypt_pbes1::<Rc2, 5>,
        other => return Err(CipherFailure::Certain(PfxError::unsupported(&other))),
    };
    let parameters = parse::<Pkcs12PbeParams>(parameters)?;
    rounds.spend(parameters.iterations.into()).map_err(CipherFailure::Certain)?;
    decrypt(&parameters, data, password)
}

/// Decrypts with a scheme of PKCS#12, which derives key and initialisation vector with SHA-1.
fn decrypt_pbes1<C, const KEY_BYTES: usize>(
    parameters: &Pkcs12PbeParams,
    data: &[u8],
    password: &Password<'_>,
) -> Result<Zeroizing<Vec<u8>>, CipherFailure>
where
    C: BlockCipherDecrypt + KeyInit,
{
    let derive = |id, bytes| {
        let salt = parameters.salt.as_bytes();
        Zeroizing::new(derive_key::<Sha1>(&password.utf16, salt, id, parameters.iterations, bytes))
    };
    let key = derive(Pkcs12KeyType::EncryptionKey, KEY_BYTES);
    let iv = derive(Pkcs12KeyType::Iv, BLOCK_BYTES);
    Decryptor::<C>::new_from_slices(&key, &iv)
        .ok()
        .and_then(|cipher| cipher.decrypt_padded_vec::<Pkcs7>(data).ok())
        .map(Zeroizing::new)
        .ok_or(CipherFailure::Content)
}

/// Decrypts with the scheme of PKCS#5, whose parameters name the key derivation and the cipher.
fn decrypt_pbes2(
    parameters: Option<&Any>,
    data: &[u8],
    password: &Password<'_>,
    rounds: &mut Rounds,
) -> Result<Zeroizing<Vec<u8>>, CipherFailure> {
    // Checked by name first: `pkcs5` would run scrypt with any amount of memory that the file asks for.
    let names = parse::<Pbes2Params>(parameters)?;
    supported(&names.kdf.oid, &[pbes2::PBKDF2_OID])?;
    supported(
        &names.encryption.oid,
        &[pbes2::AES_256_CBC_OID, pbes2::AES_192_CBC_OID, pbes2::AES_128_CBC_OID],
    )?;

    let parameters = parse::<pbes2::Parameters>(parameters)?;
    if let Some(pbkdf2) = parameters.kdf.pbkdf2() {
        rounds.spend(pbkdf2.iteration_count.into()).map_err(CipherFailure::Certain)?;
    }
    parameters.decrypt(password.utf8, data).map(Zeroizing::new).map_err(|error| match error {
        pkcs5::Error::UnsupportedAlgorithm { oid } => {
            CipherFailure::Certain(PfxError::unsupported(&oid))
        }
        _ => CipherFailure::Content,
    })
}

fn supported(oid: &ObjectIdentifier, allowed: &[ObjectIdentifier]) -> Result<(), CipherFailure> {
    if allowed.contains(oid) {
        Ok(())
    } else {
        Err(CipherFailure::Certain(PfxError::unsupported(oid)))
    }
}

/// Reads the parameters of an algorithm; they are not encrypted, so no password changes them.
fn parse<T>(parameters: Option<&Any>) -> Result<T, CipherFailure>
where
    T: for<'a> Decode<'a, Error = der::Error>,
{
    parameters
        .and_then(|parameters| parameters.to_der().ok())
        .ok_or(None)
        .and_then(|der| T::from_der(&der).map_err(Some))
        .map_err(|error| {
            CipherFailure::Certain(match error.map(der::Error::kind) {
                // The parameters of PBKDF2 name an unknown pseudo-random function.
                Some(der::ErrorKind::OidUnknown { oid }) => PfxError::unsupported(&oid),
                _ => PfxError::Damaged { what: "the parameters of its encryption" },
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_over_all_parts_of_a_file() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.spend(600_000), Ok(()));
        assert_eq!(rounds.spend(400_000), Ok(()));
        assert_eq!(rounds.spend(1), Err(PfxError::TooManyIterations { asked: 1_000_001 }));
        assert_eq!(
            Rounds::default().spend(i64::MAX),
            Err(PfxError::TooManyIterations { asked: i64::MAX.unsigned_abs() })
        );
    }

    #[test]
    fn a_count_below_one_means_a_damaged_file() {
        let damaged = Err(PfxError::Damaged { what: "an iteration count" });
        assert_eq!(Rounds::default().spend(0), damaged);
        assert_eq!(Rounds::default().spend(i32::MIN.into()), damaged);
    }
}
