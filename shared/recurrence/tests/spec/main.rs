//! The specification in tables: each row has a rule and its expected occurrences.
//!
//! The expected instants do not come from this crate. They follow the documentation and were worked
//! out by hand, or by brute force with another calendar and another time zone library. Each row is
//! checked by iterating, searching and counting; see [`table`].

#[cfg(test)]
mod back;
#[cfg(test)]
mod calendar;
#[cfg(test)]
mod dates;
#[cfg(test)]
mod daylight;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod forward;
#[cfg(test)]
mod grids;
#[cfg(test)]
mod json_text;
#[cfg(test)]
mod never;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod spacing;
#[cfg(test)]
mod spellings;
#[cfg(test)]
mod starts;
#[cfg(test)]
mod table;
