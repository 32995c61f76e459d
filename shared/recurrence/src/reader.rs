//! Reads ASCII texts from the left.

/// The bytes that are not read yet.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
}

impl Reader<'_> {
    /// Reads so many digits.
    pub(crate) fn digits(&mut self, n: usize) -> Option<i64> {
        let (digits, rest) = self.bytes.split_at_checked(n)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.bytes = rest;
        Some(digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    /// Reads a byte if it is one of these.
    pub(crate) fn take(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        if !any_of.contains(first) {
            return None;
        }
        self.bytes = rest;
        Some(*first)
    }
}
