//! The places of connections: how many there are, and which connection gives up its place for another.
//!
//! Idle is a connection on which the server waits for its client: for a handshake, for the rest of a
//! head, or for a body. Otherwise clients that never finish a request would take all places.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::lock;

/// A connection that is younger keeps its place, so that its first request can arrive.
const AGE_MIN: Duration = Duration::from_secs(1);
/// The bits of an IPv6 address that its network gives out; the others are the client's own choice.
const NETWORK_BITS: u32 = 64;

/// The places of all connections.
pub(super) struct ConnectionPlaces {
    taken: Mutex<Taken>,
    /// A connection has become idle.
    idle: Notify,
}

/// The connections that have a place. A flood of new ones asks for the next to close each time, so no
/// answer looks at all of them.
#[derive(Default)]
struct Taken {
    max: usize,
    connections: HashMap<u64, Connection>,
    /// The idle ones, the longest idle first.
    idle: BTreeSet<(Instant, u64)>,
    by_peer: HashMap<IpAddr, usize>,
    /// The peer that has more than half of all places.
    greedy: Option<IpAddr>,
    /// How many have to close, and have not.
    closing: usize,
    last_id: u64,
}

/// A connection.
struct Connection {
    peer: IpAddr,
    since: Instant,
    /// Since when it is idle; `None` while a request is answered.
    idle_since: Option<Instant>,
    /// It has to close.
    is_closing: bool,
    close: Arc<Notify>,
}

/// What to do so that a place becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// This connection closes.
    Close(u64),
    /// A place is free, or will be as soon as a connection has closed.
    Nothing,
    /// At this instant a connection may close; at `None`, when one becomes idle.
    Wait(Option<Instant>),
}

impl ConnectionPlaces {
    pub(super) fn new(max: usize) -> Arc<Self> {
        let taken = Taken { max, ..Taken::default() };
        Arc::new(Self { taken: Mutex::new(taken), idle: Notify::new() })
    }

    /// Gives a new connection a place.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> ConnectionPlace {
        let (now, close) = (Instant::now(), Arc::new(Notify::new()));
        let id = self.with(|taken| {
            taken.add(Connection {
                peer: network(peer),
                since: now,
                idle_since: Some(now),
                is_closing: false,
                close: close.clone(),
            })
        });
        ConnectionPlace { places: self.clone(), id, close }
    }

    /// Closes an idle connection, as soon as one may close. It never returns: the caller drops it when a
    /// connection has ended.
    pub(super) async fn make_room(&self) {
        loop {
            let idle = self.idle.notified();
            match self.with(|taken| taken.make_room(Instant::now())) {
                // One at a time: its end is what the caller waits for.
                Next::Close(_) | Next::Nothing => std::future::pending().await,
                Next::Wait(None) => idle.await,
                Next::Wait(Some(at)) => tokio::select! {
                    () = idle => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Taken) -> T) -> T {
        f(&mut lock(&self.taken))
    }
}

impl Taken {
    fn add(&mut self, connection: Connection) -> u64 {
        self.last_id += 1;
        let (id, peer) = (self.last_id, connection.peer);
        self.idle.extend(connection.idle_since.map(|since| (since, id)));
        self.connections.insert(id, connection);
        let of_peer = self.by_peer.entry(peer).or_default();
        *of_peer += 1;
        if *of_peer > self.max / 2 {
            self.greedy = Some(peer);
        }
        id
    }

    fn remove(&mut self, id: u64) {
        self.set_idle(id, None);
        let Some(connection) = self.connections.remove(&id) else { return };
        self.closing -= usize::from(connection.is_closing);
        let peer = connection.peer;
        let left = self.by_peer.get(&peer).map_or(0, |n| n - 1);
        if left == 0 {
            self.by_peer.remove(&peer);
        } else {
            self.by_peer.insert(peer, left);
        }
        if left <= self.max / 2 && self.greedy == Some(peer) {
            self.greedy = None;
        }
    }

    fn set_idle(&mut self, id: u64, now: Option<Instant>) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match (connection.idle_since, now) {
            (None, Some(since)) => self.idle.insert((since, id)),
            (Some(since), None) => self.idle.remove(&(since, id)),
            (None, None) | (Some(_), Some(_)) => return,
        };
        connection.idle_since = now;
    }

    fn make_room(&mut self, now: Instant) -> Next {
        let next = self.next(now);
        if let Next::Close(id) = next
            && let Some(connection) = self.connections.get_mut(&id)
        {
            connection.is_closing = true;
            self.closing += 1;
            connection.close.notify_one();
        }
        next
    }

    /// What to do so that one more connection has a place.
    ///
    /// The connection that has been idle for longest closes, and first one of a peer that has more than
    /// half of all places. A young connection keeps its place, unless more than half of the places are
    /// idle: then so many are ahead of it that its request arrives in time, and a flood must not wait in
    /// line for a second each.
    fn next(&self, now: Instant) -> Next {
        if self.connections.len() < self.max || self.closing > 0 {
            return Next::Nothing;
        }
        let is_flood = self.idle.len() > (self.max / 2).max(1);
        let idle = || self.idle.iter().filter_map(|(_, id)| Some((*id, self.connections.get(id)?)));
        let may_close =
            || idle().filter(|(_, connection)| is_flood || connection.since + AGE_MIN <= now);
        let of_greedy = self
            .greedy
            .and_then(|greedy| may_close().find(|(_, connection)| connection.peer == greedy));
        match of_greedy.or_else(|| may_close().next()) {
            Some((id, _)) => Next::Close(id),
            None => Next::Wait(idle().map(|(_, connection)| connection.since + AGE_MIN).min()),
        }
    }
}

/// The place of one connection, which is free again when this is dropped.
pub(super) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    id: u64,
    close: Arc<Notify>,
}

impl ConnectionPlace {
    /// Waits until the connection has to close for another.
    pub(super) async fn needed(&self) {
        self.close.notified().await;
    }

    /// The server waits for its client.
    pub(super) fn set_idle(&self) {
        self.places.with(|taken| taken.set_idle(self.id, Some(Instant::now())));
        self.places.idle.notify_one();
    }

    /// The client waits for the server. Returns whether the connection stays open: one that has to
    /// close begins nothing.
    #[must_use]
    pub(super) fn set_busy(&self) -> bool {
        self.places.with(|taken| {
            taken.set_idle(self.id, None);
            let connection = taken.connections.get(&self.id);
            connection.is_some_and(|connection| !connection.is_closing)
        })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.with(|taken| taken.remove(self.id));
    }
}

/// What stands for a client: its IPv4 address, or its IPv6 network.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let mask = u128::MAX << NETWORK_BITS;
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many places, taken by connections with ids from 1, each `(peer, age, idle for)` in milliseconds.
    fn taken(max: usize, now: Instant, of: &[(u8, u64, Option<u64>)]) -> Taken {
        let ago = |ms| now.checked_sub(Duration::from_millis(ms)).unwrap();
        let mut taken = Taken { max, ..Taken::default() };
        for (peer, age, idle) in of {
            taken.add(Connection {
                peer: IpAddr::from([10, 0, 0, *peer]),
                since: ago(*age),
                idle_since: idle.map(ago),
                is_closing: false,
                close: Arc::new(Notify::new()),
            });
        }
        taken
    }

    #[test]
    fn the_connection_that_closes_is_idle_old_enough_and_first_of_a_greedy_peer() {
        let now = Instant::now() + Duration::from_mins(1);
        let after = |ms| Next::Wait(Some(now + Duration::from_millis(ms)));
        let busy = (1, 5_000, None);
        for (why, of, expected) in [
            ("places are free", vec![(1, 5_000, Some(5_000))], Next::Nothing),
            (
                "all are busy",
                vec![busy, busy, (2, 5_000, None), (3, 9_000, None)],
                Next::Wait(None),
            ),
            (
                "the longest idle",
                vec![(1, 9_000, Some(2)), (2, 8_000, Some(3)), (3, 7_000, None), (4, 7_000, None)],
                Next::Close(1),
            ),
            (
                "a young one keeps its place among busy ones",
                vec![(1, 9_000, None), (2, 9_000, None), (3, 9_000, None), (4, 999, Some(999))],
                after(1),
            ),
            (
                "and gives it up when it is older",
                vec![(1, 9_000, None), (2, 9_000, None), (3, 9_000, None), (4, 1_000, Some(1))],
                Next::Close(3),
            ),
            (
                "an older one closes before a young one that has been idle for longer",
                vec![(1, 9_000, None), (2, 9_000, None), (3, 9_000, Some(1)), (4, 900, Some(900))],
                Next::Close(2),
            ),
            (
                "in a flood, young ones close, too",
                vec![(1, 3, Some(3)), (2, 2, Some(2)), (3, 1, Some(1)), (4, 9_000, None)],
                Next::Close(0),
            ),
            (
                "a peer with more than half of the places gives up one first",
                vec![(1, 9_000, Some(9_000)), (2, 2, Some(2)), (2, 1, Some(1)), (2, 9_000, None)],
                Next::Close(1),
            ),
            (
                "and one with half of them does not",
                vec![(1, 9_000, Some(9_000)), (2, 2, Some(2)), (2, 1, Some(1)), (3, 9_000, None)],
                Next::Close(0),
            ),
        ] {
            let next = match taken(4, now, &of).next(now) {
                Next::Close(id) => Next::Close(id - 1),
                other => other,
            };
            assert_eq!(next, expected, "{why}");
        }
        let only = taken(1, now, &[(1, 10, Some(10))]);
        assert_eq!(only.next(now), after(990), "the only one does not close for itself");
    }

    #[test]
    fn one_closes_at_a_time_and_what_is_known_of_it_goes() {
        let now = Instant::now() + Duration::from_mins(1);
        let mut taken = taken(2, now, &[(1, 9_000, Some(9_000)), (1, 8_000, Some(8_000))]);
        assert_eq!(taken.greedy, Some([10, 0, 0, 1].into()));
        assert_eq!(taken.make_room(now), Next::Close(1));
        assert_eq!(taken.make_room(now), Next::Nothing);
        taken.remove(1);
        assert_eq!((taken.closing, taken.idle.len(), taken.greedy), (0, 1, None));
        taken.set_idle(2, None);
        assert!(taken.idle.is_empty());
        taken.remove(2);
        assert!(taken.connections.is_empty() && taken.by_peer.is_empty());
    }

    #[test]
    fn a_client_is_an_address_or_a_network() {
        let same = |one: &str, other: &str| {
            network(one.parse().unwrap()) == network(other.parse().unwrap())
        };
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
        assert!(same("2001:db8::1", "2001:db8::ffff:0:0:1"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_young_connection_among_busy_ones_closes_a_second_later() {
        let places = ConnectionPlaces::new(2);
        let busy = places.take([10, 0, 0, 1].into());
        assert!(busy.set_busy());
        let young = places.take([10, 0, 0, 2].into());
        let since = Instant::now();
        tokio::select! {
            () = places.make_room() => {}
            () = young.needed() => {}
        }
        assert_eq!(since.elapsed().as_millis(), 1_000);
        assert!(!young.set_busy(), "it begins nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_becomes_idle_makes_room() {
        let places = ConnectionPlaces::new(1);
        let place = places.take([10, 0, 0, 1].into());
        assert!(place.set_busy());
        tokio::time::advance(2 * AGE_MIN).await;
        let answered = async {
            tokio::task::yield_now().await;
            place.set_idle();
            place.needed().await;
        };
        tokio::select! {
            () = places.make_room() => {}
            () = answered => {}
        }
    }
}
