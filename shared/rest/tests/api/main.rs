//! Every operation: the complete answer, and the failures.
//!
//! The services use a store in memory, so that these tests cover only this crate: parsing requests
//! and writing answers. The folder `tests/` at the top tests the same answers over the real store,
//! and with real clients.

#[cfg(test)]
mod alerts;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod classic;
#[cfg(test)]
mod every_answer;
mod extensions;
#[cfg(test)]
mod log;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod provider_and_groups;
#[cfg(test)]
mod public_pages;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod support;
#[cfg(test)]
mod v1;

#[cfg(test)]
mod collection_delete;
#[cfg(test)]
mod collection_get;
#[cfg(test)]
mod collection_list;
#[cfg(test)]
mod collection_patch;
#[cfg(test)]
mod collection_put;
#[cfg(test)]
mod collection_switch;
mod conditions;
#[cfg(test)]
mod convert;
#[cfg(test)]
mod job_delete;
#[cfg(test)]
mod job_describe;
#[cfg(test)]
mod job_get;
#[cfg(test)]
mod job_history;
#[cfg(test)]
mod job_list;
#[cfg(test)]
mod job_patch;
#[cfg(test)]
mod job_put;
#[cfg(test)]
mod job_run;
