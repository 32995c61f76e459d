//! Firing, as a user sees it: the real services over the real store, on a clock that the test moves.
//!
//! [`world`] is the machine: ticks and deliveries in the order of time, nothing in between. It stands on the
//! store of one machine, and on a table of DynamoDB where a test counts what AWS costs: [`ground`]. The other
//! modules are scenarios, a few lines each.

mod ground;
mod store;
mod target;
mod transit;
pub(crate) mod watch;
mod world;

mod alerts;
mod changes;
mod classic;
mod collections;
mod completion;
mod cost;
mod dates;
mod day;
mod ends;
mod faults;
mod goes_on;
mod hanging;
mod history;
mod incidents;
mod limits;
mod log;
mod notices;
mod outages;
mod overlap;
mod pauses;
mod pings;
mod places;
mod policies;
mod redrives;
mod retries;
mod runs;
mod seats;
mod settling;
mod stored;
mod told;
mod weeks;
