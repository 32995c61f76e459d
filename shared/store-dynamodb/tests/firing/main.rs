//! The store as sweeping and executing use it, over the DynamoDB in the process or the one that
//! `MINUTEHAND_DYNAMODB_ENDPOINT` names: what the ports do not show. That is the items, and their prices.
//! `tests/conformance` has the rest.

#[cfg(test)]
mod claims;
#[cfg(test)]
mod counting;
#[cfg(test)]
mod expired;
#[cfg(test)]
mod history;
#[cfg(test)]
mod price;
#[cfg(test)]
mod records;
#[cfg(test)]
mod seats;
#[cfg(test)]
mod slots;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod world;
