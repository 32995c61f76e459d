//! JSON objects: [`Fields`] reads one with errors that name the property, [`ObjectBuilder`] writes
//! one in order, and [`Shape`] lists the names that it may have.

mod fields;
mod object;
mod shape;

pub(crate) use fields::{Fields, Reading};
pub(crate) use object::ObjectBuilder;
pub use object::{Durations, SplitDocument};
pub use shape::Shape;
