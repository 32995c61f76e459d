//! Tests of the queue from outside, with a clock that the tests set.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod delivering;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod restarting;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod world;
