//! Tests of the store from outside, with the real SDK client and the real database.

#[cfg(test)]
mod directory;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod table;
