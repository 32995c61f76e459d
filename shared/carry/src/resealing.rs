//! How the secrets of an installation get from one key to another. Plain, they are in memory only, one
//! after the other.

use std::sync::Arc;

use minutehand_ports::store::Carried;
use minutehand_ports::{SealError, Sealer};
use zeroize::Zeroizing;

use crate::failed::{MoveFailed, SecretFailed};
use crate::line::sealed;
use crate::names::name_of;

/// From one key to another.
pub struct Resealing {
    /// What opens them.
    pub from: Arc<dyn Sealer>,
    /// What seals them; `None` if they stay as they are.
    pub to: Option<Arc<dyn Sealer>>,
    /// What to say if the first key does not open them.
    pub wrong_key: &'static str,
}

impl Resealing {
    /// How the secrets of an installation get into an export, sealed with the key of a file if there is one.
    #[must_use]
    pub const fn of_export(installation: Arc<dyn Sealer>, file: Option<Arc<dyn Sealer>>) -> Self {
        Self {
            from: installation,
            to: file,
            wrong_key: "the key of the installation does not open its secrets",
        }
    }

    /// How the secrets of an export get under the key of the target. Without a key of a file they have it.
    #[must_use]
    pub fn of_import(file: Option<Arc<dyn Sealer>>, target: Arc<dyn Sealer>) -> Self {
        match file {
            Some(file) => Self {
                from: file,
                to: Some(target),
                wrong_key: "the key in the file of --unseal-with is not the one of this export",
            },
            None => Self {
                from: target,
                to: None,
                wrong_key: "the secrets of this export are sealed with another key than the target's: export \
                            with --seal-to FILE, and import with --unseal-with FILE",
            },
        }
    }

    /// Checks that the secrets of something can be opened.
    ///
    /// # Errors
    ///
    /// If they cannot.
    pub async fn check(&self, carried: &mut Carried) -> Result<(), MoveFailed> {
        let checked = match sealed(carried) {
            Some((uid, sealed)) => self.open(&uid, sealed).await.map(drop),
            None => Ok(()),
        };
        checked.map_err(|why| MoveFailed::Secret { of: name_of(carried), why })
    }

    /// Seals the secrets of something with the other key.
    ///
    /// # Errors
    ///
    /// If they cannot be opened or sealed.
    pub async fn reseal(&self, carried: &mut Carried) -> Result<(), MoveFailed> {
        let Some(to) = &self.to else { return Ok(()) };
        let resealed = match sealed(carried) {
            Some((uid, sealed)) => self.anew(to.as_ref(), &uid, sealed).await,
            None => Ok(()),
        };
        resealed.map_err(|why| MoveFailed::Secret { of: name_of(carried), why })
    }

    async fn anew(
        &self,
        to: &dyn Sealer,
        uid: &str,
        sealed: &mut Vec<u8>,
    ) -> Result<(), SecretFailed> {
        let plain = self.open(uid, sealed).await?;
        *sealed = to.seal(uid, &plain).await.map_err(SecretFailed::Seal)?;
        Ok(())
    }

    async fn open(&self, uid: &str, sealed: &[u8]) -> Result<Zeroizing<String>, SecretFailed> {
        match self.from.open(uid, sealed).await {
            Ok(plain) => Ok(Zeroizing::new(plain)),
            Err(SealError::NotOurs) => Err(SecretFailed::WrongKey(self.wrong_key)),
            Err(error) => Err(SecretFailed::Open(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::collection::{Collection, CollectionDefinition};
    use minutehand_domain::name::{Name, PathSegment};
    use minutehand_ports::store::{CollectionRecord, ResourceGroup};
    use minutehand_sealer_aes::AesSealer;

    use super::*;

    fn key() -> Arc<AesSealer> {
        Arc::new(AesSealer::new(&AesSealer::new_key().unwrap()))
    }

    fn collection(sealed: Option<Vec<u8>>) -> Carried {
        let segment = |text| PathSegment::new(text).unwrap();
        Carried::Collection(Box::new(CollectionRecord {
            place: ResourceGroup { subscription: segment("s"), group: segment("g") },
            collection: Collection {
                uid: "u".to_owned(),
                name: Name::new("jc").unwrap(),
                definition: CollectionDefinition::default(),
            },
            job_count: 0,
            on_since: CollectionRecord::NEVER_SWITCHED,
            sealed,
            state_since: None,
            label: None,
            version: 1,
        }))
    }

    #[tokio::test]
    async fn a_secret_goes_over_a_key_file_into_another_installation() {
        let (source, file, target) = (key(), key(), key());
        let mut carried = collection(Some(source.seal("u", "hunter2").unwrap()));
        let export = Resealing::of_export(source, Some(file.clone()));
        export.reseal(&mut carried).await.unwrap();
        for (stranger, why) in [
            (Resealing::of_import(None, target.clone()), "another key than the target's"),
            (Resealing::of_import(Some(key()), target.clone()), "is not the one of this export"),
        ] {
            let error = stranger.check(&mut carried).await.unwrap_err();
            assert_eq!(error.to_string(), "collection 's/g/jc'");
            let MoveFailed::Secret { why: SecretFailed::WrongKey(said), .. } = error else {
                panic!("{error:?}")
            };
            assert!(said.contains(why), "{said}");
        }
        let import = Resealing::of_import(Some(file), target.clone());
        import.check(&mut carried).await.unwrap();
        import.reseal(&mut carried).await.unwrap();
        let (uid, sealed) = sealed(&mut carried).unwrap();
        assert_eq!(target.open(&uid, sealed).unwrap(), "hunter2");
    }

    #[tokio::test]
    async fn what_has_no_secret_needs_no_key() {
        let none = Resealing::of_import(Some(key()), key());
        let mut carried = collection(None);
        none.check(&mut carried).await.unwrap();
        none.reseal(&mut carried).await.unwrap();
        assert_eq!(carried, collection(None));
    }
}
