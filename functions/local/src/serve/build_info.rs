//! What the program was built from, as `--version` and `GET /healthz` report it.

/// The version of Minutehand.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit it was built from, or `unknown` for a source archive; `build.rs` sets it.
pub const COMMIT: &str = env!("MINUTEHAND_COMMIT");

/// The library that stores everything, and its version.
#[must_use]
pub fn store_version() -> String {
    format!("SQLite {}", minutehand_store_sql::sqlite::version())
}

/// What a backup says of the program that wrote it.
pub(crate) fn written_by() -> String {
    format!("minutehand {VERSION}")
}
