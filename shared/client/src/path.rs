//! The paths of collections and jobs, in Azure's API and in `/minutehand/v1`.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters of a segment that are percent-encoded.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The version of Azure's API that the client speaks.
const API_VERSION: &str = "api-version=2016-03-01";

/// A subscription and a resource group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupPath {
    /// The subscription.
    pub subscription: String,
    /// The resource group.
    pub group: String,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CollectionPath {
    /// Where the collection is.
    pub place: GroupPath,
    /// The name of the collection.
    pub collection: String,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobPath {
    /// The collection of the job.
    pub collection: CollectionPath,
    /// The name of the job.
    pub job: String,
}

impl GroupPath {
    pub(crate) fn v1(&self) -> String {
        let (subscription, group) = (escaped(&self.subscription), escaped(&self.group));
        format!("/minutehand/v1/subscriptions/{subscription}/resourceGroups/{group}")
    }

    fn arm(&self) -> String {
        let (subscription, group) = (escaped(&self.subscription), escaped(&self.group));
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Scheduler/\
             jobCollections"
        )
    }

    pub(crate) fn arm_path(&self) -> String {
        format!("{}?{API_VERSION}", self.arm())
    }
}

impl CollectionPath {
    fn arm(&self) -> String {
        format!("{}/{}", self.place.arm(), escaped(&self.collection))
    }

    /// A path below the collection, with the version of the API; `below` is empty or begins with a
    /// slash.
    pub(crate) fn arm_path(&self, below: &str) -> String {
        format!("{}{below}?{API_VERSION}", self.arm())
    }

    pub(crate) fn v1(&self, below: &str) -> String {
        format!("{}/jobCollections/{}{below}", self.place.v1(), escaped(&self.collection))
    }

    /// The path within the subscription, as queries name it: group and name.
    pub(crate) fn in_subscription(&self) -> String {
        format!("{}/{}", self.place.group, self.collection)
    }

    /// The path of a job of the collection.
    #[must_use]
    pub fn job(&self, job: impl Into<String>) -> JobPath {
        JobPath { collection: self.clone(), job: job.into() }
    }
}

/// Finds the collection in the path of a request, and its job if there is one.
#[must_use]
pub fn named_in(path: &str) -> Option<(CollectionPath, Option<String>)> {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<String> =
        path.split('/').map(|it| percent_decode_str(it).decode_utf8_lossy().into_owned()).collect();
    let after = |name: &str| {
        let at = segments.iter().position(|segment| segment == name)?;
        segments.get(at + 1).filter(|segment| !segment.is_empty()).cloned()
    };
    let place =
        GroupPath { subscription: after("subscriptions")?, group: after("resourceGroups")? };
    let collection = CollectionPath { place, collection: after("jobCollections")? };
    Some((collection, after("jobs")))
}

impl JobPath {
    pub(crate) fn arm_path(&self, below: &str) -> String {
        self.collection.arm_path(&format!("/jobs/{}{below}", escaped(&self.job)))
    }

    pub(crate) fn v1(&self, below: &str) -> String {
        self.collection.v1(&format!("/jobs/{}{below}", escaped(&self.job)))
    }
}

impl fmt::Display for CollectionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.place.subscription, self.place.group, self.collection)
    }
}

impl fmt::Display for JobPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.collection, self.job)
    }
}

/// A text as one segment of a path, or one value of a query.
pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment() {
        let place = GroupPath { subscription: "a/b".to_owned(), group: "my group".to_owned() };
        let job = CollectionPath { place, collection: "c?".to_owned() }.job("é");
        assert_eq!(
            job.arm_path("/run"),
            "/subscriptions/a%2Fb/resourceGroups/my%20group/providers/Microsoft.Scheduler/\
             jobCollections/c%3F/jobs/%C3%A9/run?api-version=2016-03-01"
        );
        assert_eq!(
            job.v1(""),
            "/minutehand/v1/subscriptions/a%2Fb/resourceGroups/my%20group/jobCollections/c%3F/\
             jobs/%C3%A9"
        );
        for below in ["/run", "/history"] {
            let named = named_in(&job.arm_path(below));
            assert_eq!(named, Some((job.collection.clone(), Some(job.job.clone()))));
        }
        assert_eq!(named_in(&job.collection.v1("/rows")), Some((job.collection, None)));
        assert_eq!(named_in("/subscriptions/s/resourceGroups/g"), None);
    }
}
