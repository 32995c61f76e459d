//! The specification in tables: rules, and the instants that they must yield.
//!
//! No instant was taken from the engine: the rows follow the decisions in the documentation,
//! and were worked out by hand or by brute force with another calendar and another time-zone
//! library. Every row is walked, searched and counted; see [`table`].

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
