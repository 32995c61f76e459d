//! The line of the key of a job that takes pings.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine as _};
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::PingKey;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PingKeyLine {
    collection: String,
    job: String,
    uid: String,
    hash: String,
    sealed: String,
}

impl PingKeyLine {
    pub(crate) fn of(job: &JobRef, key: &PingKey) -> Self {
        Self {
            collection: job.collection_uid.clone(),
            job: job.key.clone(),
            uid: job.uid.clone(),
            hash: key.hash.clone(),
            sealed: STANDARD.encode(&key.sealed),
        }
    }

    pub(crate) fn read(self) -> Result<(JobRef, PingKey), DecodeError> {
        let Self { collection: collection_uid, job: key, uid, hash, sealed } = self;
        let sealed = STANDARD.decode(sealed)?;
        Ok((JobRef { uid, collection_uid, key }, PingKey { hash, sealed }))
    }
}
