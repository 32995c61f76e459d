//! Truncated and modified files never cause a panic, a long wait or a wrong answer.

use minutehand_pfx::{PfxError, open};

use crate::fixtures::{EC, PASSWORD, fixture};

/// The bits to flip in a byte: the lowest, the highest, and all.
const FLIPS: [u8; 3] = [0x01, 0x80, 0xff];

/// Returns the file with one byte modified.
fn flipped(file: &[u8], at: usize, by: u8) -> Vec<u8> {
    let mut altered = file.to_vec();
    altered[at] ^= by;
    altered
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
    for name in ["rsa-old.p12", "chain.p12", "recorded.p12"] {
        let file = fixture(name);
        for length in 0..file.len() {
            let error = open(&file[..length], PASSWORD).expect_err(name);
            assert_eq!(error, PfxError::NotPkcs12, "{name} of {length} bytes");
        }
    }
}

#[test]
fn a_modified_file_is_refused_or_gives_the_same_certificate() {
    let file = fixture("one-round.p12");
    let mut wrong = 0;
    for by in FLIPS {
        for at in 0..file.len() {
            match open(&flipped(&file, at, by), PASSWORD) {
                Ok(opened) => assert_eq!(opened.thumbprint, EC, "byte {at} by {by:#x}"),
                Err(PfxError::WrongPassword) => wrong += 1,
                Err(_) => {}
            }
        }
    }
    assert!(wrong > file.len(), "the MAC covers most of the file: {wrong}");
}

#[test]
fn a_modified_file_without_a_mac_does_no_harm() {
    // Without a MAC, no check protects the plain and the decrypted parts from modified bytes.
    for name in ["no-mac.p12", "unencrypted-no-mac.p12"] {
        let file = fixture(name);
        for by in FLIPS {
            for at in 0..file.len() {
                if let Ok(opened) = open(&flipped(&file, at, by), PASSWORD) {
                    assert_eq!(opened.thumbprint.len(), EC.len());
                }
            }
        }
    }
}

#[test]
fn random_bytes_are_refused() {
    // The bytes come from a linear congruential generator and follow a valid header.
    let mut state = 1_u32;
    for length in (0_u16..2_000).step_by(7) {
        let mut file = vec![0x30, 0x82];
        file.extend(length.to_be_bytes());
        file.extend([0x02, 0x01, 0x03, 0x30]);
        file.extend((0..length).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        }));
        assert_eq!(open(&file, PASSWORD).unwrap_err(), PfxError::NotPkcs12);
    }
}

#[test]
fn deeply_nested_sequences_are_refused() {
    // Sequences in sequences, about as deep as the largest file allows.
    let mut file = Vec::new();
    for _ in 0..10_000 {
        file.splice(0..0, [0x30, 0x84, 0, 0, 0, 0]);
        let length = u32::try_from(file.len() - 6).unwrap().to_be_bytes();
        file[2..6].copy_from_slice(&length);
        if file.len() > 60_000 {
            break;
        }
    }
    assert_eq!(open(&file, PASSWORD).unwrap_err(), PfxError::NotPkcs12);
}
