//! `--forget-secrets`: goes through everything that has secrets, and disables what the key cannot open.
//!
//! It comes before anything fires and before the port is served. See [`super::secrets`] for what a crash
//! leaves.

use anyhow::{Context, Result};
use app::{AppError, Author, Manage};
use domain::collection_place::CollectionPlace;
use domain::name::{Name, PathSegment};
use ports::Browse as _;
use ports::store::ResourceGroup;
use sealer_aes::AesSealer;
use store_dynamodb::{DynamoStore, Sealed, SealedOf};

/// The author of these changes in the journal.
const AUTHOR: &str = "serve --forget-secrets";

/// How many there were.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    pub(super) jobs: u64,
    pub(super) collections: u64,
}

/// Disables the jobs whose secrets do not open, takes the actions for failures from collections for the
/// same reason, and says of each that it did.
pub(super) async fn forget(
    manage: Manage,
    jobs: &DynamoStore,
    sealer: &AesSealer,
) -> Result<Forgotten> {
    let author = Author { who: AUTHOR.to_owned(), ..Author::default() };
    let manage = manage.on_behalf_of(author);
    let (mut forgotten, mut from) = (Forgotten::default(), None);
    // Bounded by what the store has.
    loop {
        let page = jobs.sealed(from).await.context("cannot look for secrets")?;
        for Sealed { uid, sealed, of } in page.found {
            if sealer.open(&uid, &sealed).is_ok() {
                continue;
            }
            match of {
                SealedOf::Job { collection_uid, name } => {
                    let path = jobs.collection_path(&collection_uid).await;
                    // The jobs of a deleted collection are about to go.
                    let Some(path) = path.context("cannot read a collection")? else { continue };
                    let (place, collection) = parts(&path)?;
                    let changed = manage.forget_secrets_of_job(&place, &collection, &name).await;
                    if done(changed)
                        .with_context(|| format!("cannot disable job '{path}/{name}'"))?
                    {
                        forgotten.jobs += 1;
                        tracing::warn!(job.path = %format!("{path}/{name}"), "disabled: its secrets are lost");
                    }
                }
                SealedOf::Collection { path } => {
                    let (place, collection) = parts(&path)?;
                    let changed = manage.forget_secrets_of_collection(&place, &collection).await;
                    if done(changed)
                        .with_context(|| format!("cannot change collection '{path}'"))?
                    {
                        forgotten.collections += 1;
                        tracing::warn!(
                            collection.path = %path,
                            "its action for failures is gone: its secrets are lost"
                        );
                    }
                }
            }
        }
        from = page.next;
        if from.is_none() {
            return Ok(forgotten);
        }
    }
}

/// Whether something was changed. What is gone needs no change, and what a newer version wrote is left to
/// that one.
fn done(changed: Result<bool, AppError>) -> Result<bool> {
    match changed {
        Err(AppError::NoParent { .. } | AppError::NoCollection { .. } | AppError::NoJob { .. }) => {
            Ok(false)
        }
        changed => Ok(changed?),
    }
}

fn parts(path: &CollectionPlace) -> Result<(ResourceGroup, Name)> {
    let segment = |text: &str| PathSegment::new(text).map_err(|error| anyhow::anyhow!("{error}"));
    let (subscription, group) = (segment(path.subscription())?, segment(path.group())?);
    let name = Name::new(path.name()).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((ResourceGroup { subscription, group }, name))
}
