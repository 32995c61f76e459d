//! Compares `infra/template.yaml` with the code: settings, metrics, numbers, the table, and permissions.

pub(crate) mod archive;
mod document;
mod numbers;
mod policies;
mod safety;
mod settings;
mod sources;
mod table;

pub(crate) use document::Template;
