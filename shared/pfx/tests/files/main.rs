//! Files of other programs; `fixtures/README.md` describes how each was made.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod opens;
#[cfg(test)]
mod refuses;
