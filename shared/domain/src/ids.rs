//! Identifiers that are stored or sent: each function gives the same result for ever.

use std::fmt::Write as _;

/// A GUID of version 8, which leaves the other bits to the application, from 128 bits.
///
/// ```
/// use minutehand_domain::ids::guid;
///
/// assert_eq!(guid(0), "00000000-0000-8000-8000-000000000000");
/// ```
#[must_use]
pub fn guid(bits: u128) -> String {
    guid_of_version(0x8, bits)
}

/// A GUID of a version, from 128 bits of which six are replaced.
pub(crate) fn guid_of_version(version: u128, bits: u128) -> String {
    let variant = 0b10_u128 << 62;
    let bits = bits & !(0xf_u128 << 76) & !(0b11_u128 << 62) | version << 76 | variant;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        bits >> 80 & 0xffff,
        bits >> 64 & 0xffff,
        bits >> 48 & 0xffff,
        bits & 0xffff_ffff_ffff
    )
}

/// The hash FNV-1a of 32 bits.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// The bytes that hexadecimal digits in any case stand for; `None` for any other text.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// A path with everything percent-encoded but its slashes and what never needs it.
#[must_use]
pub fn encode_path(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            _ => {
                // A string takes every write.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guid_is_frozen() {
        assert_eq!(guid(0), "00000000-0000-8000-8000-000000000000");
        assert_eq!(guid(u128::MAX), "ffffffff-ffff-8fff-bfff-ffffffffffff");
        assert_eq!(
            guid(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
            "01234567-89ab-8def-8123-456789abcdef",
        );
    }

    #[test]
    fn encode_path_is_frozen() {
        assert_eq!(encode_path("a~b/Grün, 1/c.d/e_f-g%"), "a~b/Gr%C3%BCn%2C%201/c.d/e_f-g%25");
    }

    #[test]
    fn fnv1a_is_frozen() {
        // The hash's own test vectors.
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv1a(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn hex_is_frozen() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa5, 0xff]), "000fa5ff");
        assert_eq!(unhex("000fA5ff"), Some(vec![0x00, 0x0f, 0xa5, 0xff]));
        assert_eq!(unhex(""), Some(Vec::new()));
        for text in ["0", "0g", "é0", "0 "] {
            assert_eq!(unhex(text), None, "{text}");
        }
    }
}
