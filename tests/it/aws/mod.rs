//! The three functions as they are deployed, on the DynamoDB in the process, before a queue, a key and a bus
//! that a test makes fail: from the event that comes in to the answer that goes back.

mod archiving;
mod backups;
mod batches;
mod classic;
mod failing;
mod moving;
mod passes;
mod pings;
mod reports;
mod requests;
mod target;
mod ticks;
mod waiting;
mod watched;
mod world;
