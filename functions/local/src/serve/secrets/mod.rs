//! Secrets of the server itself: the key that seals job secrets, and what its callers are known by.

mod certificates;
mod key;
mod private_file;
mod token;
mod watched_file;

pub(super) use certificates::CERTIFICATES;
pub(crate) use key::{KeyFound, create_key_file, read_key_file};
pub(super) use key::{SharedKey, check_key, open_sealer, remember_key, temporary_sealer};
pub(crate) use private_file::{read as read_private_file, write as write_private_file};
pub(super) use token::{GeneratedToken, TOKEN_FILE, TOKENS, access_of};
pub(super) use watched_file::{Kind, WatchedFile};
