//! Secrets of the server itself: the key that seals job secrets, and the tokens of callers.

mod key;
mod private_file;
mod token;

pub(super) use key::{check_key, open_sealer, temporary_sealer};
pub(super) use private_file::{read as read_private_file, write as write_private_file};
pub(super) use token::{GeneratedToken, TokenFile, access_of};
