//! The keys of items. No other module makes key strings.
//!
//! Names match without regard to case, so keys hold their lower-case form; `#` separates parts and
//! is in none of them.

use chrono::{DateTime, NaiveDate, Utc};
use minutehand_domain::attempt::Attempt;
use minutehand_domain::attempt_key::attempt_key;
use minutehand_domain::collection_place::CollectionPlace;
use minutehand_domain::firing::LeftOutReason;
use minutehand_domain::ids;
use minutehand_domain::name::{Name, PathSegment};
use minutehand_domain::tick::ticks;
use minutehand_ports::store::ResourceGroup;

/// The shards of the index of timers: a hash of the job, and not a setting.
pub(crate) const SHARDS: u32 = 64;

/// The key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

fn key(pk: String, sk: impl Into<String>) -> Key {
    Key { pk, sk: sk.into() }
}

/// The prefix of the partition key of every subscription.
pub(crate) const SUBSCRIPTIONS: &str = "S#";

/// The collections of a subscription.
pub(crate) fn subscription(subscription: &PathSegment) -> String {
    format!("{SUBSCRIPTIONS}{}", subscription.key())
}

/// A collection under its name. The name comes first, so that a subscription lists by name.
pub(crate) fn collection(place: &ResourceGroup, name: &Name) -> Key {
    let sk = format!("C#{}#{}", name.key(), place.group.key());
    key(subscription(&place.subscription), sk)
}

/// The path of the collection with this key; `None` if it is the key of something else.
pub(crate) fn collection_path(pk: &str, sk: &str) -> Option<CollectionPlace> {
    let subscription = pk.strip_prefix(SUBSCRIPTIONS)?;
    let (name, group) = sk.strip_prefix(COLLECTIONS)?.split_once('#')?;
    CollectionPlace::read(&format!("{subscription}/{group}/{name}"))
}

/// The cloud service of a resource group.
pub(crate) fn cloud_service(place: &ResourceGroup) -> Key {
    key(subscription(&place.subscription), format!("{CLOUD_SERVICES}{}", place.group.key()))
}

/// The prefix of the sort key of every cloud service.
pub(crate) const CLOUD_SERVICES: &str = "G#";

/// The prefix of the sort key of every collection.
pub(crate) const COLLECTIONS: &str = "C#";

/// The switch and the jobs of a collection.
pub(crate) fn inside(collection_uid: &str) -> String {
    format!("C#{collection_uid}")
}

/// Whether a collection is on, and since when.
pub(crate) fn switch(collection_uid: &str) -> Key {
    key(inside(collection_uid), "C")
}

/// Which slot of a collection is the next.
pub(crate) fn slots(collection_uid: &str) -> Key {
    key(inside(collection_uid), "X")
}

/// Which attempts of a collection run.
pub(crate) fn seats(collection_uid: &str) -> Key {
    key(inside(collection_uid), "Y")
}

/// The partition of the brakes of origins.
pub(crate) const BRAKES: &str = "B";

/// The brake of an origin. Origins are short: a host name has 253 characters at most.
pub(crate) fn brake(origin: &str) -> Key {
    key(BRAKES.to_owned(), origin)
}

/// The definition of a job.
pub(crate) fn job(collection_uid: &str, name: &Name) -> Key {
    job_of_key(collection_uid, &name.key())
}

/// The definition of a job, whose name is given in its key form.
pub(crate) fn job_of_key(collection_uid: &str, name_key: &str) -> Key {
    key(inside(collection_uid), format!("{JOBS}{name_key}"))
}

/// The beginning of the sort keys of jobs whose names begin with a prefix, in any case.
pub(crate) fn jobs_beginning(prefix: &str) -> String {
    format!("{JOBS}{}", prefix.to_ascii_lowercase())
}

/// The prefix of the sort key of every job.
pub(crate) const JOBS: &str = "J#";

/// When a job is next due.
pub(crate) fn timer(job_uid: &str) -> Key {
    key(timers(job_uid), TIMER)
}

/// A retry that waits in a timer of its own, by its attempt.
pub(crate) fn retry(job_uid: &str, attempt: &Attempt) -> Key {
    key(timers(job_uid), format!("{RETRIES}{}", attempt_key(attempt)))
}

/// The timer that asks to purge the jobs of a deleted collection.
pub(crate) fn purge(collection_uid: &str) -> Key {
    key(timers(collection_uid), PURGE)
}

fn timers(uid: &str) -> String {
    format!("{TIMERS}{uid}")
}

/// The prefix of the partition key of every timer. The uid of the job or the collection follows.
pub(crate) const TIMERS: &str = "T#";
/// The sort key of the timer of a job.
pub(crate) const TIMER: &str = "T";
/// The sort key of the turns of a job.
pub(crate) const TURNS: &str = "O";
/// The sort key of the timer of a deleted collection.
pub(crate) const PURGE: &str = "P";
/// The prefix of the sort key of every retry timer.
pub(crate) const RETRIES: &str = "R#";

/// Which attempt of a job has the turn, and which ones wait.
pub(crate) fn turns(job_uid: &str) -> Key {
    key(timers(job_uid), TURNS)
}

/// The sort key of the state of alerts.
pub(crate) const ALERT: &str = "A";

/// The state of alerts of a job or a collection.
pub(crate) fn alert(uid: &str) -> Key {
    key(timers(uid), ALERT)
}

/// The prefix of the sort keys of occurrences that were left out.
pub(crate) const LEFT_OUT: &str = "X#";

/// Occurrences that were left out, by the first of them. What an outage cost and what a policy cost are
/// items of their own, so that neither takes the reason of the other.
pub(crate) fn left_out(
    job_uid: &str,
    first: DateTime<Utc>,
    generation: u64,
    reason: LeftOutReason,
) -> Key {
    let first = left_out_before(first);
    let policy = match reason {
        LeftOutReason::Outage(_) => "",
        LeftOutReason::TooLate => ".l",
        LeftOutReason::Overlap => ".o",
        LeftOutReason::NotWatched => ".w",
    };
    key(timers(job_uid), format!("{LEFT_OUT}{first}.{generation}{policy}"))
}

/// The beginning of the sort keys, after their prefix, of what was left out from this instant on.
pub(crate) fn left_out_before(before: DateTime<Utc>) -> String {
    sorted(ticks(before))
}

/// The key of the address at which a job takes pings.
pub(crate) fn ping_key(job_uid: &str) -> Key {
    key(timers(job_uid), "N")
}

/// What the key of pings with this hash finds.
pub(crate) fn ping(hash: &str) -> Key {
    key(format!("P#{hash}"), "P")
}

/// A run of a job that was asked for under a key.
pub(crate) fn asked(job_uid: &str, key_of_run: &str) -> Key {
    key(timers(job_uid), format!("Q#{key_of_run}"))
}

/// The prefix of the sort keys of the attempts that a job counted long ago.
pub(crate) const EVICTED: &str = "K#";

/// Attempts that were counted and are no longer remembered: by their newest end, in milliseconds, and
/// by what they are, so that to store them again changes nothing.
pub(crate) fn evicted(job_uid: &str, newest: i64, ids: &[u8]) -> Key {
    key(timers(job_uid), format!("{EVICTED}{}.{:08x}", sorted(newest), ids::fnv1a(ids)))
}

/// A number, such as an end, as part of a sort key: the texts sort as the numbers do, negative ones first.
pub(crate) fn sorted(number: i64) -> String {
    format!("{:016x}", number.cast_unsigned() ^ (1 << 63))
}

/// The prefix of the partition key of every attempt.
pub(crate) const EXECUTIONS: &str = "H#";

/// The attempts of a job: claims and history.
pub(crate) fn executions(job_uid: &str) -> String {
    format!("{EXECUTIONS}{job_uid}")
}

/// One attempt of a job. The sort keys put the newest first.
pub(crate) fn execution(job_uid: &str, attempt: &Attempt) -> Key {
    key(executions(job_uid), attempt_key(attempt))
}

/// The prefix of the partition key of every journal.
pub(crate) const JOURNALS: &str = "L#";

/// The journal of a collection.
pub(crate) fn journal(collection_uid: &str) -> String {
    format!("{JOURNALS}{collection_uid}")
}

/// An entry of a journal: in the order of time, and each request has its own.
pub(crate) fn journal_entry(
    collection_uid: &str,
    ticks: i64,
    job_key: &str,
    request_id: &str,
) -> Key {
    key(journal(collection_uid), format!("{}.{job_key}.{request_id}", sorted(ticks)))
}

/// The partitions of a day's failures: a partition has a thousand writes a second, and the newest ones all
/// go to its end.
pub(crate) const FAILURE_PARTS: u32 = 4;

/// The occurrences of a subscription that failed for good on a day, of the jobs of one part.
pub(crate) fn failures(subscription: &str, day: NaiveDate, part: u32) -> String {
    format!("F#{}#{day}#{part}", subscription.to_lowercase())
}

/// An occurrence that failed for good: by the time of its end, then by its instant and job.
pub(crate) fn failure(
    subscription: &str,
    [ended_at, nominal_at]: [DateTime<Utc>; 2],
    job_uid: &str,
) -> Key {
    let sk = format!("{}.{}.{job_uid}", sorted(ticks(ended_at)), sorted(ticks(nominal_at)));
    let part = shard(job_uid) % FAILURE_PARTS;
    key(failures(subscription, ended_at.date_naive(), part), sk)
}

/// The partition of the subscriptions in use.
pub(crate) const REGISTRY: &str = "I";

/// A subscription among those in use.
pub(crate) fn registration(subscription: &PathSegment) -> Key {
    key(REGISTRY.to_owned(), subscription.key())
}

/// The pulses of sweepers and workers.
pub(crate) fn pulse() -> Key {
    key("W".to_owned(), "pulse")
}

/// The key of the installation for a purpose.
pub(crate) fn purpose_key(purpose: &str) -> Key {
    key(format!("K#{purpose}"), "K")
}

/// The import that is under way.
pub(crate) fn import() -> Key {
    key("W".to_owned(), "import")
}

/// The shard of a job or a collection in the index of timers.
pub(crate) fn shard(uid: &str) -> u32 {
    // The hash must never change, because the shard is stored.
    ids::fnv1a(uid.as_bytes()) % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_in_any_case_and_no_two_names_share_one() {
        let place = |group: &str| ResourceGroup {
            subscription: PathSegment::new("Sub").unwrap(),
            group: PathSegment::new(group).unwrap(),
        };
        let name = |name: &str| Name::new(name).unwrap();
        assert_eq!(collection(&place("G"), &name("N")), collection(&place("g"), &name("n")));
        assert_ne!(collection(&place("g1"), &name("n")), collection(&place("g"), &name("n1")));
        assert_eq!(job("u", &name("Job")).sk, "J#job");
        let Key { pk, sk } = collection(&place("G"), &name("N"));
        assert_eq!(collection_path(&pk, &sk).unwrap().as_str(), "sub/g/n");
        for (pk, sk) in [("", ""), (&pk, "C#n"), (&pk, "C##g"), (&pk, "G#g#n"), ("I#sub", &sk)] {
            assert_eq!(collection_path(pk, sk), None, "{pk} {sk}");
        }
    }

    #[test]
    fn evicted_attempts_sort_by_their_newest_end() {
        let ends = [i64::MIN, -1, 0, 1, 1_800_000_000_000, i64::MAX];
        let keys = ends.map(|end| evicted("u", end, b"ids").sk);
        assert!(keys.is_sorted());
        // What ended at that time is found from there on.
        assert!(keys.iter().zip(ends).all(|(key, end)| *key > format!("{EVICTED}{}", sorted(end))));
    }

    #[test]
    fn shards_never_move() {
        assert_eq!((shard(""), shard("a"), shard("job-1")), (5, 44, 22));
        let used: std::collections::HashSet<_> =
            (0..1_000).map(|n| shard(&n.to_string())).collect();
        assert_eq!(used.len(), SHARDS as usize);
    }
}
