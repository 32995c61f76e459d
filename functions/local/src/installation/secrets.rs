//! How the secrets of an installation get from one key to another. Plain, they are in memory only, one
//! after the other.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use minutehand_carry::sealed;
use minutehand_ports::store::Carried;
use minutehand_ports::{SealError, Sealer};
use zeroize::Zeroizing;

/// From one key to another.
pub(super) struct Resealing {
    /// What opens them; `None` if its key is not known here.
    pub(super) from: Option<Arc<dyn Sealer>>,
    /// What seals them; `None` if they stay as they are.
    pub(super) to: Option<Arc<dyn Sealer>>,
    /// What to say if the first key does not open them.
    pub(super) wrong_key: &'static str,
    /// What to say if the first key is not known.
    pub(super) no_key: &'static str,
}

impl Resealing {
    /// Checks that the secrets of something can be opened.
    pub(super) async fn check(&self, carried: &mut Carried) -> Result<()> {
        match sealed(carried) {
            Some((uid, sealed)) => self.open(uid, sealed).await.map(drop),
            None => Ok(()),
        }
    }

    /// Seals the secrets of something with the other key.
    pub(super) async fn reseal(&self, carried: &mut Carried) -> Result<()> {
        let Some(to) = &self.to else { return Ok(()) };
        if let Some((uid, sealed)) = sealed(carried) {
            let plain = self.open(uid, sealed).await?;
            *sealed = to.seal(uid, &plain).await.context("cannot seal a secret")?;
        }
        Ok(())
    }

    async fn open(&self, uid: &str, sealed: &[u8]) -> Result<Zeroizing<String>> {
        let from = self.from.as_ref().ok_or_else(|| anyhow!("{}", self.no_key))?;
        match from.open(uid, sealed).await {
            Ok(plain) => Ok(Zeroizing::new(plain)),
            Err(SealError::NotOurs) => Err(anyhow!("{}", self.wrong_key)),
            Err(error) => Err(error).context("cannot open a secret"),
        }
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::name::Name;
    use minutehand_ports::store::{JobRecord, TimerRecord};

    use super::*;
    use crate::serve::{create_key_file, read_key_file};

    fn job(sealed: Option<Vec<u8>>) -> Carried {
        let job = JobRecord {
            uid: "u".to_owned(),
            name: Name::new("j").unwrap(),
            document: "{}".to_owned(),
            sealed,
            version: 1,
            expires_at: None,
            earlier: Vec::new(),
            timer: TimerRecord {
                state: minutehand_domain::job::JobState::Disabled,
                timing: minutehand_domain::timing::Timing {
                    generation: 0,
                    anchor: None,
                    since: chrono::DateTime::UNIX_EPOCH,
                    used: 0,
                },
                timetable: None,
                counters: minutehand_domain::job::JobCounters::default(),
                due_at: None,
                is_spent: false,
            },
        };
        Carried::Job { collection_uid: "c".to_owned(), job: Box::new(job) }
    }

    #[tokio::test]
    async fn a_secret_goes_over_a_key_file_into_another_installation() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("move.key");
        let own = |name: &str| create_key_file(&folder.path().join(name)).unwrap();
        let (source, target) = (Arc::new(own("a")), Arc::new(own("b")));
        let resealing = |from: Option<Arc<dyn Sealer>>, to: Option<Arc<dyn Sealer>>| Resealing {
            from,
            to,
            wrong_key: "another key",
            no_key: "no key",
        };
        let sealed = source.seal("u", "hunter2").unwrap();
        let mut carried = job(Some(sealed));
        let to_file = Arc::new(create_key_file(&file).unwrap());
        resealing(Some(source.clone()), Some(to_file)).reseal(&mut carried).await.unwrap();
        let error = resealing(Some(target.clone()), None).check(&mut carried).await.unwrap_err();
        assert_eq!(error.to_string(), "another key");
        let from_file = Arc::new(read_key_file(&file).unwrap());
        let last = resealing(Some(from_file), Some(target.clone()));
        last.check(&mut carried).await.unwrap();
        last.reseal(&mut carried).await.unwrap();
        let (uid, sealed) = minutehand_carry::sealed(&mut carried).unwrap();
        assert_eq!(target.open(uid, sealed).unwrap(), "hunter2");
        let error = resealing(None, None).check(&mut carried).await.unwrap_err();
        assert_eq!(error.to_string(), "no key");
        resealing(None, Some(target)).reseal(&mut job(None)).await.unwrap();

        let error = create_key_file(&file).err().unwrap();
        assert!(error.to_string().contains("exists, and is never overwritten"), "{error}");
        let error = read_key_file(&folder.path().join("none")).err().unwrap();
        assert!(error.to_string().ends_with("does not exist"), "{error}");
    }
}
