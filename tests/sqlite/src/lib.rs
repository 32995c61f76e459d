//! The bindings of SQLite that the workspace uses, under an older version number.
//!
//! Cargo links one SQLite into a program, and dynoxide asks for an older binding of it than the store.
#![no_std]

pub use current::*;
