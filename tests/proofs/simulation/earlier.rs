//! What an earlier version does: its functions run beside the new ones while a version is rolled out,
//! and alone after it was rolled back.
//!
//! Only the store that it meets is different: it counts with a memory that forgets, its records do not
//! say what follows, and the jobs that it finishes wait in the index until they are deleted.

use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::job::JobState;
use minutehand_domain::recently_counted::{IsCounted, RecentlyCounted};
use minutehand_ports::store::{CounterUpdate, Finish, JobSnapshot};

use super::memory::{Change, JobItem, Memory};

/// How many attempts the earlier version remembers.
const REMEMBERED: usize = 64;
const HEAD: usize = 16;
const ENTRY: usize = 8;

/// What the earlier version reads: it takes what ended before the floor for counted.
pub(super) fn read_early(snapshot: &mut JobSnapshot) {
    snapshot.recently_counted = memory_of_earlier(&snapshot.recently_counted);
}

fn memory_of_earlier(list: &RecentlyCounted) -> RecentlyCounted {
    RecentlyCounted::from_bytes(&list.to_bytes(), None).unwrap()
}

/// Whether an attempt that no counter holds is one that the earlier version takes for counted.
pub(super) fn is_forgotten(item: &JobItem, attempt: &Attempt, record: &Record) -> bool {
    let ended_at = Some(record.ended_at);
    let memories = [&item.recently_counted, &memory_of_earlier(&item.recently_counted)];
    let takes_for_counted = memories.iter().any(|it| it.has(attempt, ended_at) == IsCounted::Yes);
    takes_for_counted && !item.counted.contains(&attempt.id().to_string())
}

/// The list after an update, as the earlier version writes it.
fn list_after(update: &CounterUpdate) -> Vec<u8> {
    let mut list = update.as_read.clone();
    for counted in &update.counted {
        list.add(&counted.attempt, counted.ended_at);
    }
    let bytes = list.to_bytes();
    let (head, entries) = bytes.split_at(HEAD);
    let number = |bytes: &[u8]| i64::from_be_bytes(bytes.try_into().unwrap());
    let (newest, mut floor) = (number(&head[..8]), number(&head[8..]));
    let forgotten = entries.len().saturating_sub(REMEMBERED * ENTRY);
    for entry in entries[..forgotten].chunks(ENTRY) {
        let before = u32::from_be_bytes(entry[4..].try_into().unwrap());
        floor = floor.max(newest - i64::from(before));
    }
    [&head[..8], &floor.to_be_bytes(), &entries[forgotten..]].concat()
}

impl Memory {
    /// Counts as the earlier version does. It leaves the checksum of the list as it was.
    pub(super) fn count_early(&self, update: &CounterUpdate) -> bool {
        let (after, add) = (list_after(update), update.sum());
        let mut tables = self.tables();
        let Some(item) = tables.timers.get_mut(&update.job_uid) else { return false };
        if item.recently_counted.to_bytes() != update.as_read.to_bytes() {
            return item.recently_counted.to_bytes() == after;
        }
        let checksum = item.recently_counted.checksum();
        item.recently_counted = RecentlyCounted::from_bytes(&after, Some(&checksum)).unwrap();
        item.add(update, add);
        true
    }

    /// Finishes a job as the earlier version does: its timer stays in the index.
    pub(super) fn finish_early(&self, finish: &Finish) -> bool {
        let mut tables = self.tables();
        let uid = &finish.job.uid;
        let Some(item) = tables.timers.get_mut(uid) else { return false };
        let record = &mut item.record;
        if record.timing.generation != finish.generation || record.state != JobState::Enabled {
            return record.state == finish.state && record.due_at == Some(finish.expires_at);
        }
        record.state = finish.state;
        record.due_at = Some(finish.expires_at);
        self.show_job(&mut tables, uid);
        self.note(&mut tables, Change::JobFinished { uid: uid.clone() });
        true
    }
}
