//! Jobs that fire: the built binary, and targets on this machine that remember what they were asked.
//!
//! Nothing sleeps. A test waits for its target to be asked, for a line of the log, or for an answer
//! of the API to be what it has to become.

#![cfg(unix)]

#[cfg(test)]
mod burst;
#[cfg(test)]
mod chance;
#[cfg(test)]
#[expect(dead_code, reason = "the tests of serving use the rest")]
#[path = "../serve/client.rs"]
mod client;
#[cfg(test)]
mod day;
#[cfg(test)]
mod frozen;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod once;
#[cfg(test)]
mod recurring;
#[cfg(test)]
mod restarted;
#[cfg(test)]
mod secrets;
#[cfg(test)]
#[expect(dead_code, reason = "the tests of serving use the rest")]
#[path = "../serve/server.rs"]
mod server;
#[cfg(test)]
mod switched;
#[cfg(test)]
mod target;
#[cfg(test)]
mod targets;
