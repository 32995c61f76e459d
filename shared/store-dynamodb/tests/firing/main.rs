//! The store as sweeping and executing use it, over the embedded DynamoDB or the one that
//! `MINUTEHAND_DYNAMODB_ENDPOINT` names: every way in which each call can end, as transactions and
//! as single writes.

#[cfg(test)]
mod claims;
#[cfg(test)]
mod counting;
#[cfg(test)]
mod expired;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod history;
#[cfg(test)]
mod price;
#[cfg(test)]
mod records;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod seats;
#[cfg(test)]
mod slots;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod states;
#[cfg(test)]
mod timers;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod world;
