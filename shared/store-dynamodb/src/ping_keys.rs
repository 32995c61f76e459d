//! The keys of jobs that take pings, as their jobs have them.

use minutehand_ports::StoreError;
use minutehand_ports::store::PingKey;

use crate::table::item::{Item, Reader, text};
use crate::table::{Write, keys};

/// The hash of the key, by which it is found.
pub(crate) const HASH: &str = "key_hash";
/// The key itself.
pub(crate) const SEALED: &str = "sealed";

/// What removes the key that was read of a job that goes.
pub(crate) fn forget(job_uid: &str, key: &Item) -> Result<[Write; 2], StoreError> {
    let PingKey { hash, .. } = read_key(key)?;
    let own = Write::delete(keys::ping_key(job_uid))
        .when(format!("{HASH} = :hash"))
        .with(":hash", text(&hash));
    Ok([own, Write::delete(keys::ping(&hash))])
}

pub(crate) fn read_key(item: &Item) -> Result<PingKey, StoreError> {
    let reader = Reader::new(item);
    let sealed = reader.optional_bytes(SEALED)?;
    Ok(PingKey { hash: reader.text(HASH)?.to_owned(), sealed: sealed.unwrap_or_default() })
}
