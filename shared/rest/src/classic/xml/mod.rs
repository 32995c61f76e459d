//! XML, as the classic API reads and writes it.

mod read;
mod write;

pub(super) use read::{Element, XmlError, read};
pub(super) use write::Xml;
