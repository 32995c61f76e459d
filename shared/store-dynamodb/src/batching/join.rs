//! Joining counter updates of one job.
//!
//! Counter updates of one job exclude each other: each is written only if the counters are as they
//! were read, and after it the others must read again. After an outage hundreds of them may come at
//! once. So updates that were decided on the same reading are joined into one write. If that write
//! fails, or its answer is lost, it is for each of them as if it had come alone.

use minutehand_ports::store::CounterUpdate;

use super::gathering::{Call, Group};

/// Takes an update into a group, joined to an update of the same job that was decided on the same
/// reading. An update that was decided on another reading must wait for the next group, where it
/// fails if others were counted.
pub(super) fn join_updates(
    group: &mut Group<CounterUpdate, bool>,
    (update, reply): Call<CounterUpdate, bool>,
) -> Option<Call<CounterUpdate, bool>> {
    let position = group.of_job.get(&update.job_uid).copied();
    let Some((existing, replies)) =
        position.and_then(|at| group.requests.get_mut(at).zip(group.replies.get_mut(at)))
    else {
        group.of_job.insert(update.job_uid.clone(), group.requests.len());
        group.push((update, reply));
        return None;
    };
    match existing.join(update) {
        Ok(()) => replies.joined.push(reply),
        Err(update) => return Some((*update, reply)),
    }
    None
}
