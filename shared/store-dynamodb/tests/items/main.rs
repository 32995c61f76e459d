//! The items behind the ports: what they look like, what becomes of damaged ones, and how many requests
//! a call makes.

#[cfg(test)]
mod corruption;
#[cfg(test)]
mod index;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod world;
