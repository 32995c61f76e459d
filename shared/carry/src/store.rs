//! What moving needs of a store.

use minutehand_ports::{Collections, History, Installation, Pings, RetryTimers};

/// A store that implements all that moving needs of one.
pub trait StoreOfMoves: Installation + Collections + History + Pings + RetryTimers {}

impl<S: Installation + Collections + History + Pings + RetryTimers> StoreOfMoves for S {}
