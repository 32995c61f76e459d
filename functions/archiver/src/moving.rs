//! Moving an installation, as an operator asks: an export into the archive's bucket, and an import from
//! there. See `carry` for both, and for what a crash leaves.
//!
//! The key of a file comes with the request, encrypted with the KMS key of the installation: in no log and
//! in no event is it plain.
//!
//! | what happens | what comes of it |
//! |---|---|
//! | the time of the invocation is nearly over during an export | an error, and files without a manifest, which are not backup |
//! | the same during an import | an answer that says where the same request goes on |
//! | the function ends, or Lambda hands over the request twice | the same request goes on |

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_archive::{BackupAbout, SealedWith, backup_name};
use minutehand_carry::{
    Backup, CARRIED_KINDS, Export, Import, ImportHow, MoveFailed, Resealing, Watcher,
};
use minutehand_domain::ids::unhex;
use minutehand_ports::{Clock, SealError, Sealer};
use minutehand_sealer_aes::{AesSealer, KEY_BYTES};
use minutehand_sealer_kms::KmsSealer;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::Function;
use crate::backup::WRITTEN_BY;
use crate::event::{ExportRequest, ImportRequest};

/// What a move leaves of its time: an export to write its last file, an import to bring one.
const RESERVE: TimeDelta = TimeDelta::minutes(2);
/// The most names of collections in an answer.
const NAMES_MAX: usize = 1_000;

/// An installation was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MovingFailed {
    /// This function may not.
    #[error("nothing is moved here: deploy with Moving=yes")]
    NotMade,
    /// The key in the request is none.
    #[error(
        "'key' is not a key: give the file of --seal-to, encrypted with the key of the stack in the context \
         minutehand=secrets, in base64"
    )]
    NotAKey,
    /// The key of the installation does not answer.
    #[error("cannot open 'key'")]
    Key(#[source] SealError),
    /// The export or the import failed.
    #[error(transparent)]
    Move(#[from] MoveFailed),
}

/// Ends a move in time.
struct Until<'a> {
    clock: &'a dyn Clock,
    until: DateTime<Utc>,
}

impl Watcher for Until<'_> {
    fn note(&self, text: &str) {
        tracing::info!("{text}");
    }

    fn is_over(&self) -> bool {
        self.clock.work_now() >= self.until - RESERVE
    }
}

impl Function {
    /// Writes an export into the archive's bucket.
    pub(crate) async fn export(
        &self,
        ExportRequest { key }: &ExportRequest,
        until: DateTime<Utc>,
    ) -> Result<Value, MovingFailed> {
        let (installation, file) = self.keys(key.as_deref()).await?;
        let sealed_with =
            if file.is_some() { SealedWith::KeyFile } else { SealedWith::Installation };
        let about = BackupAbout {
            at: self.clock.now(),
            written_by: WRITTEN_BY.to_owned(),
            sealed_with,
            schedule_of: None,
        };
        let export = Export {
            store: &self.jobs,
            objects: &self.objects,
            resealing: &Resealing::of_export(installation, file),
            watcher: &Until { clock: &*self.clock, until },
        };
        let exported = export.run(about).await?;
        let manifest = exported.manifest;
        let [_, collections, jobs, retries, _] = CARRIED_KINDS.map(|kind| manifest.count(kind));
        Ok(json!({
            "backup": backup_name(manifest.about.at),
            "collections": collections,
            "jobs": jobs,
            "retries": retries,
            "secrets": manifest.secrets,
            "unreadable": exported.unreadable.len(),
            "on": names(exported.on),
        }))
    }

    /// Imports a backup of the archive's bucket, until the time is over. The answer says where to go on.
    pub(crate) async fn import(
        &self,
        ImportRequest { backup, key, merge, from }: &ImportRequest,
        until: DateTime<Utc>,
    ) -> Result<Value, MovingFailed> {
        let (installation, file) = self.keys(key.as_deref()).await?;
        let (objects, now) = (&self.objects, self.clock.now());
        let watcher = &Until { clock: &*self.clock, until };
        let backup = &Backup::choose(objects, Some(backup), watcher).await?;
        backup.check_key(file.is_some())?;
        let members = backup.check(objects, now, watcher).await?;
        let resealing = &Resealing::of_import(file, installation);
        let import = Import { objects, backup, store: &self.jobs, resealing, watcher, now };
        let imported = import.run(members, ImportHow { merge: *merge, from: *from }).await?;
        let collections = imported.collections.len();
        let on =
            imported.collections.into_iter().filter_map(|(path, was_on)| was_on.then_some(path));
        Ok(json!({
            "backup": backup.name(),
            "collections": collections,
            "jobs": imported.jobs,
            "retries": imported.retries,
            "on": names(on.collect()),
            "next": imported.next,
        }))
    }

    /// The key of the installation, and that of a file, if there is one.
    async fn keys(
        &self,
        key: Option<&str>,
    ) -> Result<(Arc<dyn Sealer>, Option<Arc<dyn Sealer>>), MovingFailed> {
        let kms = self.moving.clone().ok_or(MovingFailed::NotMade)?;
        let file = match key {
            Some(key) => Some(Arc::new(file_key(&kms, key).await?) as Arc<dyn Sealer>),
            None => None,
        };
        Ok((kms, file))
    }
}

/// The key in a file that KMS has encrypted.
async fn file_key(kms: &KmsSealer, key: &str) -> Result<AesSealer, MovingFailed> {
    let encrypted = STANDARD.decode(key).map_err(|_| MovingFailed::NotAKey)?;
    let text = kms.decrypted_bytes(&encrypted).await.map_err(|error| match error {
        SealError::NotOurs => MovingFailed::NotAKey,
        error @ SealError::NoKey(_) => MovingFailed::Key(error),
    })?;
    let text = std::str::from_utf8(&text).ok().map(str::trim);
    let bytes = Zeroizing::new(text.and_then(unhex).ok_or(MovingFailed::NotAKey)?);
    let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).map_err(|_| MovingFailed::NotAKey)?;
    Ok(AesSealer::new(&Zeroizing::new(key)))
}

/// The names of collections, as many as an answer has, and how many there are.
fn names(mut all: Vec<String>) -> Value {
    let count = all.len();
    all.truncate(NAMES_MAX);
    json!({"count": count, "names": all})
}
