//! Compares `infra/template.yaml` with the code: settings, metrics, numbers, the table, permissions, and the
//! commands that deploy it.

pub(crate) mod archive;
mod deployment;
mod document;
mod numbers;
mod policies;
mod safety;
mod settings;
mod sources;
mod table;

pub(crate) use document::Template;
