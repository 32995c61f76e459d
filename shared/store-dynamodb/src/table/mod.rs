//! The one table: reading, conditional writing, and what that costs.
//!
//! Nothing in here knows what the items mean. The files beside this folder do, each for one kind of
//! item.

mod client;
mod error;
mod get_many;
mod groups;
pub(crate) mod item;
mod json;
pub(crate) mod keys;
mod meter;
mod query;
mod scan;
mod sender;
mod shared_error;
mod single;
mod transact;
mod write;

pub(crate) use client::Table;
pub(crate) use error::store_error;
pub(crate) use get_many::Consistency;
pub use groups::WRITES_IN_FLIGHT_MAX;
pub use json::JsonItem;
pub use meter::{Consumed, Meter, MeteredCall};
pub(crate) use query::{List, newest_of, read_page};
pub(crate) use shared_error::SharedError;
pub(crate) use write::{Write, WriteOutcome};
