//! Refused files, and the messages that say what to change.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minutehand_pfx::{FILE_BYTES_MAX, PfxError, open, open_base64};

use crate::fixtures::{PASSWORD, fixture};

const WRONG_PASSWORD: &str =
    "the password does not open the file; check it, or export the file again";

/// A file, a password, and the message.
type Row = (&'static str, &'static str, &'static str);

fn check(rows: &[Row]) {
    for (name, password, message) in rows {
        match open(&fixture(name), password) {
            Ok(_) => panic!("{name} opens"),
            Err(error) => assert_eq!(error.to_string(), *message, "{name}"),
        }
    }
}

#[test]
fn a_wrong_password_and_a_damaged_file_have_different_messages() {
    check(&[
        ("rsa-old.p12", "Minutehand", WRONG_PASSWORD),
        ("rsa-old.p12", "", WRONG_PASSWORD),
        ("rsa-new.p12", "minutehand ", WRONG_PASSWORD),
        (
            "ec-new.p12",
            "a password of more than one block of sixty-four bytes, all of it wrong",
            WRONG_PASSWORD,
        ),
        ("empty-old.p12", PASSWORD, WRONG_PASSWORD),
        ("empty-new.p12", " ", WRONG_PASSWORD),
        ("accents-new.p12", "schlussel – κλειδί", WRONG_PASSWORD),
        ("emoji-old.p12", "key🔒", WRONG_PASSWORD),
        // Without a MAC, the decrypted data shows that the password is wrong.
        ("no-mac.p12", "Minutehand", WRONG_PASSWORD),
        // The MAC matches this password, but the content is encrypted with another.
        (
            "two-passwords.p12",
            PASSWORD,
            "the file is damaged: the private key cannot be read; export it again",
        ),
    ]);
}

#[test]
fn a_missing_or_surplus_part_is_named() {
    check(&[
        (
            "no-key.p12",
            PASSWORD,
            "the file has no private key; export the certificate together with its key",
        ),
        (
            "no-certificate.p12",
            PASSWORD,
            "the file has no certificate for its private key; export both together",
        ),
        (
            "foreign-certificate.p12",
            PASSWORD,
            "the file has no certificate for its private key; export both together",
        ),
        (
            "several-keys.p12",
            PASSWORD,
            "the file has 2 private keys; export one certificate with its key",
        ),
    ]);
}

#[test]
fn an_unsupported_algorithm_is_named() {
    let uses = |what| {
        format!(
            "the file uses {what}, which is not supported; \
             export it again with AES-256-CBC and a SHA-256 MAC"
        )
    };
    for (name, what) in [
        ("rc4.p12", "pbeWithSHAAnd128BitRC4 (1.2.840.113549.1.12.1.1)"),
        ("pbes2-3des.p12", "des-ede3-cbc (1.2.840.113549.3.7)"),
        ("mac-md5.p12", "id-md5 (1.2.840.113549.2.5)"),
    ] {
        check_one(&fixture(name), &uses(what), name);
    }
    check_one(b"\x30\x80\x02\x01\x03", &uses("BER encoding of indefinite length"), "BER");

    // Files that common programs do not write: one algorithm identifier is replaced by another.
    let replaced = |name: &str, from: &[u8], to: &[u8]| {
        let mut file = fixture(name);
        let at = file.windows(from.len()).position(|part| part == from).expect("it is there");
        file[at..at + to.len()].copy_from_slice(to);
        file
    };
    let sha256 = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
    let pbmac1 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0e];
    check_one(
        &replaced("ec-new.p12", &sha256, &pbmac1),
        &uses("PBMAC1 (1.2.840.113549.1.5.14)"),
        "PBMAC1",
    );
    let pbkdf2 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
    let scrypt = [0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b];
    check_one(
        &replaced("no-mac.p12", &pbkdf2, &scrypt),
        &uses("scrypt (1.3.6.1.4.1.11591.4.11)"),
        "scrypt",
    );
    let hmac_sha256 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x09];
    let hmac_md5 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x06];
    check_one(
        &replaced("no-mac.p12", &hmac_sha256, &hmac_md5),
        &uses("the algorithm 1.2.840.113549.2.6"),
        "HMAC",
    );
}

fn check_one(file: &[u8], message: &str, name: &str) {
    let error = open(file, PASSWORD).expect_err(name);
    assert_eq!(error.to_string(), message, "{name}");
}

#[test]
fn a_file_that_is_not_pkcs12_is_refused() {
    let message = "the file is not PKCS#12, or is incomplete; send the whole .pfx or .p12 file in DER encoding";
    check(&[("certificate.cer", PASSWORD, message)]);
    for bytes in [&b""[..], b"0", b"\x30\x00", b"-----BEGIN CERTIFICATE-----", &[0xff; 100]] {
        check_one(bytes, message, "bytes");
    }
    let mut longer = fixture("ec-new.p12");
    longer.push(0);
    check_one(&longer, message, "a byte too many");
}

#[test]
fn text_that_is_not_base64_is_refused() {
    let whole = STANDARD.encode(fixture("ec-new.p12"));
    for text in ["-----BEGIN PKCS12-----", "é", "abc", &whole[1..]] {
        let error = open_base64(text, PASSWORD).unwrap_err();
        assert_eq!(error, PfxError::NotBase64, "{text}");
    }
    assert_eq!(
        PfxError::NotBase64.to_string(),
        "the file is not base64; encode the bytes of the .pfx or .p12 file, without header lines"
    );
    assert_eq!(open_base64("", PASSWORD).unwrap_err(), PfxError::NotPkcs12);
}

#[test]
fn a_file_above_the_maximum_size_is_refused() {
    let message = "the file has 65537 bytes, and at most 65536 are allowed; \
                   export one certificate with its chain and its key";
    check_one(&vec![0x30; FILE_BYTES_MAX + 1], message, "bytes");
    assert_eq!(open(&vec![0x30; FILE_BYTES_MAX], PASSWORD).unwrap_err(), PfxError::NotPkcs12);

    // The same limit in base64, where white space does not count.
    let sized = |bytes| open_base64(&STANDARD.encode(vec![0x30; bytes]), PASSWORD).unwrap_err();
    assert_eq!(sized(FILE_BYTES_MAX), PfxError::NotPkcs12);
    assert_eq!(sized(FILE_BYTES_MAX + 1), PfxError::TooLarge { bytes: FILE_BYTES_MAX + 1 });
    assert!(matches!(sized(2 * FILE_BYTES_MAX), PfxError::TooLarge { .. }));
    let spaced = format!("{}{}", " ".repeat(2 * FILE_BYTES_MAX), STANDARD.encode([0x30; 3]));
    assert_eq!(open_base64(&spaced, PASSWORD).unwrap_err(), PfxError::NotPkcs12);
}

#[test]
fn a_file_with_too_many_iterations_is_refused_before_they_run() {
    let message = "the file needs 3000000 iterations of key derivation, and at most 1000000 are \
                   allowed; export it again with fewer";
    check(&[
        ("iterations-mac.p12", PASSWORD, message),
        ("iterations-certificate.p12", PASSWORD, message),
    ]);
}

#[test]
fn no_message_contains_the_password() {
    let secret = "planted-secret";
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).unwrap()
    {
        let file = std::fs::read(entry.unwrap().path()).unwrap();
        if let Err(error) = open(&file, secret) {
            assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
        }
    }
}
