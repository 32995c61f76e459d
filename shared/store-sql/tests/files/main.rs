//! The files of a store: what a start accepts, and what it refuses.

#[cfg(test)]
mod copies;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod questions;
#[cfg(test)]
#[cfg(unix)]
mod refused;
#[cfg(test)]
mod world;
