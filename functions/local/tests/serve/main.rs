//! `minutehand serve` from the outside: the built binary, driven by arguments, HTTP and signals.
//!
//! Ports are free ones, read from the line that says where the server listens. Nothing sleeps: a
//! test waits for an answer, a line of the log, or the end of the process.

#![cfg(unix)]

// The attribute is always true here. It tells clippy that a module's helpers are tests too, so that
// they may expect and index as tests do.
#[cfg(test)]
mod access;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod client;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod crowded;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod durable;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tls;
