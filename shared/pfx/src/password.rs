//! A password in the encodings of key derivation.

use zeroize::Zeroizing;

/// A password, encoded for both kinds of key derivation.
pub(crate) struct Password<'a> {
    /// The encoding for PBES2.
    pub(crate) utf8: &'a [u8],
    /// The encoding for the schemes of PKCS#12: UTF-16 in network order, with a final zero.
    ///
    /// Characters outside the first plane are surrogate pairs, as in Windows and OpenSSL.
    pub(crate) utf16: Zeroizing<Vec<u8>>,
}

impl<'a> Password<'a> {
    /// Returns the possible encodings of a password: two for an empty password, one for any other.
    ///
    /// Some programs encode an empty password as a final zero, and others as no bytes at all. A user
    /// cannot know which.
    pub(crate) fn encodings(text: &'a str) -> Vec<Self> {
        // Allocated at its full size: a vector that grows does not clear the memory it leaves.
        let mut utf16 = Zeroizing::new(Vec::with_capacity(2 * text.len() + 2));
        utf16.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        utf16.extend([0, 0]);

        let mut encodings = vec![Self { utf8: text.as_bytes(), utf16 }];
        if text.is_empty() {
            encodings.push(Self { utf8: &[], utf16: Zeroizing::default() });
        }
        encodings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_utf_16_with_a_final_zero() {
        let encode = |text| -> Vec<Vec<u8>> {
            Password::encodings(text).iter().map(|password| password.utf16.to_vec()).collect()
        };
        assert_eq!(encode("Ab"), [vec![0, b'A', 0, b'b', 0, 0]]);
        assert_eq!(encode("é🔑"), [vec![0, 0xe9, 0xd8, 0x3d, 0xdd, 0x11, 0, 0]]);
        assert_eq!(encode(""), [vec![0, 0], vec![]]);
    }
}
