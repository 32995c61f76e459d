//! Chains of jobs that ask for each other: how deep they are, and where they end.
//!
//! A job may call the API of its own scheduler: run another job, or put one. Without an end to that, a job
//! that runs itself would run for ever, and one whose error action does so as well would double each time.
//! So each request of the scheduler says how deep it is, a run and a definition keep the depth of the
//! request that asked for them, and a request that is too deep is refused.
//!
//! This is a brake for mistakes, and no wall: a target that does not pass the header on begins a chain anew.

use std::fmt;

use crate::refusal::{Code, Refusal};

/// The header in which a request says how deep it is.
pub const DEPTH_HEADER: &str = "x-minutehand-depth";

/// The deepest request that is accepted.
const DEPTH_MAX: u32 = 8;

/// How many requests of the scheduler led to something, one after the other: 0 for what a user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Depth(u32);

impl Depth {
    /// The depth that a number stands for.
    #[must_use]
    pub const fn new(depth: u32) -> Self {
        Self(depth)
    }

    /// Reads the value of the header.
    ///
    /// # Errors
    ///
    /// If it is not a number.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        text.trim().parse().map(Self).map_err(|_| {
            Refusal::invalid(format!(
                "The header '{DEPTH_HEADER}' is not a whole number. Pass on what the scheduler sent, or \
                 leave the header out."
            ))
        })
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whether a user asked, and no job.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The depth of a request that something of this depth makes.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Checks that a request is not too deep.
    ///
    /// # Errors
    ///
    /// If it is.
    pub fn check(self) -> Result<(), Refusal> {
        if self.0 <= DEPTH_MAX {
            return Ok(());
        }
        let message = format!(
            "This request is number {} in a chain of jobs that ask for each other, and a chain ends \
             after {DEPTH_MAX}. If the jobs are meant to go on, let one of them recur.",
            self.0
        );
        Err(Refusal::new(Code::ChainTooDeep, message))
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_ends_after_eight_requests() {
        let mut depth = Depth::default();
        for _ in 0..DEPTH_MAX {
            depth = depth.next();
            assert_eq!(depth.check(), Ok(()));
        }
        let refusal = depth.next().check().unwrap_err();
        assert_eq!(refusal.code, Code::ChainTooDeep);
        assert!(refusal.message.contains("number 9 in a chain"), "{refusal}");
        assert_eq!(Depth::new(u32::MAX).next(), Depth::new(u32::MAX));
    }

    #[test]
    fn a_header_is_a_whole_number() {
        assert_eq!(Depth::read(" 3 "), Ok(Depth::new(3)));
        for wrong in ["", "-1", "1.5", "many", "4294967296"] {
            assert!(Depth::read(wrong).unwrap_err().message.contains(DEPTH_HEADER), "{wrong}");
        }
    }
}
