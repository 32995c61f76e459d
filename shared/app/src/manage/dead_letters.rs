//! The dead letters, with the names of the jobs that they are about.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::work_item::WorkItem;
use minutehand_ports::{ChosenLetters, DeadLetter, DeadLettersDone};

use super::Manage;
use crate::error::Result;

/// The most dead letters of one look.
pub const LETTERS_MAX: usize = 100;

/// A dead letter.
#[derive(Debug)]
pub struct DeadLetterView {
    /// Names it in requests.
    pub id: String,
    /// When the message was sent, if that is known.
    pub sent_at: Option<DateTime<Utc>>,
    /// How often it was delivered.
    pub deliveries: u32,
    /// Why it is no longer delivered, if that is known.
    pub reason: Option<String>,
    /// What it asks for.
    pub asks: Vec<AskedWork>,
}

/// What a dead letter asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedWork {
    /// The work.
    pub work_item: WorkItem,
    /// The path of its collection; `None` if that is gone.
    pub collection_path: Option<CollectionPlace>,
}

impl Manage {
    /// Looks at dead letters. The first number is about how many there are.
    ///
    /// # Errors
    ///
    /// If the queue or the store does not answer, or the caller is limited to some collections.
    pub async fn look_at_dead_letters(&self, max: usize) -> Result<(u64, Vec<DeadLetterView>)> {
        self.check_everything()?;
        let seen = self.ports.dead_letters.look(max.min(LETTERS_MAX)).await?;
        let mut paths: HashMap<String, Option<CollectionPlace>> = HashMap::new();
        let mut views = Vec::new();
        for DeadLetter { id, sent_at, deliveries, reason, work_items } in seen.items {
            let (work_items, unreadable) = match work_items {
                Ok(work_items) => (work_items, None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            let mut asks = Vec::new();
            for work_item in work_items {
                let uid = work_item.collection_uid();
                if !paths.contains_key(uid) {
                    let path = self.ports.browse.collection_path(uid).await?;
                    paths.insert(uid.to_owned(), path);
                }
                let collection_path = paths.get(uid).cloned().flatten();
                asks.push(AskedWork { work_item, collection_path });
            }
            let reason = reason.or(unreadable);
            views.push(DeadLetterView { id, sent_at, deliveries, reason, asks });
        }
        Ok((seen.about, views))
    }

    /// Sends dead letters to the workers again.
    ///
    /// # Errors
    ///
    /// If the queue does not answer, or the caller is limited to some collections.
    pub async fn redrive(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone> {
        self.check_everything()?;
        let done = self.ports.dead_letters.redrive(chosen).await?;
        let (who, count) = (&self.author.who, done.count);
        tracing::info!(who, count, request.id = self.author.request_id, "dead letters re-driven");
        Ok(done)
    }

    /// Deletes dead letters.
    ///
    /// # Errors
    ///
    /// If the queue does not answer, or the caller is limited to some collections.
    pub async fn delete_dead_letters(&self, chosen: &ChosenLetters) -> Result<DeadLettersDone> {
        self.check_everything()?;
        let done = self.ports.dead_letters.delete(chosen).await?;
        let (who, count) = (&self.author.who, done.count);
        tracing::warn!(who, count, request.id = self.author.request_id, "dead letters deleted");
        Ok(done)
    }
}
