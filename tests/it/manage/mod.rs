//! Managing collections and jobs over the real store: every condition that the services rely on.

mod ahead;
pub(crate) mod api;
mod collections;
mod dead_letters;
mod documents;
mod forget;
mod history;
mod jobs;
mod journal;
mod past;
mod races;
mod restart;
mod snooze;
mod units;
mod wall;
mod why;
mod world;
