//! How answers look: tables, times, JSON, progress and questions.

pub(crate) mod ask;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod table;
pub(crate) mod times;
