//! Runs of the services that nothing outside takes part in: simulated time with everything going wrong, and
//! every order of steps of a small scope. Beside them, a model of a target that hangs on AWS.
//!
//! A package of its own, because these are compiled with optimisation, and the tests of the whole are not.

#[cfg(test)]
mod black_hole;
#[cfg(test)]
mod exhaustive;
#[cfg(test)]
mod simulation;
