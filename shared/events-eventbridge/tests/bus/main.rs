//! Tests of the adapter against a fake of EventBridge.

// The attribute is always true here; it tells clippy that helpers are tests too.
#[cfg(test)]
mod documented;
#[cfg(test)]
mod telling;
