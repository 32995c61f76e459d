//! The bytes of an object: lines in gzip.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The most bytes of the lines of an object that is read, unpacked.
const OBJECT_BYTES_MAX: u64 = 256 << 20;

/// The lines of an object, as far as they can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// Why there may be more that cannot be read.
    pub damage: Option<Unreadable>,
}

/// An object cannot be read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the archive's object {name} cannot be read: {why}")]
pub struct Unreadable {
    /// The object.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// Packs lines, each with its end. The same lines give the same bytes.
pub(crate) fn pack(lines: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // A vector accepts everything.
    let _ = encoder.write_all(lines);
    encoder.finish().unwrap_or_default()
}

/// Unpacks an object. Several members of gzip after each other are one object.
#[must_use]
pub fn unpack(name: &str, bytes: &[u8]) -> Contents {
    let damaged = |why: String| Some(Unreadable { name: name.to_owned(), why });
    let mut reader = BufReader::new(MultiGzDecoder::new(bytes)).take(OBJECT_BYTES_MAX);
    let mut contents = Contents::default();
    loop {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) if line.last() != Some(&b'\n') => {
                contents.damage = damaged("its last line is not complete".to_owned());
                break;
            }
            Ok(_) => {
                line.pop();
                match String::from_utf8(line) {
                    Ok(line) => contents.lines.push(line),
                    Err(_) => contents.damage = damaged("a line is not UTF-8".to_owned()),
                }
            }
            Err(error) => {
                contents.damage = damaged(format!("it is damaged or truncated: {error}"));
                break;
            }
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_reads_back_and_so_do_concatenated_ones() {
        let (one, two) = (pack(b"a\nb\n"), pack(b"c\n"));
        assert_eq!(one, pack(b"a\nb\n"));
        let contents = unpack("o", &[one, two].concat());
        assert_eq!(
            contents,
            Contents { lines: ["a", "b", "c"].map(str::to_owned).into(), damage: None }
        );
    }

    #[test]
    fn a_truncated_object_gives_what_is_left_and_the_reason() {
        let lines: Vec<String> = (0..2_000).map(|n| format!("line {}\n", n * 7919)).collect();
        let lines = lines.concat();
        let packed = pack(lines.as_bytes());
        for length in [0, 1, 9, 100, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
            let contents = unpack("o", &packed[..length]);
            assert!(contents.damage.is_some(), "{length}");
            assert!(lines.lines().zip(&contents.lines).all(|(wrote, read)| wrote == read));
        }
        let half = unpack("o", &packed[..packed.len() / 2]);
        assert!(!half.lines.is_empty(), "complete lines are not lost");
        assert!(unpack("o", b"no gzip").damage.is_some());
        assert!(unpack("o", &pack(b"a\nb")).damage.is_some());
        assert_eq!(unpack("o", &pack(b"a\n\xff\nb\n")).lines, ["a", "b"]);
    }
}
