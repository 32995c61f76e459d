//! The files of the API that read and write XML, which need nothing else of it.

#[path = "../../../src/classic/xml/mod.rs"]
mod xml;
#[path = "../../../src/classic/tests.rs"]
pub(crate) mod xml_check;
