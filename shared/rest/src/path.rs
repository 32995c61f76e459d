//! Paths of requests, matched against the paths of routes.

use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::ResourceGroup;
use percent_encoding::percent_decode_str;

use crate::failure::Failure;

/// The decoded values of a route's placeholders, each under the placeholder's name.
#[derive(Debug)]
pub(crate) struct Captured(Vec<(&'static str, String)>);

impl Captured {
    /// Matches a path without regard to case; `None` if it is not a path of the route.
    pub(crate) fn from_path(route: &'static str, path: &str) -> Option<Self> {
        let mut captured = Vec::new();
        let (mut expected, mut sent) = (route.split('/'), path.split('/'));
        loop {
            let (expected, sent) = match (expected.next(), sent.next()) {
                (None, None) => return Some(Self(captured)),
                (Some(expected), Some(sent)) => (expected, sent),
                (Some(_), None) | (None, Some(_)) => return None,
            };
            // Decoding follows splitting: an encoded `/` does not end a segment.
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
        Ok(PathSegment::sent(self.get("subscriptionId"))?)
    }

    /// The subscription and the resource group.
    pub(crate) fn place(&self) -> Result<ResourceGroup, Failure> {
        let group = PathSegment::sent(self.get("resourceGroupName"))?;
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

    /// The value of a placeholder. If the route does not have it, this is the empty text, which is
    /// not a valid name.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }
}
