//! The commands for a server from the outside: the built program against a server of its own.

#![cfg(unix)]

// The attribute is always true here. It tells clippy to treat helper functions as tests, so that they
// may use `expect` and indexing, too.
#[cfg(test)]
mod apply;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod console;
#[cfg(test)]
mod contexts;
#[cfg(test)]
mod day;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod help;
#[cfg(test)]
mod import;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod network;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod world;
#[cfg(test)]
mod wrong;
