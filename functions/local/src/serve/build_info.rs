//! What the program was built from, as `--version` and `GET /healthz` report it.

/// The version of the program and of the parts that matter for support.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The version of Minutehand.
    pub version: &'static str,
    /// The commit it was built from, or `unknown` for a source archive.
    pub commit: &'static str,
}

/// The build of this program; `build.rs` sets the commit.
pub const BUILD: Build =
    Build { version: env!("CARGO_PKG_VERSION"), commit: env!("MINUTEHAND_COMMIT") };

impl Build {
    /// The library that stores everything, and its version.
    #[must_use]
    pub fn store(&self) -> String {
        format!("SQLite {}", minutehand_store_sql::sqlite::version())
    }
}

/// What a backup says of the program that wrote it.
pub(crate) fn written_by() -> String {
    format!("minutehand {}", BUILD.version)
}
