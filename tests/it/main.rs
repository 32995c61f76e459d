//! The system from the outside: what no single crate can test about itself.
//!
//! One module per subject, one binary for all of them. No test here sleeps, depends on another,
//! or reaches the network.

// The attribute is always true here. It tells clippy that a module's helpers are tests too, so that
// they may expect and index as tests do.
#[cfg(test)]
mod arrows;
#[cfg(test)]
mod aws;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod fill;
#[cfg(test)]
mod fire;
#[cfg(test)]
mod glossary;
#[cfg(test)]
mod install;
#[cfg(test)]
mod manage;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod readme;
#[cfg(test)]
mod template;
#[cfg(test)]
mod workflows;
