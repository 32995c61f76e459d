//! What holds for every rule, tried on thousands of random ones.
//!
//! [`rules`] makes them, and [`predicate`] says on its own, slowly, whether a rule fires at an
//! instant; the engine has to agree with it, and with itself.
//!
//! The seeds are fixed, so that every run is the same. `RECURRENCE_SEED` sets the first one and
//! `RECURRENCE_RULES` how many rules each property tries: a failure names its seed, and that seed
//! with one rule repeats it.

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
