//! The place of a delivery among the attempts under way.

use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_ports::{Clock, ReceiptHandle};

/// The place of a delivery among the attempts under way, as its host gives it out.
///
/// The host knows the collection of a message, and gives no place to one of which too many attempts
/// are under way. The origin of an attempt is known only after its job was read. So the executor
/// tells it.
pub trait DeliveryPlace: Send + Sync {
    /// Whether places are so few that an attempt must ask for its origin before it is claimed, or an origin
    /// hangs.
    fn is_scarce(&self) -> bool;

    /// Takes the place for an attempt at this origin. False if too many attempts at the origin are
    /// under way, for one that hangs or at all.
    fn try_origin(&self, origin: &str) -> bool;

    /// Tells the origin of an attempt that starts in any case.
    fn set_origin(&self, origin: &str);

    /// Tells how the call to the origin has ended: whether it was answered in its time.
    fn ended(&self, _is_answered: bool) {}

    /// The message, if its host lets it be deleted together with what follows its attempt.
    fn receipt(&self) -> Option<ReceiptHandle> {
        None
    }

    /// Waits until the attempt is due. Where thousands wait for one instant, their host may let them
    /// take turns.
    fn wait_until<'a>(&'a self, clock: &'a dyn Clock, at: DateTime<Utc>) -> Waiting<'a> {
        clock.wait_until(at)
    }

    /// Waits until the attempt may start. Its host may let only so many start at a time.
    fn may_start(&self) -> Waiting<'_> {
        Box::pin(ready(()))
    }

    /// Waits until the attempt, which has ended, may be recorded. Its host may let the starts of others go
    /// first.
    fn may_record(&self) -> Waiting<'_> {
        Box::pin(ready(()))
    }
}

/// A wait for an instant.
pub type Waiting<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The place of a host that bounds no attempts by itself.
pub struct Unbounded;

impl DeliveryPlace for Unbounded {
    fn is_scarce(&self) -> bool {
        false
    }

    fn try_origin(&self, _origin: &str) -> bool {
        true
    }

    fn set_origin(&self, _origin: &str) {}
}

/// What a message waits for of which nothing was done. The wait uses up no delivery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// Until fewer attempts at this origin are under way.
    ForOrigin(String),
    /// For this much work time, because the process itself lacks what the attempt needs, or because it is
    /// not the turn of the attempt.
    For(Duration),
}
