//! Actions against real servers on loopback.

// The attribute is always true here; it tells clippy that helpers are tests too.
#[cfg(test)]
mod answers;
#[cfg(test)]
mod authority;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod queues;
#[cfg(test)]
mod redirects;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod sender;
#[cfg(test)]
mod server;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod tokens;
