//! recurrence
#![forbid(unsafe_code)]
mod bind;
mod civil;
mod date;
mod days;
mod error;
mod grid;
mod pattern;
mod rule;
mod sent;
mod timeline;
mod times;
mod timetable;
mod words;
pub mod zone;
pub use date::{DateError, WrittenDate, written};
pub use error::Refused;
pub use rule::Rule;
pub use sent::{Recurrence, read_start_time};
pub use timetable::{ClockChange, Start, Timetable};
pub use words::{Frequency, Weekday};
