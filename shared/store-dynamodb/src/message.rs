//! The messages of records: as text, or deflated where that saves a write unit.

use aws_sdk_dynamodb::types::AttributeValue;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use minutehand_domain::attempt::MESSAGE_BYTES_MAX;

use crate::table::item::{bytes, text};

/// The longest message that is stored as text. With it an item stays below a kilobyte, which is one
/// write unit.
const PLAIN_BYTES_MAX: usize = 700;
/// The compression level. A higher one takes longer and hardly saves bytes.
const EFFORT: u8 = 6;

/// A message as an attribute, cut to the length that history keeps.
pub(crate) fn write_message(message: &str) -> AttributeValue {
    let (kept, _) = message.split_at(message.floor_char_boundary(MESSAGE_BYTES_MAX));
    if kept.len() <= PLAIN_BYTES_MAX {
        return text(kept);
    }
    let deflated = compress_to_vec(kept.as_bytes(), EFFORT);
    if deflated.len() < kept.len() { bytes(&deflated) } else { text(kept) }
}

/// Reads a message that [`write_message`] wrote; `None` if the attribute is damaged.
pub(crate) fn read_message(value: &AttributeValue) -> Option<String> {
    if let Ok(plain) = value.as_s() {
        return Some(plain.clone());
    }
    let deflated = value.as_b().ok()?;
    let plain = decompress_to_vec_with_limit(deflated.as_ref(), MESSAGE_BYTES_MAX).ok()?;
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_deflated_and_comes_back() {
        let line = "Http Action - Response from host 'example.org': 'OK' Response Headers: \r\n";
        for (length, is_plain) in [(0, true), (700, true), (701, false), (MESSAGE_BYTES_MAX, false)]
        {
            let message: String = line.chars().cycle().take(length).collect();
            let written = write_message(&message);
            assert_eq!(written.is_s(), is_plain, "{length}");
            assert_eq!(read_message(&written), Some(message));
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_cut_between_two_characters() {
        let message = "ä".repeat(MESSAGE_BYTES_MAX);
        let kept = read_message(&write_message(&format!("x{message}"))).unwrap();
        assert_eq!(kept.len(), MESSAGE_BYTES_MAX - 1);
        assert!(kept.ends_with('ä'));
    }

    #[test]
    fn a_damaged_message_is_not_read() {
        for damaged in [bytes(&[1, 2, 3]), AttributeValue::Bool(true)] {
            assert_eq!(read_message(&damaged), None);
        }
        let bomb = compress_to_vec(&vec![b'x'; MESSAGE_BYTES_MAX + 1], EFFORT);
        assert_eq!(read_message(&bytes(&bomb)), None);
    }
}
