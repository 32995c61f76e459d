//! What moving needs of a store.

use minutehand_ports::{Collections, History, Installation, RetryTimers};

/// A store that implements all that moving needs of one.
pub trait StoreOfMoves: Installation + Collections + History + RetryTimers {}

impl<S: Installation + Collections + History + RetryTimers> StoreOfMoves for S {}
