//! `--forget-secrets`: goes through everything that has secrets, and disables what the key does not open.
//!
//! It comes before anything fires and before the port is served. [`super::secrets`] has what a crash
//! leaves.

use anyhow::{Context, Result};
use minutehand_app::{AppError, Author, Manage};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::Browse as _;
use minutehand_ports::store::ResourceGroup;
use minutehand_runtime::chain;
use minutehand_store_sql::{SealedOf, SqlStore};

/// The author of these changes in the journal.
const AUTHOR: &str = "serve --forget-secrets";

/// How many were changed.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    pub(super) jobs: u64,
    pub(super) collections: u64,
}

/// Disables the jobs whose secrets do not open, takes such failure actions from collections, and names
/// each of them in the log.
pub(super) async fn forget(manage: &Manage, store: &SqlStore) -> Result<Forgotten> {
    let author = Author { who: AUTHOR.to_owned(), ..Author::default() };
    let manage = manage.on_behalf_of(author);
    let (mut forgotten, mut from) = (Forgotten::default(), None);
    // Bounded by the size of the store.
    loop {
        let (found, next) = store.sealed(from).await.context("cannot look for secrets")?;
        for it in found {
            match it.of {
                SealedOf::Job { collection_uid, name } => {
                    let path = store.collection_path(&collection_uid).await;
                    // The jobs of a deleted collection are deleted as well.
                    let Some(path) = path.context("cannot read a collection")? else { continue };
                    forgotten.jobs += forget_job(&manage, &path, &name).await?;
                }
                SealedOf::Collection(path) => {
                    forgotten.collections += forget_collection(&manage, &path).await?;
                }
            }
        }
        from = next;
        if from.is_none() {
            return Ok(forgotten);
        }
    }
}

async fn forget_job(manage: &Manage, path: &CollectionPlace, name: &Name) -> Result<u64> {
    let (place, collection) = parts(path)?;
    let changed = manage.forget_secrets_of_job((&place, &collection, name)).await;
    let job_path = format!("{path}/{name}");
    if !is_changed(changed, &job_path)? {
        return Ok(0);
    }
    tracing::warn!(
        job.path = job_path,
        "disabled, because the key of its secrets is lost: put the job again, with all of its secrets"
    );
    Ok(1)
}

async fn forget_collection(manage: &Manage, path: &CollectionPlace) -> Result<u64> {
    let (place, collection) = parts(path)?;
    let changed = manage.forget_secrets_of_collection(&place, &collection).await;
    if !is_changed(changed, path.as_str())? {
        return Ok(0);
    }
    tracing::warn!(
        collection.path = path.as_str(),
        "its failure action is removed, because the key of its secrets is lost: set onFailure again"
    );
    Ok(1)
}

/// Whether something was changed. What is gone needs no change, and what cannot be read does not run.
fn is_changed(changed: Result<bool, AppError>, path: &str) -> Result<bool> {
    match changed {
        Err(AppError::NoParent { .. } | AppError::NoCollection { .. } | AppError::NoJob { .. }) => {
            Ok(false)
        }
        Err(error @ (AppError::Unreadable { .. } | AppError::Newer { .. })) => {
            tracing::error!(path, error = chain(&error), "cannot be read, and is left as it is");
            Ok(false)
        }
        changed => changed.with_context(|| format!("cannot change '{path}'")),
    }
}

fn parts(path: &CollectionPlace) -> Result<(ResourceGroup, Name)> {
    let segment = |text: &str| PathSegment::new(text);
    let read = || {
        let group = ResourceGroup {
            subscription: segment(path.subscription())?,
            group: segment(path.group())?,
        };
        Ok::<_, minutehand_domain::refusal::Refusal>((group, Name::new(path.name())?))
    };
    read().with_context(|| format!("'{path}' is not a path of a collection"))
}
