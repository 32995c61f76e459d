//! Removal in the store in memory: collections with their jobs, and finished jobs.

use std::sync::atomic::Ordering::Relaxed;

use chrono::{DateTime, Utc};
use domain::work_item::JobRef;
use ports::store::{Advance, CollectionRecord, Saved};

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
        tables.collections.remove(&key);
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

    pub(super) fn delete_finished_now(&self, job: &JobRef, generation: u64) {
        if self.is(Mutation::NeverDeleted) {
            return;
        }
        let mut tables = self.tables();
        let name = (job.collection_uid.clone(), job.key.clone());
        let record = tables.timers.get(&job.uid).map(|item| &item.record);
        let is_over =
            record.is_some_and(|it| it.state.is_final() && it.timing.generation == generation);
        let is_defined = tables.jobs.get(&name).is_some_and(|it| it.uid == job.uid);
        let mut collections = tables.collections.values_mut();
        let collection = collections.find(|it| it.collection.uid == job.collection_uid);
        let Some(collection) = collection.filter(|_| is_over && is_defined) else { return };
        collection.job_count -= 1;
        tables.jobs.remove(&name);
        tables.timers.remove(&job.uid);
        self.show_job(&mut tables, &job.uid);
        self.note(&mut tables, Change::JobExpired { uid: job.uid.clone() });
    }
}
