//! Packets: messages with several attempts of one second.
//!
//! A queue that is paid by the message, and workers that are paid by the invocation, cost less for a
//! packet than for its attempts. A packet promises nothing: each attempt in it is claimed, recorded
//! and followed by itself, and may as well be in a message of its own, or in two packets.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::WorkItem;
use super::wire::{encode, encode_packet};

/// The most attempts of a packet. They start together, on a fraction of a processor.
pub const PACKET_ATTEMPTS_MAX: usize = 25;
/// A packet that was delivered more often is divided into messages of one attempt each: one of its
/// attempts may be what ends the process, and the claims of the others must not run out with it.
pub const PACKET_RECEIVES_MAX: u32 = 4;
/// A collection with so many attempts in a second gets packets of its own.
const OWN_PACKETS_FROM: usize = 10;
/// The group of a message that several collections share.
pub const SHARED_GROUP: &str = "shared";

/// What one message asks for: one work item, or attempts of one second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<'a> {
    work_items: Vec<&'a WorkItem>,
    /// When the earliest of its work items is due.
    pub due_at: DateTime<Utc>,
}

impl<'a> Packet<'a> {
    /// Writes the packet as a message.
    #[must_use]
    pub fn encode(&self) -> String {
        match self.work_items.as_slice() {
            [only] => encode(only),
            several => encode_packet(several),
        }
    }

    /// The group of the message: its collection, if it is about one alone. A queue may then deliver
    /// messages of groups in turns, so that a burst of one collection does not delay the others.
    #[must_use]
    pub fn group(&self) -> &'a str {
        let mut collections = self.work_items.iter().map(|work_item| work_item.collection_uid());
        match collections.next() {
            Some(first) if collections.all(|other| other == first) => first,
            _ => SHARED_GROUP,
        }
    }
}

/// Packs work items and the instants when they are due: the attempts of a second together, those of a
/// collection with many attempts apart from the others, and everything else by itself. What is overdue
/// is due now.
#[must_use]
pub fn pack<'a>(
    work_items: impl IntoIterator<Item = (&'a WorkItem, DateTime<Utc>)>,
    now: DateTime<Utc>,
) -> Vec<Packet<'a>> {
    let mut packets = Vec::new();
    let mut seconds: BTreeMap<i64, Vec<(&WorkItem, DateTime<Utc>)>> = BTreeMap::new();
    for (work_item, due_at) in work_items {
        if let WorkItem::Attempt { .. } = work_item {
            let second = due_at.max(now).timestamp();
            seconds.entry(second).or_default().push((work_item, due_at));
        } else {
            packets.push(Packet { work_items: vec![work_item], due_at });
        }
    }
    for attempts in seconds.into_values() {
        let mut collections: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for attempt in attempts {
            collections.entry(attempt.0.collection_uid()).or_default().push(attempt);
        }
        let (own, shared): (Vec<_>, Vec<_>) =
            collections.into_values().partition(|attempts| attempts.len() >= OWN_PACKETS_FROM);
        for attempts in own.into_iter().chain([shared.concat()]) {
            // Of equal size, so that none starts much later than another.
            let n_packets = attempts.len().div_ceil(PACKET_ATTEMPTS_MAX).max(1);
            let size = attempts.len().div_ceil(n_packets).max(1);
            packets.extend(attempts.chunks(size).map(packet));
        }
    }
    packets
}

fn packet<'a>(attempts: &[(&'a WorkItem, DateTime<Utc>)]) -> Packet<'a> {
    let due_at = attempts.iter().map(|(_, due_at)| *due_at).min().unwrap_or_default();
    Packet { work_items: attempts.iter().map(|(work_item, _)| *work_item).collect(), due_at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{Attempt, Occurrence};
    use crate::work_item::{JobRef, decode};

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    /// Attempts of so many jobs of a collection, due at these milliseconds.
    fn attempts(collection: &str, jobs: usize, due_ms: i64) -> Vec<(WorkItem, DateTime<Utc>)> {
        let due_at = DateTime::from_timestamp_millis(due_ms).unwrap();
        let attempt = |n: usize| WorkItem::Attempt {
            job: JobRef {
                uid: format!("{collection}-u{n}"),
                collection_uid: collection.to_owned(),
                key: format!("j{n}"),
            },
            attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: due_at }),
        };
        (0..jobs).map(|n| (attempt(n), due_at)).collect()
    }

    /// How many work items each packet has, of which group, and when it is due.
    fn packed(work_items: &[Vec<(WorkItem, DateTime<Utc>)>]) -> Vec<(usize, String, i64)> {
        let all: Vec<_> = work_items.concat();
        let packets = pack(all.iter().map(|(work_item, due_at)| (work_item, *due_at)), at(100));
        let mut sent: Vec<WorkItem> = Vec::new();
        for packet in &packets {
            let back = decode(&packet.encode()).unwrap();
            assert_eq!(back.iter().collect::<Vec<_>>(), packet.work_items, "it reads back");
            sent.extend(back);
        }
        assert_eq!(sent.len(), all.len());
        assert!(all.iter().all(|(work_item, _)| sent.contains(work_item)), "nothing is left out");
        let summary = |it: &Packet| {
            (it.work_items.len(), it.group().to_owned(), it.due_at.timestamp_millis())
        };
        packets.iter().map(summary).collect()
    }

    #[test]
    fn attempts_of_one_second_share_packets_and_a_large_collection_has_its_own() {
        let of = |n, group: &str, ms| (n, group.to_owned(), ms);
        for (work_items, expected) in [
            (vec![], vec![]),
            (vec![attempts("a", 1, 160_000)], vec![of(1, "a", 160_000)]),
            (vec![attempts("a", 9, 160_000)], vec![of(9, "a", 160_000)]),
            // Below ten, collections share.
            (
                vec![attempts("a", 9, 160_000), attempts("b", 2, 160_000)],
                vec![of(11, "shared", 160_000)],
            ),
            (
                vec![attempts("a", 10, 160_000), attempts("b", 2, 160_000)],
                vec![of(10, "a", 160_000), of(2, "b", 160_000)],
            ),
            (
                vec![
                    attempts("b", 3, 160_000),
                    attempts("a", 12, 160_000),
                    attempts("c", 9, 160_000),
                ],
                vec![of(12, "a", 160_000), of(12, "shared", 160_000)],
            ),
            // Full packets, of equal size.
            (vec![attempts("a", 25, 160_000)], vec![of(25, "a", 160_000)]),
            (vec![attempts("a", 26, 160_000)], vec![of(13, "a", 160_000), of(13, "a", 160_000)]),
            // Another second is another packet; within a second, the earliest decides.
            (
                vec![
                    attempts("a", 2, 161_000),
                    attempts("a", 2, 160_999),
                    attempts("a", 2, 160_100),
                ],
                vec![of(4, "a", 160_100), of(2, "a", 161_000)],
            ),
            // What is overdue is due now.
            (
                vec![attempts("a", 1, 7_000), attempts("b", 1, 99_000), attempts("c", 1, 100_000)],
                vec![of(3, "shared", 7_000)],
            ),
        ] {
            assert_eq!(packed(&work_items), expected);
        }
    }

    #[test]
    fn other_work_items_stay_alone_in_the_group_of_their_collection() {
        let purge =
            |uid: &str| (WorkItem::PurgeCollection { collection_uid: uid.to_owned() }, at(160));
        let packets = packed(&[vec![purge("a"), purge("a")], attempts("b", 1, 160_000)]);
        let of = |group: &str| (1, group.to_owned(), 160_000);
        assert_eq!(packets, [of("a"), of("a"), of("b")]);
    }

    #[test]
    fn a_thousand_jobs_of_a_minute_are_forty_packets() {
        assert_eq!(packed(&[attempts("a", 1_000, 160_000)]).len(), 40);
    }
}
