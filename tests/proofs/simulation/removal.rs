//! Removal in the store in memory: collections with their jobs, and what has expired.

use std::sync::atomic::Ordering::Relaxed;

use chrono::{DateTime, Utc};
use minutehand_ports::store::{Advance, CollectionRecord, Saved};

use super::memory::{Change, Memory, Tables, place_key};
use super::mutation::Mutation;

impl Memory {
    pub(super) fn delete_collection_now(
        &self,
        record: &CollectionRecord,
        now: DateTime<Utc>,
    ) -> Saved {
        let mut tables = self.tables();
        let (key, uid) =
            (place_key(&record.place, &record.collection.name), &record.collection.uid);
        let as_read = tables
            .collections
            .get(&key)
            .is_some_and(|it| it.version == record.version && it.collection.uid == *uid);
        if !as_read {
            return Saved::Stale;
        }
        let removed = tables.collections.remove(&key);
        if self.is(Mutation::SwitchStays) {
            tables.switches.extend(removed.map(|it| (uid.clone(), it)));
        }
        tables.purges.insert(uid.clone(), now);
        self.show_purge(&mut tables, uid);
        self.note(&mut tables, Change::CollectionDeleted { uid: uid.clone() });
        Saved::Kept
    }

    pub(super) fn advance_purge(&self, tables: &mut Tables, uid: &str, advance: &Advance) -> bool {
        match tables.purges.get_mut(uid) {
            Some(due_at) if *due_at == advance.from => *due_at = advance.to,
            _ => return false,
        }
        self.show_purge(tables, uid);
        true
    }

    pub(super) fn purge_now(&self, collection_uid: &str) -> bool {
        let mut tables = self.tables();
        if tables.collections.values().any(|it| it.collection.uid == collection_uid) {
            return true;
        }
        let of_collection = tables.jobs.iter().filter(|((of, _), _)| of == collection_uid);
        let mut jobs: Vec<_> =
            of_collection.map(|(name, job)| (name.clone(), job.uid.clone())).collect();
        let max = self.purged_max.load(Relaxed);
        let is_last = jobs.len() <= max;
        jobs.truncate(max);
        for (name, uid) in jobs {
            tables.jobs.remove(&name);
            if !self.is(Mutation::TimersStay) {
                tables.timers.remove(&uid);
                self.show_job(&mut tables, &uid);
            }
        }
        if is_last {
            tables.purges.remove(collection_uid);
            self.show_purge(&mut tables, collection_uid);
        }
        is_last
    }

    /// Removes what has expired, as the table does by itself.
    pub(super) fn remove_expired(&self, now: DateTime<Utc>) {
        let mut tables = self.tables();
        let is_over = |expires_at: Option<DateTime<Utc>>| expires_at.is_some_and(|at| at <= now);
        tables.jobs.retain(|_, it| !is_over(it.expires_at));
        Self::expire_quarters(&mut tables, now);
        let timers = tables.timers.iter().filter(|(_, it)| is_over(it.expires_at));
        for uid in timers.map(|(uid, _)| uid.clone()).collect::<Vec<_>>() {
            tables.timers.remove(&uid);
            self.note(&mut tables, Change::JobExpired { uid });
        }
    }
}
