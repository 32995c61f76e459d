//! What the program was built from, as `--version` and `GET /healthz` report it.

/// The version of the program and of the parts that matter for support.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The version of Minutehand.
    pub version: &'static str,
    /// The commit it was built from, or `unknown` for a source archive.
    pub commit: &'static str,
    /// The embedded store and its version.
    pub store: &'static str,
}

/// The build of this program; `build.rs` sets the commit and the store.
pub const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: env!("MINUTEHAND_COMMIT"),
    store: env!("MINUTEHAND_STORE"),
};

/// What a backup says of the program that wrote it.
pub(crate) fn written_by() -> String {
    format!("minutehand {}", BUILD.version)
}
