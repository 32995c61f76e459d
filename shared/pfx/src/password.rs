//! A password in the forms that key derivation takes.

use zeroize::Zeroizing;

/// A password, ready for both kinds of key derivation.
pub(crate) struct Password<'a> {
    /// For PBES2.
    pub(crate) utf8: &'a [u8],
    /// For what PKCS#12 defines itself: UTF-16 in network order, with a final zero.
    ///
    /// Characters outside the first plane are surrogate pairs, as Windows and OpenSSL write them.
    pub(crate) utf16: Zeroizing<Vec<u8>>,
}

impl<'a> Password<'a> {
    /// The readings of a password: one, but two of an empty one.
    ///
    /// No password may be an empty text with its final zero, or no bytes at all; programs write
    /// either, and a user cannot know which.
    pub(crate) fn readings(text: &'a str) -> Vec<Self> {
        // All at once: memory that a growing vector leaves behind is not cleared.
        let mut utf16 = Zeroizing::new(Vec::with_capacity(2 * text.len() + 2));
        utf16.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        utf16.extend([0, 0]);

        let mut readings = vec![Self { utf8: text.as_bytes(), utf16 }];
        if text.is_empty() {
            readings.push(Self { utf8: &[], utf16: Zeroizing::default() });
        }
        readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_utf_16_with_a_final_zero() {
        let of = |text| -> Vec<Vec<u8>> {
            Password::readings(text).iter().map(|password| password.utf16.to_vec()).collect()
        };
        assert_eq!(of("Ab"), [vec![0, b'A', 0, b'b', 0, 0]]);
        assert_eq!(of("é🔑"), [vec![0, 0xe9, 0xd8, 0x3d, 0xdd, 0x11, 0, 0]]);
        assert_eq!(of(""), [vec![0, 0], vec![]]);
    }
}
