//! The store from the outside: the real SDK client, the real database, nothing between.

#[cfg(test)]
mod directory;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod table;
