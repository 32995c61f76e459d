//! What runs and what waits now: from the claims, and from the messages of which no worker has made one.
//!
//! A message whose attempt has a claim says nothing more. One that a worker has in hand is about to be claimed,
//! or its attempt has just ended.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use minutehand_domain::attempt_key::attempt_key;
use minutehand_domain::work_item::{self, JobRef, WorkItem};
use minutehand_ports::StoreError;
use minutehand_ports::store::{PresentAttempt, PresentAttempts, Standing, WaitsFor};

use crate::attempts::Seen;
use crate::script::Row;
use crate::sql::attempts::PRESENT;
use crate::sql::present as sql;
use crate::store::{SqlStore, rows_of};
use crate::value::{Columns, params};

/// The most claims that are read, the most messages of a kind, and the most jobs of which attempts wait for their
/// turn.
const READ_MAX: u32 = 2_000;

impl SqlStore {
    pub(crate) async fn read_present(
        &self,
        now: DateTime<Utc>,
        work_now: DateTime<Utc>,
    ) -> Result<PresentAttempts, StoreError> {
        let rows = rows_of(READ_MAX);
        // Messages are read first: an attempt that is claimed meanwhile is in both, and counts once.
        let untaken = self.read(sql::UNTAKEN, params![now, now.max(work_now), rows]).await?;
        let set_aside = self.read(sql::SET_ASIDE, params![now, work_now, rows]).await?;
        let in_turn = if set_aside.is_empty() {
            Vec::new()
        } else {
            self.read(sql::IN_TURN, params![Vec::<u8>::new(), rows]).await?
        };
        let claimed = self.read(PRESENT, params![0_u32, rows]).await?;
        let jobs = self.read(sql::JOBS, params![0_u32, rows]).await?;
        let is_cut = |read: &Vec<Row>| read.len() >= usize::try_from(rows).unwrap_or(usize::MAX);
        let is_least = [&untaken, &set_aside, &in_turn, &claimed].into_iter().any(is_cut);
        let read_uid = |row| Columns::new("turns", row).id();
        let in_turn = in_turn.into_iter().map(read_uid).collect::<Result<HashSet<_>, _>>()?;
        let jobs = jobs.into_iter().map(read_job).collect::<Result<HashMap<_, _>, _>>()?;
        let mut items = Vec::new();
        for row in claimed {
            let uid = Columns::new("attempts", row.iter().take(1).cloned().collect()).id()?;
            // Its job may be gone, or not have been there yet.
            let Some(job) = jobs.get(&uid).cloned() else { continue };
            let (attempt, standing) = Seen::read(row)?.present(self.process, work_now);
            items.push(PresentAttempt { job, attempt, standing });
        }
        let mut seen: HashSet<_> = items.iter().map(key).collect();
        let untaken = untaken.into_iter().map(|row| (row, WaitsFor::Worker));
        let set_aside = set_aside.into_iter().map(|row| (row, WaitsFor::Place));
        for (row, waits_for) in untaken.chain(set_aside) {
            let body: String = Columns::new("messages", row).next()?;
            // What cannot be read becomes a dead letter.
            let Ok(WorkItem::Attempt { job, attempt }) = work_item::decode_one(&body) else {
                continue;
            };
            let is_in_turn = waits_for == WaitsFor::Place && in_turn.contains(&job.uid);
            let waits_for = if is_in_turn { WaitsFor::Turn } else { waits_for };
            let found = PresentAttempt { job, attempt, standing: Standing::Waits(waits_for) };
            if seen.insert(key(&found)) {
                items.push(found);
            }
        }
        Ok(PresentAttempts { items, is_least })
    }
}

/// Tells an attempt from all others.
fn key(of: &PresentAttempt) -> (String, String) {
    (of.job.uid.clone(), attempt_key(&of.attempt))
}

fn read_job(row: Row) -> Result<(String, JobRef), StoreError> {
    let mut row = Columns::new("timers", row);
    let uid = row.id()?;
    Ok((uid.clone(), JobRef { uid, collection_uid: row.id()?, key: row.next()? }))
}
