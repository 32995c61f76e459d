//! Properties of every rule, checked on thousands of random rules.
//!
//! [`rules`] makes the rules. [`predicate`] decides independently and slowly whether a rule fires at
//! an instant. The engine must agree with the predicate and with itself.
//!
//! The seeds are fixed, so every run is the same. `RECURRENCE_SEED` sets the first seed, and
//! `RECURRENCE_RULES` the number of rules for each property. A failure names its seed; that seed with
//! one rule repeats it.

#[cfg(test)]
mod instants;
#[cfg(test)]
mod predicate;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod results;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod zones;
