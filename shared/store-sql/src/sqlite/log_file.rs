//! Reads SQLite's write-ahead log as a file, without SQLite.
//!
//! The log begins with a header of 32 bytes, with two salts. A frame follows for each page that was
//! written: 24 bytes about it, then the page. A frame counts if it has the salts of the header and a
//! checksum over everything before it; the last frame of a commit says how large the database is then.
//! When the log begins anew, its first salt is one greater. All of that is fixed by SQLite's file format.

use std::io::{self, BufReader, Read};

/// The length of the header.
pub(super) const HEADER_BYTES: usize = 32;
/// The length of what stands before each page.
pub(super) const FRAME_BYTES: usize = 24;

/// The magic numbers, of which the last bit tells the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;

/// Where the first page of a database has the number of its last commit: SQLite's `user_version`.
pub(super) const NUMBER_AT: usize = 60;

/// The largest page that SQLite has.
const PAGE_BYTES_MAX: u32 = 65_536;

/// Tells a log from the logs before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Salt {
    /// One greater with each new log.
    pub counter: u32,
    /// Random.
    pub random: u32,
}

impl Salt {
    /// Whether a log of this salt began after the log of another one.
    #[must_use]
    pub const fn is_later_than(self, other: Self) -> bool {
        // The counter begins at a random number and wraps.
        let ahead = self.counter.wrapping_sub(other.counter);
        ahead != 0 && ahead < u32::MAX / 2
    }
}

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHeader {
    /// The salts.
    pub salt: Salt,
    page_bytes: u32,
    is_big_endian: bool,
    checksum: [u32; 2],
}

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogContent {
    /// The salts; `None` if the file is empty, or its header is damaged, so that SQLite ignores it.
    pub salt: Option<Salt>,
    /// The length of the file.
    pub bytes: u64,
    /// The numbers of its first and its last commit; `None` if it holds none.
    pub commits: Option<(u32, u32)>,
}

impl LogHeader {
    /// Reads a header; `None` if it is not one.
    #[must_use]
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| word(bytes, at);
        let (magic, page_bytes) = (word(0)?, word(8)?);
        let is_big_endian = magic & 1 == 1;
        let checksum = add([0, 0], bytes.get(..24)?, is_big_endian);
        let is_header = magic & !1 == MAGIC
            && page_bytes.is_power_of_two()
            && (512..=PAGE_BYTES_MAX).contains(&page_bytes)
            && checksum == [word(24)?, word(28)?];
        let salt = Salt { counter: word(16)?, random: word(20)? };
        is_header.then_some(Self { salt, page_bytes, is_big_endian, checksum })
    }
}

/// Reads a log from its beginning to its last valid frame. `bytes` is the length of the file.
///
/// # Errors
///
/// If the file cannot be read.
pub fn read_log(log: impl Read, bytes: u64) -> io::Result<LogContent> {
    let mut log = BufReader::with_capacity(1024 * 1024, log);
    let mut content = LogContent { salt: None, bytes, commits: None };
    let mut header = [0; HEADER_BYTES];
    if !fill(&mut log, &mut header)? {
        return Ok(content);
    }
    let Some(header) = LogHeader::read(&header) else { return Ok(content) };
    content.salt = Some(header.salt);
    let mut checksum = header.checksum;
    let mut about = [0; FRAME_BYTES];
    let mut page = vec![0; header.page_bytes as usize];
    // The number of the commit that is being read, once its first page was seen.
    let mut number = None;
    // Bounded by the length of the file.
    while fill(&mut log, &mut about)? && fill(&mut log, &mut page)? {
        let frame = Frame::read(&about, &page, &header, checksum);
        let Some(frame) = frame.filter(|frame| frame.salt == header.salt) else { break };
        if !frame.is_valid {
            break;
        }
        checksum = frame.checksum;
        number = frame.number.or(number);
        if frame.is_commit {
            // A commit without the first page has the number of the one before.
            let last = number.take().or(content.commits.map(|(_, last)| last));
            content.commits =
                last.map(|last| (content.commits.map_or(last, |(first, _)| first), last));
        }
    }
    Ok(content)
}

/// What stands before a page, and what follows from the page.
struct Frame {
    salt: Salt,
    is_valid: bool,
    is_commit: bool,
    checksum: [u32; 2],
    /// The number in the first page of the database, if this is that page.
    number: Option<u32>,
}

impl Frame {
    fn read(about: &[u8], page: &[u8], header: &LogHeader, before: [u32; 2]) -> Option<Self> {
        let checksum = add(before, about.get(..8)?, header.is_big_endian);
        let checksum = add(checksum, page, header.is_big_endian);
        let is_first_page = word(about, 0)? == 1;
        Some(Self {
            salt: Salt { counter: word(about, 8)?, random: word(about, 12)? },
            is_valid: checksum == [word(about, 16)?, word(about, 20)?],
            is_commit: word(about, 4)? != 0,
            checksum,
            number: if is_first_page { word(page, NUMBER_AT) } else { None },
        })
    }
}

/// SQLite's checksum, continued over more bytes, whose number is divisible by eight.
fn add([mut first, mut second]: [u32; 2], bytes: &[u8], is_big_endian: bool) -> [u32; 2] {
    for eight in bytes.chunks_exact(8) {
        let ([one, two], _) = eight.as_chunks::<4>() else { continue };
        let read = if is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        let (one, two) = (read(*one), read(*two));
        first = first.wrapping_add(one).wrapping_add(second);
        second = second.wrapping_add(two).wrapping_add(first);
    }
    [first, second]
}

/// A number of four bytes, the greatest first.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// Fills a buffer; `false` if the file ends before.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::Path;

    use rusqlite::Connection;

    fn database(dir: &Path) -> Connection {
        let connection = Connection::open(dir.join("a.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT) STRICT").unwrap();
        connection
    }

    fn commit(connection: &Connection, number: u32) {
        let transaction = connection.unchecked_transaction().unwrap();
        connection.execute("INSERT INTO t (v) VALUES (?1)", ["x".repeat(5_000)]).unwrap();
        connection.pragma_update(None, "user_version", number).unwrap();
        transaction.commit().unwrap();
    }

    fn log(dir: &Path) -> Vec<u8> {
        std::fs::read(dir.join("a.db-wal")).unwrap()
    }

    fn content(bytes: &[u8]) -> LogContent {
        read_log(bytes, bytes.len() as u64).unwrap()
    }

    #[test]
    fn a_log_tells_the_numbers_of_its_commits_up_to_the_first_damage() {
        let dir = tempfile::tempdir().unwrap();
        let connection = database(dir.path());
        let mut ends = Vec::new();
        for number in 5..9 {
            commit(&connection, number);
            ends.push(log(dir.path()).len());
        }
        let whole = log(dir.path());
        // The table was created by a commit with the number 0.
        assert_eq!(content(&whole).commits, Some((0, 8)));
        for (cut, last) in [(ends[2], 7), (ends[2] - 1, 6), (ends[1] + 100, 6), (ends[0], 5)] {
            assert_eq!(content(&whole[..cut]).commits, Some((0, last)), "{cut}");
        }
        let mut damaged = whole.clone();
        damaged[ends[1] + 200] ^= 1;
        assert_eq!(content(&damaged).commits, Some((0, 6)));
        for empty in [&whole[..0], &whole[..31], &[0; 4096][..]] {
            assert_eq!((content(empty).salt, content(empty).commits), (None, None));
        }
        assert!(content(&whole[..32]).salt.is_some());
    }

    #[test]
    fn a_log_that_begins_anew_has_a_later_salt_and_none_of_the_old_commits() {
        let dir = tempfile::tempdir().unwrap();
        let connection = database(dir.path());
        for number in 1..5 {
            commit(&connection, number);
        }
        let before = content(&log(dir.path()));
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        commit(&connection, 5);
        let after = content(&log(dir.path()));
        let [before_salt, after_salt] = [before, after].map(|content| content.salt.unwrap());
        assert!(after_salt.is_later_than(before_salt) && !before_salt.is_later_than(after_salt));
        assert!(!after_salt.is_later_than(after_salt));
        // The frames of the log before are still behind it.
        assert_eq!(after.bytes, before.bytes);
        assert_eq!(after.commits, Some((5, 5)));
    }
}
