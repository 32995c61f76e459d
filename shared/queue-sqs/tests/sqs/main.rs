//! Tests of the adapter against a fake of SQS, and of some of it against an emulator.

// The attribute is always true here; it tells clippy that helpers are tests too.
#[cfg(test)]
mod dead_letters;
#[cfg(test)]
mod emulator;
#[cfg(test)]
mod sending;
