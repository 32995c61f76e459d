//! Finds jobs of a subscription by a part of their names.
//!
//! Names that begin with the text are found by it in each collection. Others are looked for among all names, as
//! far as one answer may read.

use minutehand_domain::name::{Name, PathSegment};
use minutehand_ports::store::{CollectionRecord, PageRequest, ResourceGroup};

use super::Manage;
use super::ahead::Ahead;
use super::browse::{JobRow, row};
use super::present::SinceByJob;
use crate::error::Result;

/// To look into a collection costs as much as so many names, where reads have a price.
const NAMES_A_COLLECTION: usize = 10;
/// The names of a page.
const NAMES_PAGE: usize = 10_000;

/// Which jobs are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedJobs {
    /// The subscription.
    pub subscription: PathSegment,
    /// A part of their names in any case; before a slash, a part of the names of their collections.
    pub text: String,
    /// How many are enough.
    pub max: usize,
}

/// The jobs that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundJobs {
    /// The jobs with their collections: first those whose names begin with the text.
    pub items: Vec<(ResourceGroup, Name, JobRow)>,
    /// Whether no name is left that was not looked at, or enough were found.
    pub is_whole: bool,
    /// The names that were looked at.
    pub looked_at: usize,
}

impl Manage {
    /// Finds jobs by a part of their names.
    ///
    /// # Errors
    ///
    /// If the store does not answer.
    pub async fn find_jobs(&self, wanted: &WantedJobs) -> Result<FoundJobs> {
        let WantedJobs { subscription, text, max } = wanted;
        let ahead = Ahead { subscription: subscription.clone(), collection: None };
        let text = text.to_ascii_lowercase();
        let (inside, part) = text.split_once('/').unwrap_or(("", &text));
        let collections = self.collections_ahead(&ahead).await?.into_values();
        let is_wanted =
            |it: &CollectionRecord| it.job_count > 0 && it.collection.name.key().contains(inside);
        let mut collections: Vec<_> = collections.filter(is_wanted).collect();
        collections.sort_by_cached_key(|it| (it.place.group.key(), it.collection.name.key()));
        let mut search = Search { manage: self, found: Vec::new(), looked_at: 0, max: *max };
        let collections_max = self.ports.browse.names_max() / NAMES_A_COLLECTION;
        let looked_into = collections.get(..collections_max).unwrap_or(&collections);
        for collection in looked_into {
            search.look(collection, part, part, *max).await?;
        }
        let mut is_whole = true;
        for collection in looked_into {
            is_whole = is_whole && search.look(collection, "", part, usize::MAX).await?;
        }
        let has_all = looked_into.len() == collections.len() || search.found.len() >= *max;
        let is_whole = is_whole && has_all;
        let mut items = Vec::new();
        let now = self.ports.clock.now();
        for (collection, name) in &search.found {
            let job = self.ports.browse.job(&collection.collection.uid, name).await?;
            // It may have been deleted meanwhile.
            let Some(job) = job else { continue };
            let row = row(collection, &job, &SinceByJob::new(), now);
            items.push((collection.place.clone(), collection.collection.name.clone(), row));
        }
        Ok(FoundJobs { items, is_whole, looked_at: search.looked_at })
    }
}

/// A search that goes on until it has found enough, or has read as much as it may.
struct Search<'a> {
    manage: &'a Manage,
    found: Vec<(&'a CollectionRecord, Name)>,
    looked_at: usize,
    max: usize,
}

impl<'a> Search<'a> {
    /// Looks at names of a collection that begin with a prefix, for those that contain something. `false` if it had
    /// to stop before all were looked at, without having found enough.
    async fn look(
        &mut self,
        collection: &'a CollectionRecord,
        prefix: &str,
        part: &str,
        names_max: usize,
    ) -> Result<bool> {
        let browse = &self.manage.ports.browse;
        let now = self.manage.ports.clock.now();
        let (mut from, mut looked_at) = (None, 0);
        loop {
            if self.found.len() >= self.max {
                return Ok(true);
            }
            let left = browse.names_max().saturating_sub(self.looked_at).min(names_max - looked_at);
            if left == 0 {
                return Ok(false);
            }
            let items_max = u32::try_from(left.min(NAMES_PAGE)).unwrap_or(u32::MAX);
            let page = PageRequest { from, items_max };
            let page = browse.job_names(&collection.collection.uid, prefix, now, page).await?;
            looked_at += page.items.len();
            self.looked_at += page.items.len();
            for name in page.items {
                let is_found = |(inside, found): &(&CollectionRecord, Name)| {
                    inside.collection.uid == collection.collection.uid && *found == name
                };
                let is_new = name.key().contains(part) && !self.found.iter().any(is_found);
                if is_new && self.found.len() < self.max {
                    self.found.push((collection, name));
                }
            }
            from = page.next;
            if from.is_none() {
                return Ok(true);
            }
        }
    }
}
