//! What the tests of several crates share. No binary contains it, and only tests call it.
//!
//! [`mod@conformance`] has the tests that a store must pass on any back end; [`back_end`] finds
//! another DynamoDB than [`mod@dynamodb`], the one in the process. [`services`] makes the ports of the services. [`mod@aws`] stands in
//! for services of AWS where a test is about how they fail, and [`SetClock`] for the clock.
//! [`mod@log`] keeps the lines that the code under test logs. [`postgres`] starts a PostgreSQL where one is installed. [`TimeLimit`] and [`Process`] end what hangs.

pub mod aws;
pub mod back_end;
mod clock;
pub mod conformance;
pub mod dynamodb;
mod limit;
pub mod log;
pub mod postgres;
pub mod services;

pub use clock::{ManualClock, SetClock};
pub use limit::{InTime, Process, TimeLimit};
