//! Measures the disk on which the benches run.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use tempfile::TempDir;

const N_FSYNCS: usize = 300;
/// A page of the database; a small commit appends one or a few.
const PAGE: [u8; 4096] = [7; 4096];

/// Median and 99th percentile of one `fsync` after appending a page.
pub(crate) fn fsync_micros(dir: &Path) -> (u128, u128) {
    let mut file = File::create(dir.join("fsync")).expect("a new file");
    let mut micros: Vec<_> = (0..N_FSYNCS)
        .map(|_| {
            file.write_all(&PAGE).expect("an appended page");
            let start = Instant::now();
            file.sync_data().expect("an fsync");
            start.elapsed().as_micros()
        })
        .collect();
    micros.sort_unstable();
    let at = |percent| micros.get(N_FSYNCS * percent / 100).copied().unwrap_or_default();
    (at(50), at(99))
}

/// A directory in the build folder: the system's temporary folder may be in memory, where an `fsync`
/// costs nothing.
pub(crate) fn new_dir() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a new directory")
}
