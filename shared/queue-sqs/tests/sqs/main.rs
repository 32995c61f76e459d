//! Tests of the adapter against a fake of SQS.

// The attribute is always true here; it tells clippy that helpers are tests too.
#[cfg(test)]
mod dead_letters;
#[cfg(test)]
mod sending;
