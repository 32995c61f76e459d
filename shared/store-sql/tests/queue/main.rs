//! The queue, with a clock that the tests set.

#[cfg(test)]
mod delivering;
#[cfg(test)]
mod restarting;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod world;
