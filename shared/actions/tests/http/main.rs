//! Actions with real servers on the loopback interface.

// The attribute is always true here. It tells clippy that the helpers are test code.
#[cfg(test)]
mod answers;
#[cfg(test)]
mod authority;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod causes;
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
mod signatures;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod tokens;
