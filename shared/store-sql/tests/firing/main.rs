//! What a store does whose process is the only one: what earlier processes held is void, what was
//! prefetched is used unless it changed, and a step that changes queue and store is one script.

#[cfg(test)]
mod alone;
#[cfg(test)]
mod prefetching;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod walks;
#[cfg(test)]
mod world;
