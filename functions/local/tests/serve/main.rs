//! `minutehand serve` from the outside: the built program, driven by arguments, HTTP and signals.
//!
//! Each server listens on a free port, which the test reads from the last start-up line. No test
//! sleeps: it waits for an answer, a log line, or the end of the process.

#![cfg(unix)]

// The attribute is always true here. It tells clippy to treat helper functions as tests, so that they
// may use `expect` and indexing, too.
#[cfg(test)]
mod access;
#[cfg(test)]
mod archive;
#[cfg(test)]
mod assistants;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod bucket;
#[cfg(test)]
mod client;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod crowded;
#[cfg(test)]
mod database;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod durable;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod failing_archive;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forget;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod health;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod live;
#[cfg(test)]
mod management;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod pings;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod runbook;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod watcher;
#[cfg(test)]
mod zones;
