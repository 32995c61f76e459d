//! The fixture files and their contents.

use std::path::Path;

/// The password of most files.
pub(crate) const PASSWORD: &str = "minutehand";

/// The thumbprints of the certificates, printed by OpenSSL.
pub(crate) const RSA: &str = "355EC0EED4DC59F994D4240A1E632B0146442901";
pub(crate) const EC: &str = "51A978930D75C2CB8B3F4F0C888E879A6AB1E2F2";
pub(crate) const ED25519: &str = "223F24C875EE866914DCB787C22A684AAD0565B3";
pub(crate) const JAVA: &str = "8BB36F6F6CE7C957139924C29EEF005464602B5E";
pub(crate) const LEAF: &str = "9056C4C657EEB0962E3E7DF5FD28B23AB5EE38AB";
pub(crate) const MAKECERT: &str = "37F61B86F8DFF522706ECC29A8651A3C8D73FA35";
pub(crate) const NAMES: &str = "D27B28742E3A261DBE5CEFF22282F84CAD00768E";

/// Reads a file in `fixtures`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
