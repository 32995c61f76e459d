//! The store on DynamoDB: [`minutehand_ports::store`].
//!
//! The functions on AWS call it through these ports. It never knows services, the queue or
//! the environment.
//!
//! One table holds everything; `table::keys` makes all keys. Every change that depends on a reading
//! has that reading as its condition, and changes that belong together are one transaction: a crash
//! leaves all of such a change or nothing of it, so there is nothing to repair.
//!
//! | part | what it does |
//! |---|---|
//! | `table` | reads and writes the table, alone and in groups, and meters that |
//! | `collections`, `cloud_services`, `jobs`, `timers`, `retries`, `snapshots`, `attempts`, `open_attempts`, `turns`, `slots`, `seats`, `brakes`, `counters`, `pings`, `pulses`, `removal`, `browse`, `installation` | one trait of [`minutehand_ports::store`] each |
//! | `gathered` | reads and counts that come together: [`gathering`] |
//! | `ended` | what has ended, for the archive |
//! | `purpose_key` | the key of what targets are given |
//! | `schema` | the definition of the table |
//!
//! | change | items | condition |
//! |---|---|---|
//! | create a collection | name, switch, subscription in use | it does not exist |
//! | replace a collection | name, switch, subscription in use | the version and the number of jobs that were read |
//! | delete a collection | name, switch, purge timer | the version that was read |
//! | store a cloud service | cloud service | the version before it, or that it does not exist |
//! | delete a cloud service | cloud service | the version that was read |
//! | create a job | definition, timer, the collection's count | it does not exist, or has expired; the collection has the version that was read, and is not full |
//! | replace a job | definition, timer | the version that was read, and the generation if the timing changes |
//! | delete a job | definition, timer, the collection's count | the version that was read |
//!
//! Each of these transactions also puts the change's entry in the journal of the collection.
//!
//! Each step of a firing changes one item, so there is nothing to repair between two items either. The
//! exceptions are transactions: an occurrence that is left out because it is not its turn, with the order of turns,
//! an attempt that is left open, with the timer of its deadline, its turn and its seat, and what a ping changes.
//!
//! | change | item | condition |
//! |---|---|---|
//! | move a timer | timer | its due time is the one that was seen; of a job, also its generation and state |
//! | claim | attempt | it does not exist |
//! | take over a claim | attempt | it is the claim that was seen, and has not ended |
//! | release a claim | attempt | it is the caller's, and has not ended |
//! | record | attempt | the claim is the caller's, and has not ended |
//! | leave open | attempt, retry timer, turns, seats | the claim is the caller's, and no ending is said; it has the turn and the seat |
//! | say an ending | attempt | none is said, it has not ended, and the deadline allows it |
//! | record an ending | attempt | an ending is said, and it has not ended |
//! | make or replace the key of pings | key, what it finds | the job has none, or the one that was read |
//! | take a ping | what the key finds, attempt, retry timer | the book is the one that was read; nothing is there of the attempt, or an ending may be said |
//! | take a turn, or a place in the order of turns | turns | the order has the number that was read |
//! | give a turn back | turns | the caller has it |
//! | postpone an attempt | attempt | the claim is the caller's, and has not ended |
//! | open a book of slots | slots | it is the one that was read |
//! | take a slot | slots | the limit is the same, and the slot is in the time that is asked for |
//! | take a seat | seats | fewer are taken than the limit says, and those whose place it takes are there |
//! | give a seat back | seats | the claim has it |
//! | count a call without an answer | brake | it is not forgotten, or begins anew |
//! | take a call of an origin that hangs | brake | it is due |
//! | release a brake | brake | none |
//! | store evicted attempts | evicted attempts | none: they are counted already |
//! | leave occurrences out | left out | none: it is the same again |
//! | count | timer | the recently counted attempts are those that were read |
//! | expire a definition | definition | its version |
//! | finish a job | timer | its generation and the version of its definition, and it is enabled or still in the index |
//! | correct a count of jobs | collection | the count and the number of creations are those that were read |
//! | keep a retry timer | retry timer | it does not exist |
//! | remove a retry timer | retry timer | none |
//! | make a key for a purpose | key | it does not exist |
//! | bring a collection | name, switch, subscription in use | it does not exist |
//! | bring a job | definition, timer | neither exists |
//! | begin an import | import | there is none, or it is the same one |
//! | beat | pulse | the last beat is the one that was read |

mod alerts;
mod asked;
mod attempts;
mod attributes;
mod brakes;
mod browse;
mod cloud_services;
mod collections;
pub mod conditions;
mod counters;
mod definitions;
mod ended;
mod failures;
mod gathered;
mod installation;
mod jobs;
mod journal;
mod left_out;
mod message;
mod open_attempts;
mod open_item;
mod ping_keys;
mod pings;
mod pulses;
mod purpose_key;
mod removal;
mod retries;
mod schema;
mod seats;
mod slots;
mod snapshots;
mod store;
mod table;
mod timers;
mod turns;

pub use attempts::{Decision as ClaimDecision, SeenClaim, decide as decide_claim};
pub use ended::{EndedPage, WalkPosition, read_ended};
pub use gathered::gathering;
pub use purpose_key::StoredKey;
pub use schema::{DUE_INDEX, ensure_table};
pub use store::DynamoStore;
pub use table::{Consumed, JsonItem, Meter, MeteredCall, WRITES_IN_FLIGHT_MAX};
