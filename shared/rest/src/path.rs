//! What stands in a path.

use domain::name::{Name, PathSegment};
use percent_encoding::percent_decode_str;
use ports::store::ResourceGroup;

use crate::failure::Failure;

/// The segments of a path that a route leaves open, decoded, with the names that it gives them.
#[derive(Debug)]
pub(crate) struct Captured(Vec<(&'static str, String)>);

impl Captured {
    /// Matches a path, case aside; `None` if it is not this route's.
    pub(crate) fn of(route: &'static str, path: &str) -> Option<Self> {
        let mut captured = Vec::new();
        let (mut expected, mut sent) = (route.split('/'), path.split('/'));
        loop {
            let (expected, sent) = match (expected.next(), sent.next()) {
                (None, None) => return Some(Self(captured)),
                (Some(expected), Some(sent)) => (expected, sent),
                (Some(_), None) | (None, Some(_)) => return None,
            };
            // Decoded after it is split: a `/` that is encoded does not end a segment.
            let sent = percent_decode_str(sent).decode_utf8().ok()?;
            match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) => captured.push((name, sent.into_owned())),
                None if expected.eq_ignore_ascii_case(&sent) => {}
                None => return None,
            }
        }
    }

    /// The subscription.
    pub(crate) fn subscription(&self) -> Result<PathSegment, Failure> {
        Ok(PathSegment::new(self.get("subscriptionId"))?)
    }

    /// The subscription and the resource group.
    pub(crate) fn place(&self) -> Result<ResourceGroup, Failure> {
        let group = PathSegment::new(self.get("resourceGroupName"))?;
        Ok(ResourceGroup { subscription: self.subscription()?, group })
    }

    /// The collection.
    pub(crate) fn collection(&self) -> Result<Name, Failure> {
        Ok(Name::new(self.get("jobCollectionName"))?)
    }

    /// The job.
    pub(crate) fn job(&self) -> Result<Name, Failure> {
        Ok(Name::new(self.get("jobName"))?)
    }

    /// What stands for a name. A route that does not have it yields what no name is allowed to be.
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }
}
