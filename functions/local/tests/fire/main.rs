//! Jobs that fire: the built program, and local targets that record the requests they receive.
//!
//! No test sleeps. It waits for a request at its target, for a log line, or until the API returns the
//! expected state.

#![cfg(unix)]

#[cfg(test)]
mod bodies;
#[cfg(test)]
mod burst;
#[cfg(test)]
mod chance;
#[cfg(test)]
#[expect(dead_code, reason = "the tests in serve/ use the other helpers")]
#[path = "../serve/client.rs"]
mod client;
#[cfg(test)]
mod copied;
#[cfg(test)]
mod damaged;
#[cfg(test)]
mod day;
#[cfg(test)]
mod fair;
#[cfg(test)]
mod frozen;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod long;
#[cfg(test)]
mod moved;
#[cfg(test)]
mod nuisance;
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
#[expect(dead_code, reason = "the tests in serve/ use the other helpers")]
#[path = "../serve/server.rs"]
mod server;
#[cfg(test)]
mod switched;
#[cfg(test)]
mod target;
#[cfg(test)]
mod targets;
