//! The journal: an entry is added in the script of the change that it describes, so that neither is
//! stored without the other.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use minutehand_domain::journal::{
    DocumentChange, JournalEntry, PATCHES_BYTES_MAX, Patches, read_stored_kind,
};
use minutehand_domain::name::Name;
use minutehand_ports::StoreError;

use crate::script::{Row, Statement};
use crate::sql::other as sql;
use crate::value::{Columns, id, params, second};

/// The compression level. A higher one takes longer and hardly saves bytes.
const EFFORT: u8 = 6;
/// The most bytes of both patches with the brackets around them.
const UNPACKED_MAX: usize = PATCHES_BYTES_MAX + 16;

/// Adds an entry.
pub(crate) fn add(collection_uid: &str, entry: &JournalEntry) -> Statement {
    let JournalEntry { at, who, request_id, operation, job, difference, .. } = entry;
    let patches = difference.patches.as_ref().map(|Patches { there, back }| {
        let both = format!("[{there},{back}]");
        compress_to_vec(both.as_bytes(), EFFORT)
    });
    let parameters = params![
        id(collection_uid),
        *at,
        job.as_ref().map(Name::key).unwrap_or_default(),
        request_id.as_str(),
        who.as_str(),
        operation.stored(),
        job.as_ref().map(Name::as_str),
        difference.names.join("\n"),
        patches,
        second(entry.expires_at()),
        entry.stored_kind(),
    ];
    Statement::new(sql::ADD_ENTRY, parameters)
}

pub(crate) fn read(row: Row) -> Result<JournalEntry, StoreError> {
    let mut row = Columns::after_id("journal", row)?;
    let at = row.next()?;
    let _job_key: String = row.next()?;
    let (request_id, who) = (row.next()?, row.next()?);
    let operation: String = row.next()?;
    let job = row.next::<Option<String>>()?.map(|job| Name::new(&job)).transpose();
    let job = job.map_err(|error| row.corrupt(error.message))?;
    let names: String = row.next()?;
    let patches: Option<Vec<u8>> = row.next()?;
    let patches =
        patches.map(|packed| unpack(&packed).ok_or_else(|| row.corrupt("its patches are damaged")));
    let patches = patches.transpose()?;
    let kind: Option<String> = row.next()?;
    let (operation, run) = read_stored_kind(&operation, kind.as_deref())
        .ok_or_else(|| row.corrupt("its operation is none"))?;
    let names = names.lines().map(str::to_owned).collect();
    let difference = DocumentChange { names, patches };
    Ok(JournalEntry { at, who, request_id, operation, job, difference, run })
}

fn unpack(packed: &[u8]) -> Option<Patches> {
    let both = decompress_to_vec_with_limit(packed, UNPACKED_MAX).ok()?;
    let [there, back] = serde_json::from_slice(&both).ok()?;
    Some(Patches { there, back })
}
