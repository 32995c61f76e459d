//! Compares `infra/template.yaml` with the code: settings, metrics, numbers, the table, and permissions.

mod document;
mod numbers;
mod policies;
mod safety;
mod settings;
mod sources;
mod table;

use document::Template;
