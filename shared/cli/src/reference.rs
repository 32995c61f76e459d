//! Names of collections and jobs, as a person writes them.

use minutehand_client::{CollectionPath, GroupPath, JobPath};

use crate::failure::{Failure, Result};

/// The collection that is used, and made, if no other is named.
pub(crate) const COLLECTION_DEFAULT: &str = "default";

/// What is used for the parts that a name leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Defaults {
    pub(crate) place: GroupPath,
    /// The collection of the context.
    pub(crate) collection: Option<String>,
}

impl Defaults {
    /// Reads `[subscription/group/]collection`; nothing is the collection of the context.
    pub(crate) fn collection(&self, written: Option<&str>) -> Result<CollectionPath> {
        let parts: Vec<&str> = written.map(|text| text.split('/').collect()).unwrap_or_default();
        match parts[..] {
            [] => Ok(self.in_place(self.collection.as_deref().unwrap_or(COLLECTION_DEFAULT))),
            [collection] if !collection.is_empty() => Ok(self.in_place(collection)),
            [subscription, group, collection] if all_given(&parts) => {
                Ok(path(subscription, group, collection))
            }
            _ => Err(not_a_name(
                written.unwrap_or_default(),
                "a collection is COLLECTION or SUBSCRIPTION/GROUP/COLLECTION",
            )),
        }
    }

    /// Reads `[[subscription/group/]collection/]job`.
    pub(crate) fn job(&self, written: &str) -> Result<JobPath> {
        let parts: Vec<&str> = written.split('/').collect();
        match parts[..] {
            [job] if all_given(&parts) => Ok(self.collection(None)?.job(job)),
            [collection, job] if all_given(&parts) => Ok(self.in_place(collection).job(job)),
            [subscription, group, collection, job] if all_given(&parts) => {
                Ok(path(subscription, group, collection).job(job))
            }
            _ => Err(not_a_name(
                written,
                "a job is JOB, COLLECTION/JOB or SUBSCRIPTION/GROUP/COLLECTION/JOB",
            )),
        }
    }

    /// Reads the name of a collection, or of a job if it has two or four parts.
    pub(crate) fn collection_or_job(
        &self,
        written: &str,
    ) -> Result<(CollectionPath, Option<String>)> {
        if matches!(written.split('/').count(), 2 | 4) {
            let JobPath { collection, job } = self.job(written)?;
            return Ok((collection, Some(job)));
        }
        Ok((self.collection(Some(written))?, None))
    }

    /// Whether a name of a job leaves its collection to the default.
    pub(crate) fn is_default_collection(&self, path: &CollectionPath) -> bool {
        self.collection.is_none()
            && path.place == self.place
            && path.collection == COLLECTION_DEFAULT
    }

    /// A job in as few words as lead to it.
    pub(crate) fn short_job(&self, job: &JobPath) -> String {
        format!("{}/{}", self.short_collection(&job.collection), job.job)
    }

    /// A collection in as few words as lead to it.
    pub(crate) fn short_collection(&self, path: &CollectionPath) -> String {
        if path.place == self.place { path.collection.clone() } else { path.to_string() }
    }

    /// A collection of the subscription, in any of its groups.
    pub(crate) fn in_group(&self, group: &str, collection: &str) -> CollectionPath {
        path(&self.place.subscription, group, collection)
    }

    fn in_place(&self, collection: &str) -> CollectionPath {
        CollectionPath { place: self.place.clone(), collection: collection.to_owned() }
    }
}

/// The path of a collection.
pub(crate) fn path(subscription: &str, group: &str, collection: &str) -> CollectionPath {
    let place = GroupPath { subscription: subscription.to_owned(), group: group.to_owned() };
    CollectionPath { place, collection: collection.to_owned() }
}

fn all_given(parts: &[&str]) -> bool {
    parts.iter().all(|part| !part.is_empty())
}

fn not_a_name(written: &str, form: &str) -> Failure {
    Failure::refused(format!("'{written}' is not a name: {form}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults(collection: Option<&str>) -> Defaults {
        let place = GroupPath { subscription: "me".to_owned(), group: "dev".to_owned() };
        Defaults { place, collection: collection.map(ToOwned::to_owned) }
    }

    #[test]
    fn what_a_name_leaves_out_comes_from_the_context() {
        for (context, written, read) in [
            (None, "j", Ok("me/dev/default/j")),
            (Some("ops"), "j", Ok("me/dev/ops/j")),
            (Some("ops"), "c/j", Ok("me/dev/c/j")),
            (None, "s/g/c/j", Ok("s/g/c/j")),
            (None, "", Err(())),
            (None, "c/", Err(())),
            (None, "g/c/j", Err(())),
            (None, "a/b/c/d/e", Err(())),
        ] {
            let job = defaults(context).job(written).map(|job| job.to_string()).map_err(|_| ());
            assert_eq!(job, read.map(ToOwned::to_owned), "{written}");
        }
    }

    #[test]
    fn two_or_four_parts_name_a_job() {
        for (written, path, job) in [
            ("ops", "me/dev/ops", None),
            ("ops/report", "me/dev/ops", Some("report")),
            ("s/g/ops", "s/g/ops", None),
            ("s/g/ops/report", "s/g/ops", Some("report")),
        ] {
            let (collection, found) = defaults(None).collection_or_job(written).unwrap();
            assert_eq!((collection.to_string().as_str(), found.as_deref()), (path, job));
        }
    }

    #[test]
    fn a_short_name_leads_back_to_its_job() {
        let defaults = defaults(None);
        for written in ["default/j", "c/j", "s/g/c/j"] {
            assert_eq!(defaults.short_job(&defaults.job(written).unwrap()), written);
        }
    }
}
