//! Files of other programs, opened and refused; `fixtures/README.md` says how each was made.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod opens;
#[cfg(test)]
mod refuses;
